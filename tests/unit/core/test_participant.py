from __future__ import annotations

import pytest

from gazelab.core.errors import ConfigError
from gazelab.core.participant import check_participant


@pytest.mark.parametrize("code", ["007", "1e5", "NA", "nan", "a" * 32])
def test_R12_letters_and_digits_stay_the_text_that_they_are(code):
    assert check_participant(code) == code


@pytest.mark.parametrize(
    "code",
    [
        "A/B",
        "..",
        "",
        "a b",
        "é",
        "a" * 33,
        "A\\B",
        "x\n",
        "٣",
        "a.b",
        "-rf",
        "A_1",
        "CON",
        "nul",
        "Lpt1",
        7,
        None,
    ],
)
def test_R12_all_else_is_refused(code):
    with pytest.raises(ConfigError, match="participant code"):
        check_participant(code)
