"""The look that is kept for clicks: the same numbers as the slow way gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gazelab.attention.base import TokenStep, TraceHead, trace_of
from gazelab.attention.maps import sink_patches
from gazelab.core.geometry import PatchGrid
from gazelab.ui.growing_trace import FIRST_ROOM, GrowingTrace
from gazelab.ui.look import ALL_TOKENS, ALL_VIEWS, Look, Measure, Pick, Together
from gazelab.ui.look_sums import SMALL_COLS, SMALL_ROWS, largest, sums_of_step

LAYERS, HEADS = (2, 5, 7), 2


def grid(padded: bool = False) -> PatchGrid:
    """4 x 5 patches over 100 x 80 px; padded: the last column lies beside the picture."""
    width = 80 if padded else 100
    return PatchGrid(np.linspace(0, 100, 6), np.linspace(0, 80, 5), width, 80)


def head_of(*, views: bool = False, padded: bool = False) -> TraceHead:
    others = (("global", PatchGrid.stretched(2, 2, 80 if padded else 100, 80)),) if views else ()
    return TraceHead(
        "m", "r", "s", "q", grid(padded), LAYERS, HEADS, view="tiles", other_grids=others,
        prompt_tokens=("<s>", " What", "?"), picture_at=1,
    )  # fmt: skip


def steps_of(head: TraceHead, n: int, seed: int = 0) -> list[TokenStep]:
    rng = np.random.default_rng(seed)
    grids = [head.grid, *(g for _, g in head.other_grids)]
    out = []
    for k in range(n):
        n_text = 3 + k
        sizes = [g.rows * g.cols for g in grids]
        rows = rng.dirichlet(np.full(sum(sizes) + n_text, 0.3), (len(LAYERS), HEADS)).astype(np.float16)
        parts = np.split(rows, np.cumsum(sizes), axis=-1)
        looks = [
            p.reshape(len(LAYERS), HEADS, g.rows, g.cols) for p, g in zip(parts[:-1], grids, strict=True)
        ]
        text = parts[-1]
        out.append(
            TokenStep(
                f"t{k}",
                k,
                ((f"t{k}", 0.5), ("x", 0.25)),
                looks[0],
                text[..., 1:].sum(-1, dtype=np.float32),
                text[..., 0].astype(np.float32),
                tuple(looks[1:]),
                text,
            )
        )
    return out


def look_of(head: TraceHead, steps: list[TokenStep]) -> Look:
    look = Look.begin(head)
    for step in steps:
        look.add(step, sums_of_step(step))
    return look


@pytest.mark.parametrize("n", [0, 1, 3, FIRST_ROOM + 5])
@pytest.mark.parametrize("views", [False, True])
def test_a_growing_trace_is_the_one_that_is_put_together_at_the_end(n, views):
    head = head_of(views=views)
    steps = steps_of(head, n)
    growing = GrowingTrace(head)
    for step in steps:
        growing.add(step)
    made, whole = growing.trace("a"), trace_of(head, steps, "a")
    assert made.tokens == whole.tokens
    assert made.top == whole.top
    assert made.answer == whole.answer
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
    together=st.sampled_from(Together),
    drop_sinks=st.booleans(),
)


@settings(deadline=None, max_examples=60)
@given(picks, st.booleans(), st.integers(0, 5))
def test_every_pick_is_the_map_that_results_are_made_of(pick, padded, seed):
    head = head_of(padded=padded)
    look = look_of(head, steps_of(head, 3, seed))
    look.finish("a", sink_patches(look.trace))
    made, shown = pick.choice().of(look.trace), look.shown(pick)
    assert shown.grid is made.grid
    assert shown.values == pytest.approx(made.values, rel=1e-4, abs=1e-7)
    assert shown.shares.picture == pytest.approx(made.picture_share, rel=1e-3)
    assert shown.shares.text == pytest.approx(made.how["text_share"], rel=1e-3)
    assert shown.shares.first == pytest.approx(made.how["sink_share"], rel=1e-3)


def test_a_complete_trace_and_a_grown_one_show_the_same():
    head = head_of(views=True)
    steps = steps_of(head, 3)
    grown, complete = look_of(head, steps), Look.of(trace_of(head, steps, "a"))
    for pick in (Pick(), Pick(token=1, layer=5), Pick(head=1, view=1), Pick(view=ALL_VIEWS)):
        assert np.array_equal(grown.shown(pick).values, complete.shown(pick).values)


def test_shares_of_all_views_text_and_first_token_make_1():
    head = head_of(views=True)
    shares = look_of(head, steps_of(head, 3)).shares(Pick(token=1, layer=5))
    assert [name for name, _ in shares.views] == ["tiles", "global"]
    assert shares.picture + shares.text + shares.first == pytest.approx(1, abs=0.01)


def test_what_falls_on_padding_is_told():
    head = head_of(padded=True)
    weights = np.zeros((3, 2, 4, 5), np.float16)
    weights[..., 0, 0], weights[..., 0, 4] = 0.5, 0.25
    none = np.zeros((3, 2), np.float32)
    look = look_of(head, [TokenStep("a", 0, (), weights, none, none + 0.25)])
    assert look.shares(Pick()).padding == pytest.approx(1 / 3)
    assert look.shown(Pick()).values[0] == pytest.approx([1, 0, 0, 0, 0])


def test_all_views_together_add_their_mass_over_the_picture():
    head = head_of(views=True)
    fine, coarse = np.zeros((3, 2, 4, 5), np.float16), np.zeros((3, 2, 2, 2), np.float16)
    fine[..., 0, 0], coarse[..., 1, 1] = 0.25, 0.75
    none = np.zeros((3, 2), np.float32)
    look = look_of(head, [TokenStep("a", 0, (), fine, none, none, (coarse,))])
    shown = look.shown(Pick(view=ALL_VIEWS))
    rows, cols = shown.values.shape
    assert shown.grid is None
    assert shown.values[: rows // 4, : cols // 5].sum() == pytest.approx(0.25)
    assert shown.values[rows // 2 :, cols // 2 :].sum() == pytest.approx(0.75)


def test_the_inverse_question_each_tokens_share_of_a_patch():
    head = head_of()
    none = np.zeros((3, 2), np.float32)
    steps = []
    for share in (1.0, 0.25, 0.0):
        weights = np.zeros((3, 2, 4, 5), np.float16)
        weights[..., 1, 2], weights[..., 3, 3] = 0.5 * share, 0.5 * (1 - share)
        steps.append(TokenStep("t", 0, (), weights, none, none + 0.5))
    maps = look_of(head, steps).token_maps(Pick(layer=5))
    assert maps[:, 1, 2] == pytest.approx([1, 0.25, 0])


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
