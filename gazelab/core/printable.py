"""Text of unknown origin, made fit for a line of a terminal."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Put a text on one line that any output can take.

    White space of any kind becomes one space; what cannot be printed (a terminal's control sequences, half
    of a character) becomes U+FFFD.
    """
    plain = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in plain)
