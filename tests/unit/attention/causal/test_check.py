"""The check on a made-up model, whose answer hangs on one patch as told, and on real code."""

import json
import pickle

import numpy as np
import pytest
import tiny_checkpoints
import torch

from gazelab.attention.base import open_model
from gazelab.attention.causal import CausalCheck, CheckPlan, Curve, Effect, causal_check
from gazelab.attention.causal import check as check_module
from gazelab.attention.methods.rerun import Expected
from gazelab.core.attention import AttentionMap
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture

GRID = PatchGrid.stretched(4, 5, 50, 40)
QUICK = CheckPlan(n_patches=1, draws=4, curves=False)


def picture():
    """White, with a dot in the middle of every patch of the first three rows."""
    rgb = np.full((40, 50, 3), 255, np.uint8)
    rgb[3:30:10, 3::10] = rgb[4:30:10, 4::10] = 0
    return Picture.from_rgb(rgb)


class OnePatch:
    """Answers "42" in two tokens; each has .9 while the dot of row 1, column 2 is there, else .3 and .1."""

    model_id, kind = "made up", "self"

    def __init__(self, row=1, col=2):
        self.at = (row * 10 + 3, col * 10 + 3)
        self.asked = 0

    def sees(self, shown):
        return shown.rgb[self.at][0] == 0

    def answer(self, shown, question, max_tokens, check=None):
        return [4, 2] if self.sees(shown) else [7]

    def text(self, ids):
        return "".join(map(str, ids))

    def expect(self, shown, question, ids, max_tokens, check=None):
        self.asked += 1
        p = (0.9, 0.9) if self.sees(shown) else (0.3, 0.1)
        return Expected(np.log(p), self.sees(shown))


@pytest.fixture
def model(monkeypatch):
    made = OnePatch()
    monkeypatch.setattr(check_module, "rerun_of", lambda model: model)
    return made


def looking_at(*patches):
    values = np.zeros((4, 5))
    for weight, (row, col) in enumerate(reversed(patches), start=1):
        values[row, col] = weight
    return AttentionMap(values / values.sum(), GRID, {"method": "mean"})


def test_V18_a_map_of_what_matters_lowers_the_answer_and_others_do_not(model):
    done = causal_check(model, picture(), "?", looking_at((1, 2)), QUICK)
    assert done.whole == Effect(*map(pytest.approx, (0.81, 0.9, 0.9)), unchanged=True)
    assert done.attended == Effect(*map(pytest.approx, (0.03, 0.03**0.5, 0.3)), unchanged=False)
    assert [effect.probability for effect in done.others] == pytest.approx([0.81] * 4)
    assert (done.answer, done.n_tokens, done.instead) == ("42", 2, "7")
    assert done.patches == ((1, 2),)
    assert done.area_share == done.others_area_share == pytest.approx(1 / 20)
    assert done.sentence() == (
        "Blanking the most attended patch lowers the probability of “42” from .81 to .03, and the model then"
        " answers “7”; one other that shows something: .81 in 4 draws, with another answer in 0 of 4."
        " The answer hangs on the attended patches more than on others."
    )


def test_V18_a_map_of_what_does_not_matter_is_not_praised(model):
    done = causal_check(model, picture(), "?", looking_at((0, 0)), QUICK)
    assert done.attended.probability == pytest.approx(0.81)
    assert "leaves the probability of “42” at .81" in done.sentence()
    assert "more than" not in done.sentence()


def test_V12_a_map_of_blank_patches_says_that_they_show_nothing(model):
    done = causal_check(model, picture(), "?", looking_at((3, 0)), QUICK)
    assert done.showing == 0
    assert done.sentence().endswith("None of the attended patches shows anything.")


def test_others_are_as_many_show_something_and_are_never_the_attended(model, monkeypatch):
    drawn = []
    blank = check_module.blanked

    def watching(shown, grid, patches, instead):
        drawn.append(patches)
        return blank(shown, grid, patches, instead)

    monkeypatch.setattr(check_module, "blanked", watching)
    plan = CheckPlan(n_patches=3, draws=20, curves=False, seed=5)
    causal_check(model, picture(), "?", looking_at((1, 2), (0, 0), (2, 4)), plan)
    top, *others = drawn
    assert len(others) == 20
    for other in others:
        assert other.sum() == 3
        assert not other[3].any()  # the blank row
        assert not (other & top).any()
    assert len({other.tobytes() for other in others}) > 10


def test_S6_the_same_seed_draws_the_same(model):
    plan = CheckPlan(n_patches=6, draws=5, curve_draws=2, seed=3)
    first, second = (causal_check(model, picture(), "?", looking_at((1, 2)), plan) for _ in "ab")
    assert first.to_json() == second.to_json()
    json.dumps(first.to_json(), allow_nan=False)
    # Between processes it goes as plain data.
    assert pickle.loads(pickle.dumps(first)).to_json() == first.to_json()  # noqa: S301


