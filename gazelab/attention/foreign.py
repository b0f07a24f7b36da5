"""What code that is not ours raises over a file that is broken: a checkpoint's settings, a user's own grid.

The libraries check little of what they read: a number that cannot be shows as a division by zero, an
assertion or an index deep within. The kinds are listed, so that a stop by the user still goes through.
"""

from __future__ import annotations

from jinja2 import TemplateError
from safetensors import SafetensorError

BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    SafetensorError,
    TemplateError,
)


def said(fault: BaseException) -> str:
    """Give what was raised on one line, its kind first where its text alone would say little."""
    text = " ".join(str(fault).split())
    plain = isinstance(fault, (OSError, ValueError, RuntimeError, SafetensorError, TemplateError))
    return text if plain and text else f"{type(fault).__name__}: {text}".rstrip(": ")
