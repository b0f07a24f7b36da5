"""A font for writing systems that the desktop has none for."""

from __future__ import annotations

import logging
from pathlib import Path

from PyQt6.QtCore import QChar
from PyQt6.QtGui import QFontDatabase

log = logging.getLogger(__name__)

BUNDLED = Path(__file__).parent / "DroidSansFallbackFull.ttf"
_CHINESE = QFontDatabase.WritingSystem.SimplifiedChinese
_SCRIPTS = (
    QChar.Script.Script_Han,
    QChar.Script.Script_Hiragana,
    QChar.Script.Script_Katakana,
    QChar.Script.Script_Hangul,
)


def install_fallback() -> str:
    """Load the bundled font for the scripts of East Asia if no font of the system can write Chinese.

    The default font stays as it is for everything else.

    Returns
    -------
    str
        The family that was loaded; "" if none was needed or it could not be read.
    """
    if QFontDatabase.families(_CHINESE):
        return ""
    number = QFontDatabase.addApplicationFont(str(BUNDLED))
    families = QFontDatabase.applicationFontFamilies(number) if number >= 0 else []
    if not families:
        log.warning("%s cannot be loaded: some questions will show boxes", BUNDLED)
        return ""
    for script in _SCRIPTS:
        QFontDatabase.addApplicationFallbackFontFamily(script, families[0])
    return families[0]
