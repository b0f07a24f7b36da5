"""Who took part: a code, and never a name."""

from __future__ import annotations

import re

from gazelab.core.errors import ConfigError

_CODE = re.compile(r"[A-Za-z0-9]{1,32}")

DEVICE_NAMES = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{p}{n}" for p in ("com", "lpt") for n in range(10)}
)
"""What Windows keeps for devices, whatever the case: no file or folder can be called so."""


def check_participant(code: object) -> str:
    """Give the participant's code back, as the text it is (007 stays 007).

    Raises
    ------
    ConfigError
        Anything but 1 to 32 letters (A-Z, a-z) and digits, or a name that Windows keeps for devices: it would
        break paths, or turn into a number or a missing value somewhere.
    """
    if isinstance(code, str) and _CODE.fullmatch(code) and code.lower() not in DEVICE_NAMES:
        return code
    shown = repr(code)
    raise ConfigError(
        f"{shown if len(shown) <= 60 else shown[:57] + '…'} cannot be a participant code.",
        todo="Use 1 to 32 letters (A-Z, a-z) and digits, no blanks or accents, and not the person's name.",
    )
