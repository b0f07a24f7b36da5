from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.printable import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  sat \n lower\t", "sat lower"),
        ("\x1b[2Jgone", "\ufffd[2Jgone"),
        ("half \ud800", "half \ufffd"),
        ("né 座る", "né 座る"),
        ("", ""),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, line):
    assert one_line(text) == line


@given(st.text(st.characters()))
def test_any_text_can_be_written(text):
    line = one_line(text)
    assert line.isprintable()
    line.encode("utf-8")
