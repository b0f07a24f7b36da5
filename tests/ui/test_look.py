"""The look that is kept for clicks: the same numbers as the slow way gives."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.attention.base import TokenStep, trace_of
from gazelab.attention.combined import ALL_VIEWS
from gazelab.ui.growing_trace import FIRST_ROOM, GrowingTrace
from gazelab.ui.look import ALL_TOKENS, FoundSinks, Look, Measure, Pick
from gazelab.ui.look_sums import SMALL_COLS, SMALL_ROWS, largest, sums_of_step

from .looks import LAYERS, head_of, look_of, steps_of


@pytest.mark.parametrize("n", [0, 1, 3, FIRST_ROOM + 5])
@pytest.mark.parametrize("views", [False, True])
def test_a_growing_trace_is_the_one_that_is_put_together_at_the_end(n, views):
    head = head_of(views=views)
    steps = steps_of(head, n)
    growing = GrowingTrace(head)
    for step in steps:
        growing.add(step)
    made, whole = growing.trace("a"), trace_of(head, steps, "a")
    for field in fields(whole):
        got, want = getattr(made, field.name), getattr(whole, field.name)
        arrays = isinstance(want, np.ndarray) or field.name == "other_views"  # compared below
        assert arrays or got is want or got == want, field.name
    for got, want in zip(made.views, whole.views, strict=True):
        assert got.name == want.name
        assert np.array_equal(got.weights, want.weights)
    assert np.array_equal(made.text_share, whole.text_share)
    assert np.array_equal(made.sink_share, whole.sink_share)
    assert (made.text_weights is None) == (whole.text_weights is None)
    assert n == 0 or np.array_equal(made.text_weights, whole.text_weights)


def test_a_trace_that_was_given_before_stays_as_it_was():
    head = head_of()
    steps = steps_of(head, 2 * FIRST_ROOM)
    growing = GrowingTrace(head)
    growing.add(steps[0])
    early = growing.trace()
    kept = early.weights.copy()
    for step in steps[1:]:
        growing.add(step)
    assert early.tokens == ("t0",)
    assert np.array_equal(early.weights, kept)


def test_without_the_text_rows_of_one_token_there_are_none():
    head = head_of()
    first, second = steps_of(head, 2)
    growing = GrowingTrace(head)
    growing.add(first)
    growing.add(TokenStep("b", 1, (), second.weights, second.text_share, second.sink_share))
    assert growing.trace().text_weights is None


picks = st.builds(
    Pick,
    token=st.sampled_from([ALL_TOKENS, 0, 2]),
    layer=st.sampled_from([None, *LAYERS]),
    head=st.sampled_from([None, 0, 1]),
    method=st.sampled_from(["mean", "max"]),
    view=st.sampled_from(["all", "tiles", "global"]),
    drop_sinks=st.booleans(),
)


@settings(deadline=None, max_examples=80)
@given(picks, st.booleans(), st.integers(0, 5))
def test_every_pick_is_the_map_that_results_are_made_of(pick, padded, seed):
    head = head_of(padded=padded, views=True)
    look = look_of(head, steps_of(head, 3, seed))
    look.finish("a", FoundSinks.of(look.trace))
    want, made = pick.choice().of(look.trace), look.map(pick)
    assert made.grid is want.grid
    assert made.values == pytest.approx(want.values, rel=1e-3, abs=1e-6, nan_ok=True)
    for key in ("padding_share", "sink_patch_share"):
        assert made.how[key] == pytest.approx(want.how[key], rel=1e-2, abs=1e-4)
    shares = dict(look.view_shares(pick))
    of_pick = sum(shares.values()) if pick.view == ALL_VIEWS else shares[pick.view]
    assert of_pick == pytest.approx(want.picture_share, rel=1e-2)
    assert look.text_share(pick) == pytest.approx(want.how["text_share"], rel=1e-3)
    assert look.first_share(pick) == pytest.approx(want.how["sink_share"], rel=1e-3)


def test_a_complete_trace_and_a_grown_one_show_the_same():
    head = head_of(views=True)
    steps = steps_of(head, 3)
    grown, complete = look_of(head, steps), Look.of(trace_of(head, steps, "a"))
    for pick in (Pick(), Pick(token=1, layer=5), Pick(head=1, view="global"), Pick(view="tiles")):
        assert np.array_equal(grown.map(pick).values, complete.map(pick).values)


def test_shares_of_all_views_text_and_first_token_make_1():
    head = head_of(views=True)
    look, pick = look_of(head, steps_of(head, 3)), Pick(token=1, layer=5)
    views = look.view_shares(pick)
    assert [name for name, _ in views] == ["tiles", "global"]
    whole = sum(share for _, share in views) + look.text_share(pick) + look.first_share(pick)
    assert whole == pytest.approx(1, abs=0.01)


def test_one_token_layer_and_head_are_labelled_raw():
    assert Pick(token=0, layer=2, head=1).choice().method == "raw"
    assert Pick(token=0, layer=2, head=1, method="max").choice().method == "raw"
    assert Pick(token=0, layer=2).choice().method == "mean"
    assert Pick(token=0, layer=2, head=1, method="rollout").choice().method == "rollout"


def test_the_inverse_question_each_tokens_share_of_a_patch():
    head = head_of()
    none = np.zeros((3, 2), np.float32)
    steps = []
    for share in (1.0, 0.25):
        weights = np.zeros((3, 2, 4, 5), np.float16)
        weights[..., 1, 2], weights[..., 3, 3] = 0.5 * share, 0.5 * (1 - share)
        steps.append(TokenStep("t", 0, (), weights, none, none + 0.5))
    maps = look_of(head, steps).token_maps(Pick(layer=5))
    assert [made.values[1, 2] for made in maps] == pytest.approx([1, 0.25])


def test_numbers_for_each_layer_and_head():
    head = head_of()
    weights = np.zeros((3, 2, 4, 5), np.float16)
    weights[0, 0, 1, 2] = 0.5  # all on one patch
    weights[1, 1] = 0.5 / 20  # even
    none = np.zeros((3, 2), np.float32)
    look = look_of(head, [TokenStep("a", 0, (), weights, none + 0.1, none + 0.2)])
    on_chart = look.numbers(Measure.PICTURE, Pick())
    assert on_chart[0, 0] == pytest.approx(0.5)
    assert on_chart[1, 1] == pytest.approx(0.5, rel=1e-2)
    focus = look.numbers(Measure.FOCUS, Pick())
    assert focus[0, 0] == pytest.approx(1)
    assert focus[1, 1] == pytest.approx(0, abs=1e-4)
    assert np.isnan(focus[2, 0])
    assert look.numbers(Measure.TEXT, Pick()) == pytest.approx(0.1)
    assert look.numbers(Measure.FIRST, Pick()) == pytest.approx(0.2)
    assert np.isnan(look.numbers(Measure.PATCH, Pick())).all()
    patch = look.numbers(Measure.PATCH, Pick(), (1, 2))
    assert patch[0, 0] == pytest.approx(1)
    assert patch[1, 1] == pytest.approx(1 / 20, rel=1e-2)


def test_the_text_tokens_that_drew_the_most_are_named():
    head = head_of()
    look = look_of(head, steps_of(head, 2))
    text = look.trace.text_weights.astype(float)
    [first, *_] = look.text_tokens(Pick(token=1, layer=5, head=0), n=2)
    most = int(text[1, 1, 0].argmax())
    assert first[0] == ("<s>", " What", "?", "t0", "t1")[most]
    assert first[1] == pytest.approx(text[1, 1, 0].max(), rel=1e-3)
    assert not first[2], "no sink is known yet"


def test_V12_sink_tokens_come_first_and_are_called_so():
    head = head_of()
    text = np.zeros((3, 2, 3), np.float16)
    text[..., 0], text[..., 2] = 0.4, 0.5
    text[0, 0] = (0.05, 0.0, 0.9)
    rows = np.full((3, 2, 4, 5), 0.001, np.float16)
    none = np.zeros((3, 2), np.float32)
    look = look_of(head, [TokenStep("a", 0, (), rows, none, none, (), text)])
    look.finish("a", FoundSinks.of(look.trace))
    told = look.text_tokens(Pick(layer=2, head=0), n=1)
    assert [(token, is_sink) for token, _, is_sink in told] == [("<s>", True), ("?", True)]


def test_small_maps_keep_the_mass_of_large_ones():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(37 * 53), (1, 2)).reshape(1, 2, 37, 53).astype(np.float16)
    none = np.zeros((1, 2), np.float32)
    small = sums_of_step(TokenStep("a", 0, (), weights, none, none)).views[0].small
    assert small.shape == (1, 2, SMALL_ROWS, SMALL_COLS)
    assert small.sum((-2, -1)) == pytest.approx(weights.sum((-2, -1), dtype=float), rel=1e-4)


@given(st.integers(0, 20))
def test_comparing_bits_gives_the_largest_of_halves(seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(12), (3, 4)).astype(np.float16)
    assert np.array_equal(largest(weights, (0, 1)), weights.max((0, 1)).astype(np.float32))


def test_a_complete_look_takes_no_more_tokens():
    head = head_of()
    [step] = steps_of(head, 1)
    look = look_of(head, [step])
    look.finish("a", None)
    with pytest.raises(ValueError, match="complete"):
        look.add(step)


def test_until_somebody_chooses_the_head_of_the_models_card_is_shown(qtbot):
    from gazelab.core.attention import AttentionTrace
    from gazelab.core.geometry import PatchGrid
    from gazelab.ui.map_controls import MapControls

    def trace(**made_with):
        weights, none = np.full((1, 2, 3, 2, 4), 1 / 8, np.float16), np.zeros((1, 2, 3), np.float32)
        grid = PatchGrid.stretched(2, 4, 80, 60)
        return AttentionTrace(
            "m", "r", "s", "?", ("4",), grid, weights, (0, 1), none, none, made_with=made_with
        )

    controls = MapControls()
    qtbot.addWidget(controls)
    controls.set_trace(trace(looking_head="1,2"))
    assert (controls.pick().layer, controls.pick().head) == (1, 2)
    controls.set_trace(trace())
    assert (controls.pick().layer, controls.pick().head) == (None, None)
    controls.choose(None, None)  # "All", by hand
    controls.set_trace(trace(looking_head="1,2"))
    assert (controls.pick().layer, controls.pick().head) == (None, None)
