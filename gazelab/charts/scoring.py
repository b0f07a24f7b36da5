"""Is an answer right? Three rules, each with a name, since they differ on real answers.

- *published*: relaxed accuracy exactly as ChartQA's authors and the common harnesses compute it
  (Masry et al. 2022, 10.18653/v1/2022.findings-acl.177; code of Pix2Struct, Lee et al. 2023), quirks
  included: 5 % tolerance for years and small integers too, "2%" is not "2", "1,234" is not "1234".
- *strict*: the same text or the same number, without tolerance.
- *lenient*: the published tolerance after reading both sides as a person would: separators, currency,
  a percent sign on one side, lists in any order, "gray" and "grey".
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

TOLERANCE = 0.05
YEARS = (1800, 2100)

_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9, "b": 1e9}
_NUMBER = re.compile(
    r"(?P<sign>[-+−]?)\s*[$€£¥]?\s*(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"\s*(?P<scale>thousand|million|billion|bn|[kmb])?\s*(?P<percent>%|percent)?"
)
_SPELLINGS = {"grey": "gray", "colour": "color"}


@dataclass(frozen=True)
class Verdict:
    """One answer under the three rules."""

    published: bool
    strict: bool
    lenient: bool


def score(
    prediction: str, target: str, *, chart_has_percent: bool = False, year_rule: bool = False
) -> Verdict:
    """Judge an answer by all three rules.

    Parameters
    ----------
    prediction, target
        Given answer and the set's answer.
    chart_has_percent
        Lets the lenient rule take 3 for 0.03 (a ratio of exactly 100) without a sign on either side.
    year_rule
        Gives years (whole numbers of 1800 to 2100) no tolerance in the lenient rule. The published
        rule stays as published.
    """
    return Verdict(
        relaxed_published(prediction, target),
        strict(prediction, target),
        lenient(prediction, target, chart_has_percent=chart_has_percent, year_rule=year_rule),
    )


def accuracy(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """Share of right answers under each rule; NaN for no answers."""
    rows = list(verdicts)
    if not rows:
        return dict.fromkeys(("published", "strict", "lenient"), math.nan)
    return {
        "published": sum(v.published for v in rows) / len(rows),
        "strict": sum(v.strict for v in rows) / len(rows),
        "lenient": sum(v.lenient for v in rows) / len(rows),
    }


def relaxed_published(prediction: str, target: str) -> bool:
    """Judge by relaxed accuracy as published: numbers within 5 %, other text equal but for case.

    A target of zero is compared as text, since no relative change from zero exists.
    """
    predicted, wanted = _published_number(prediction), _published_number(target)
    if predicted is not None and wanted:
        return abs(predicted - wanted) / abs(wanted) <= TOLERANCE
    return prediction.lower() == target.lower()


def strict(prediction: str, target: str) -> bool:
    """Judge without tolerance: equal text (case and outer space aside) or exactly equal numbers."""
    predicted, wanted = _published_number(prediction.strip()), _published_number(target.strip())
    if predicted is not None and wanted is not None:
        return math.isclose(predicted, wanted, rel_tol=1e-12, abs_tol=0.0)
    return prediction.strip().casefold() == target.strip().casefold()


def lenient(
    prediction: str, target: str, *, chart_has_percent: bool = False, year_rule: bool = False
) -> bool:
    """Judge as a person would: see the module's text and `score`."""
    left, right = _tidy(prediction), _tidy(target)
    if left == right:
        return True
    a, b = _read_number(left), _read_number(right)
    if a is not None and b is not None:
        return _numbers_agree(a, b, chart_has_percent, year_rule)
    left_items, right_items = _list_items(left), _list_items(right)
    if left_items is None or right_items is None or len(left_items) != len(right_items):
        return False
    return _same_items(left_items, right_items, chart_has_percent, year_rule)


@dataclass(frozen=True)
class _Number:
    value: float
    scale: float | None
    percent: bool


def _published_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        return None


def _tidy(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).strip().casefold().rstrip(".").strip().strip("'\"")
    return " ".join(_SPELLINGS.get(word, word) for word in folded.split())


def _read_number(text: str) -> _Number | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    value = float(match["digits"].replace(",", ""))
    if match["sign"] in ("-", "−"):
        value = -value
    scale = _SCALES[match["scale"]] if match["scale"] else None
    return _Number(value, scale, match["percent"] is not None)


def _numbers_agree(a: _Number, b: _Number, chart_has_percent: bool, year_rule: bool) -> bool:
    # A scale word on one side only is the chart's unit, said or left out.
    scaled = a.scale is not None and b.scale is not None
    x = a.value * (a.scale or 1) if scaled else a.value
    y = b.value * (b.scale or 1) if scaled else b.value
    if y == 0:
        return x == 0
    if year_rule and _is_year(x) and _is_year(y) and not (a.percent or b.percent):
        return x == y
    if abs(x - y) / abs(y) <= TOLERANCE:
        return True
    hundredfold = math.isclose(x / y, 100.0, rel_tol=1e-9) or math.isclose(x / y, 0.01, rel_tol=1e-9)
    return hundredfold and (a.percent or b.percent or chart_has_percent)


def _is_year(value: float) -> bool:
    return value.is_integer() and YEARS[0] <= value <= YEARS[1]


def _list_items(text: str) -> list[str] | None:
    """Items of "[4, 9]", "4 and 9" or "a, b"; None for text that is no list."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    items = [item.strip().strip("'\"") for item in re.split(r",\s+|,(?=\D)|\s+and\s+|;", inner)]
    items = [item for item in items if item]
    return items if len(items) > 1 else None


def _same_items(left: list[str], right: list[str], chart_has_percent: bool, year_rule: bool) -> bool:
    """Whether each item has one partner on the other side, in any order."""
    rest = list(right)
    for item in left:
        for other in rest:
            if lenient(item, other, chart_has_percent=chart_has_percent, year_rule=year_rule):
                rest.remove(other)
                break
        else:
            return False
    return True
