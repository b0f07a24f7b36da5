"""cv2 must not turn Qt away from its own plug-ins."""

from __future__ import annotations

import json
import os
import subprocess
import sys

NAMES = ("QT_QPA_PLATFORM_PLUGIN_PATH", "QT_QPA_FONTDIR")
SCRIPT = """
import json, os, sys
from gazelab.core.opencv import cv2
assert cv2.cvtColor
print(json.dumps({name: os.environ.get(name) for name in sys.argv[1:]}))
"""


def after_import(**env: str) -> dict[str, str | None]:
    clean = {k: v for k, v in os.environ.items() if k not in NAMES}
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT, *NAMES],
        env={**clean, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, str | None] = json.loads(out.stdout)
    return found


def test_C19_cv2_leaves_qt_its_own_plugins() -> None:
    assert after_import() == dict.fromkeys(NAMES)


def test_C19_what_the_user_had_set_is_kept() -> None:
    mine = {name: f"/of/the/user/{name}" for name in NAMES}
    assert after_import(**mine) == mine


def test_C19_a_window_opens_after_cv2() -> None:
    script = (
        "from gazelab.core.opencv import cv2\n"
        "from PyQt6.QtWidgets import QApplication, QWidget\n"
        "app = QApplication([])\n"
        "w = QWidget(); w.show(); app.processEvents()\n"
        "print(app.platformName())\n"
    )
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "offscreen"