def test_the_curves_by_hand(model):
    """The one patch that matters goes first: deletion drops at once, insertion is there at once."""
    plan = CheckPlan(n_patches=1, draws=1, curve_draws=3, shares=(0.05, 0.5))
    done = causal_check(model, picture(), "?", looking_at((1, 2)), plan)
    assert done.curves.deletion.shares == (0, 0.05, 0.5, 1)
    assert done.curves.deletion.probability == pytest.approx((0.81, 0.03, 0.03, 0.03))
    assert done.curves.insertion.probability == pytest.approx((0.03, 0.81, 0.81, 0.81))
    assert done.curves.deletion.auc == pytest.approx(0.05 * 0.42 + 0.95 * 0.03)
    assert len(done.curves.random_deletion) == 3
    told = done.to_json()["curves"]["deletion"]
    assert told["random_auc"]["low"] <= told["random_auc"]["mean"] <= told["random_auc"]["high"]
    assert told["auc"] < told["random_auc"]["mean"]


def test_the_area_under_a_straight_line_is_a_half():
    assert Curve((0.0, 0.3, 1.0), (1.0, 0.7, 0.0)).auc == pytest.approx(0.5)


@pytest.mark.parametrize("plan", [QUICK, CheckPlan(n_patches=2, draws=3, curve_draws=2), CheckPlan.quick()])
def test_the_cost_is_told_before_and_never_more(model, plan):
    told = []
    causal_check(model, picture(), "?", looking_at((1, 2)), plan, progress=lambda *a: told.append(a))
    assert told[-1] == (plan.n_passes, plan.n_passes)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert model.asked <= plan.n_passes
    assert CheckPlan.quick().n_passes < 10 < CheckPlan().n_passes


def test_a_check_can_be_stopped(model):
    class Stop(Exception):
        pass

    def stop():
        if model.asked > 2:
            raise Stop

    with pytest.raises(Stop):
        causal_check(model, picture(), "?", looking_at((1, 2)), QUICK, check=stop)


def test_S4_an_empty_map_and_another_picture_are_refused(model):
    empty = AttentionMap(np.full((4, 5), np.nan), GRID, {"empty": "nothing fell on the picture"})
    with pytest.raises(AttentionError, match="nothing fell on the picture"):
        causal_check(model, picture(), "?", empty)
    other = Picture.from_rgb(np.zeros((40, 51, 3), np.uint8))
    with pytest.raises(AttentionError, match="50 x 40 px on one of 51 x 40 px"):
        causal_check(model, other, "?", looking_at((0, 0)))
    with pytest.raises(AttentionError, match="20 patches cannot be blanked of 20"):
        causal_check(model, picture(), "?", looking_at((0, 0)), CheckPlan(n_patches=20))


def test_patches_without_any_weight_are_not_called_attended(model):
    done = causal_check(
        model, picture(), "?", looking_at((1, 2), (0, 1)), CheckPlan(n_patches=9, curves=False)
    )
    assert done.patches == ((1, 2), (0, 1))


def test_where_nothing_else_shows_there_is_nothing_to_compare(model):
    rgb = np.full((40, 50, 3), 255, np.uint8)
    rgb[13:15, 23:25] = 0
    done = causal_check(model, Picture.from_rgb(rgb), "?", looking_at((1, 2)), QUICK)
    assert done.others == ()
    assert done.sentence().endswith("no other patches show anything, so there is nothing to compare it with.")


def effects(attended, others):
    def effect(p):
        return Effect(p, p, p, unchanged=True)

    return CausalCheck(
        "42", 1, effect(0.91), effect(attended), None, tuple(map(effect, others)), ((0, 0),) * 6, 6, 0.1, 0.1,
        6, None, CheckPlan(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attended", "others", "claim"),
    [
        (0.08, [0.88, 0.80, 0.91], "more than on others"),
        (0.85, [0.88, 0.80, 0.91], "not clearly different"),
        (0.95, [0.88, 0.80, 0.91], "less than on others"),
        (0.9096, [0.9099, 0.91, 0.9098], "not clearly different"),  # below all, and nothing to speak of
        (0.08, [0.88], "not clearly different"),  # one draw tells no spread
    ],
)
def test_V18_the_sentence_claims_no_more_than_the_numbers(attended, others, claim):
    assert claim in effects(attended, others).sentence()


def test_the_sentence_in_full():
    assert effects(0.08, [0.88, 0.80, 0.91]).sentence() == (
        "Blanking the 6 most attended patches lowers the probability of “42” from .91 to .08; 6 others that"
        " show something: .86 (middle 95 % of 3 draws: .80 to .91). The answer hangs on the attended"
        " patches more than on others."
    )


def test_the_embedded_model_and_a_checkpoint_can_be_checked(tmp_path):
    torch.set_num_threads(1)
    chart = Picture.from_rgb(np.random.default_rng(3).integers(0, 255, (112, 168, 3), np.uint8))
    for name in ("chartreader", str(tiny_checkpoints.qwen_folder(tmp_path))):
        opened = open_model(name)
        question = "What is the value of April ?"
        grid = opened.head(chart, question).grid
        values = np.random.default_rng(1).random((grid.rows, grid.cols))
        plan = CheckPlan(draws=2, curve_draws=1, shares=(0.5,))
        done = causal_check(
            opened, chart, question, AttentionMap(values / values.sum(), grid), plan, max_tokens=2
        )
        assert done.whole.unchanged
        assert 0 < done.attended.probability <= 1
        assert done.answer in done.sentence()
        json.dumps(done.to_json(), allow_nan=False)
