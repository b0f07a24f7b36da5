"""ChartQA answers that are known or seen to be wrong: a person who reads the chart right is marked wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

_DAY_FRACTION = re.compile(r"[01]\.\d{7,}")


@dataclass(frozen=True)
class Errata:
    """Answers that need a word, by picture name and answer.

    Attributes
    ----------
    wrong : dict
        Answers spoiled by a spreadsheet, with what they should be: left out of the headline accuracy.
    odd : dict
        Answers right in content but of an unusual form: fraction for percent, list as text, case.
    """

    wrong: dict[tuple[str, str], str]
    odd: dict[tuple[str, str], str]

    def reason(self, name: str | None, answer: str) -> str:
        """Say why an answer is suspect; empty if it is not.

        Parameters
        ----------
        name
            The picture's file name; None where the set gives none (then the form of the answer decides).
        answer
            As the set gives it.
        """
        if name is not None and (name, answer) in self.wrong:
            return self.wrong[name, answer]
        ratio = decode_day_fraction(answer)
        return f"a ratio that a spreadsheet turned into a part of a day: {ratio}" if ratio else ""

    def note(self, name: str, answer: str) -> str:
        """Say what is unusual about an answer's form; empty if nothing is known."""
        return self.odd.get((name, answer), "")


def decode_day_fraction(answer: str) -> str | None:
    """Give back the ratio that a spreadsheet read as hours and minutes, or None.

    "28:19" was taken as 28 h 19 min = 1.179861111 days. Only long decimals that are a whole number of
    minutes are taken for one.
    """
    if not _DAY_FRACTION.fullmatch(answer.strip()):
        return None
    minutes = float(answer) * 24 * 60
    if abs(minutes - round(minutes)) > 1e-4:
        return None
    hours, rest = divmod(round(minutes), 60)
    return f"{hours}:{rest:02d}"


@lru_cache(maxsize=1)
def load_errata() -> Errata:
    """Read the list that ships with the package."""
    text = (files("gazelab.charts") / "data" / "chartqa_errata.json").read_text(encoding="utf-8")
    wrong: dict[tuple[str, str], str] = {}
    odd: dict[tuple[str, str], str] = {}
    for row in json.loads(text):
        (wrong if row["suspect"] else odd)[row["imgname"], row["label"]] = row["reason"]
    return Errata(wrong, odd)
