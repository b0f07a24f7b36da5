import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.charts.scoring import Verdict, accuracy, lenient, relaxed_published, score, strict

# (prediction, target): published, strict, lenient
TABLE = {
    ("2%", "2"): (False, False, True),
    ("2", "2%"): (False, False, True),
    ("2012", "2015"): (True, False, True),
    ("0.62", "62%"): (True, True, True),
    ("1,234", "1234"): (False, False, True),
    ("$5.6 million", "5.6"): (False, False, True),
    ("Yes.", "Yes"): (False, False, True),
    ("[4, 9]", "4 and 9"): (False, False, True),
    ("0", "0"): (True, True, True),
    ("-5", "5"): (False, False, False),
    ("1.51", "28:19"): (False, False, False),
    ("gray", "grey"): (False, False, True),
    ("nan", "3"): (False, False, False),
    ("inf", "3"): (False, False, False),
    ("١٢", "12"): (True, True, True),
    ("3 ", "3"): (True, True, True),
    ("12\n", "12"): (True, True, True),
    ("48–52", "50"): (False, False, False),
    ("105", "100"): (True, False, True),
    ("105.2", "100"): (False, False, False),
    ("94.9", "100"): (False, False, False),
    ("0.0", "0"): (False, True, True),
    ("3%", "0.03"): (True, True, True),
}


@pytest.mark.parametrize(("prediction", "target"), TABLE)
def test_Q1_Q3_each_rule_judges_each_trap_as_the_table_says(prediction: str, target: str) -> None:
    assert score(prediction, target) == Verdict(*TABLE[prediction, target])


def test_the_table_covers_every_known_trap(cases: Path) -> None:
    rows = json.loads((cases / "chartqa_scoring_traps.json").read_text(encoding="utf-8"))
    assert {(row["prediction"], row["target"]) for row in rows} <= set(TABLE)


def test_Q1_year_rule_gives_years_no_tolerance_and_leaves_the_published_rule_alone() -> None:
    verdict = score("2012", "2015", year_rule=True)
    assert not verdict.lenient
    assert verdict.published
    assert score("2015", "2015", year_rule=True).lenient
    assert score("1000", "1040", year_rule=True).lenient  # no year


@pytest.mark.parametrize("prediction", ["3", "0.03"])
def test_Q6_fraction_and_percent_agree_on_a_percent_chart_only(prediction: str) -> None:
    assert lenient(prediction, "0.03", chart_has_percent=True)
    assert lenient("3", "0.03") is False
    assert lenient("3.1", "0.03", chart_has_percent=True) is False  # the ratio must be exactly 100


def test_Q7_lists_are_sets_without_order_or_quotes() -> None:
    assert lenient("9, 4", "[4, 9]")
    assert lenient("['Central Europe', 'Madagascar']", "[Madagascar, Central Europe]")
    assert not lenient("[4, 4]", "[4, 9]")
    assert not lenient("[4, 9, 1]", "[4, 9]")


def test_zero_has_no_tolerance() -> None:
    assert not lenient("0.01", "0")
    assert not relaxed_published("0.01", "0")
    assert relaxed_published("0", "0")


def test_accuracy_of_no_answers_is_nan() -> None:
    assert all(math.isnan(value) for value in accuracy([]).values())
    assert accuracy([score("5", "5"), score("5", "6")]) == {"published": 0.5, "strict": 0.5, "lenient": 0.5}


@given(st.text(max_size=12))
def test_an_answer_equal_to_the_target_is_right(text: str) -> None:
    assert strict(text, text) or text.strip().casefold() in ("nan", "+nan", "-nan")
    assert lenient(text, text)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_strict_implies_published_implies_lenient_for_positive_integers(a: int, b: int) -> None:
    verdict = score(str(a), str(b))
    assert verdict.strict <= verdict.published <= verdict.lenient
