"""Numbers from a file that anyone may have written."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> float:
    """Give a number that JSON held as a float; NaN for anything else and for what no float can hold."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan
