import numpy as np
import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gazelab.attention.maps import attention_map, display_scale
from gazelab.core.attention import LookView
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid


def with_one_hot_head():
    """Layer numbers 4, 6, 8; layer 6, head 1 of token 1 looks at row 2, column 3 only."""
    weights = traces.uniform()
    weights[1, 1, 1] = 0
    weights[1, 1, 1, 2, 3] = 0.5
    return traces.trace(weights, layers=(4, 6, 8))


def test_raw_is_one_layer_head_and_token_scaled_to_1():
    made = attention_map(with_one_hot_head(), "raw", layers=[6], heads=[1], tokens=[1])
    expected = np.zeros((3, 5))
    expected[2, 3] = 1
    np.testing.assert_allclose(made.values, expected)
    assert made.picture_share == pytest.approx(0.5)


def test_raw_of_several_is_refused():
    with pytest.raises(AttentionError, match="one layer, one head and one token"):
        attention_map(with_one_hot_head(), "raw", layers=[6])


def test_mean_and_max_by_hand():
    trace = with_one_hot_head()
    even = 0.5 / 15
    mean = attention_map(trace, "mean", layers=[6], heads=[0, 1], tokens=[1])
    assert mean.values[2, 3] == pytest.approx((even + 0.5) / 2 / 0.5, rel=1e-3)
    assert mean.values[0, 0] == pytest.approx(even / 2 / 0.5, rel=1e-3)
    high = attention_map(trace, "max", layers=[6], heads=[0, 1], tokens=[1])
    assert high.values[2, 3] / high.values[0, 0] == pytest.approx(0.5 / even, rel=1e-3)


def test_negative_numbers_count_from_the_end_and_are_written_resolved():
    made = attention_map(with_one_hot_head(), layers=[-1], heads=[-1], tokens=[-1])
    assert (made.how["layers"], made.how["heads"], made.how["tokens"]) == ([8], [3], [1])


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        ({"layers": [5]}, r"no layer 5.*\[4, 6, 8\]"),
        ({"heads": [4]}, "no head 4"),
        ({"tokens": [2]}, "no token 2"),
        ({"tokens": []}, "no token to make a map of"),
        ({"method": "rollup"}, "no way to make a map"),
        ({"sinks": "hide"}, "unknown"),
    ],
)
def test_what_is_not_there_is_named(choice, named):
    with pytest.raises(AttentionError, match=named):
        attention_map(with_one_hot_head(), **choice)


def test_what_is_named_twice_counts_once():
    trace = with_one_hot_head()
    once = attention_map(trace, layers=[4, 8], heads=[0, 1])
    twice = attention_map(trace, layers=[4, -1, -3, 8], heads=[0, 0, 1, 0])
    np.testing.assert_array_equal(twice.values, once.values)
    assert twice.how["layers"] == [4, 8]
    assert twice.how["heads"] == [0, 1]


def test_no_attention_on_the_picture_is_all_nan_and_a_share_of_0():
    made = attention_map(traces.trace(np.zeros((1, 1, 1, 2, 2))))
    assert np.isnan(made.values).all()
    assert made.picture_share == 0


def test_V11_cells_in_the_padding_get_no_weight():
    weights = np.full((1, 1, 1, 2, 3), 1 / 6)
    grid = PatchGrid(np.array([-50.0, 0, 50, 100]), np.array([0.0, 30, 60]), 100, 60)
    made = attention_map(traces.trace(weights, grid=grid))
    np.testing.assert_allclose(made.values, [[0, 0.25, 0.25], [0, 0.25, 0.25]])


def sink_and_blob():
    """90 % of every row on the top left patch, a weak blob where the reader looked."""
    weights = np.full((2, 3, 4, 8, 10), 0.01 / 80)
    weights[..., 0, 0] = 0.9
    weights[..., 5:7, 6:8] = 0.09 / 4
    return traces.trace(weights, text_share=np.zeros((2, 3, 4), np.float32))


def test_V12_the_sinks_share_is_reported_whether_kept_or_dropped():
    kept, dropped = (attention_map(sink_and_blob(), sinks=choice) for choice in ("keep", "drop"))
    for made in (kept, dropped):
        assert made.how["sink_patches"] == [[0, 0]]
        assert made.how["sink_patch_share"] == pytest.approx(0.9, abs=0.01)
        assert made.how["sink_share"] == pytest.approx(0.25)
        assert made.how["text_share"] == 0
    assert (kept.how["sinks"], dropped.how["sinks"]) == ("keep", "drop")
    assert kept.values[0, 0] == pytest.approx(0.9, abs=0.01)
    assert dropped.values[0, 0] == 0
    assert dropped.values[5:7, 6:8].sum() == pytest.approx(0.9, abs=0.02)
    assert dropped.values.sum() == pytest.approx(1)


def test_V12_a_view_with_a_sink_is_not_blank():
    scaled = display_scale(attention_map(sink_and_blob()).values)
    assert scaled[0, 0] == 1
    assert scaled[5:7, 6:8].min() == pytest.approx(1)
    assert scaled[2, 2] < 0.05


def test_display_scale_of_nothing_is_0():
    np.testing.assert_array_equal(display_scale([[np.nan, 0.0]]), [[0, 0]])


@given(
    hnp.arrays(np.float16, (2, 2, 2, 3, 4), elements=st.floats(0, 0.0625, width=16)),
    st.sampled_from(["mean", "max"]),
    st.sampled_from(["keep", "drop"]),
)
def test_a_map_sums_to_1_or_is_all_nan(weights, method, sinks):
    made = attention_map(traces.trace(weights), method, sinks=sinks)
    if np.isnan(made.values).any():
        assert np.isnan(made.values).all()
    else:
        assert made.values.min() >= 0
        assert made.values.sum() == pytest.approx(1)


def two_views(main, small, **changes):
    """Tiles of 2 x 4 patches on 100 x 60 px, and a global view of 1 x 2 of the same picture."""
    small = np.asarray(small, np.float16)
    grid = PatchGrid.stretched(small.shape[-2], small.shape[-1], 100, 60)
    return traces.trace(main, view="tiles", other_views=(LookView("global", grid, small),), **changes)


def test_all_views_are_added_up_by_exact_area():
    main = np.full((1, 1, 1, 2, 4), 0.05)
    small = np.array([[[[[0.4, 0.0]]]]])
    made = attention_map(two_views(main, small))
    assert made.grid.cols == 4
    np.testing.assert_allclose(made.values[:, :2], 0.15 / 0.8, rtol=1e-3)  # .05 and a quarter of .4
    np.testing.assert_allclose(made.values[:, 2:], 0.05 / 0.8, rtol=1e-3)
    assert made.how["view"] == "all"
    assert made.how["views"] == pytest.approx({"tiles": 0.5, "global": 0.5}, rel=1e-3)
    assert made.picture_share == pytest.approx(0.8, rel=1e-3)


def test_one_view_has_its_own_grid_and_share():
    trace = two_views(np.full((1, 1, 1, 2, 4), 0.05), np.array([[[[[0.1, 0.3]]]]]))
    made = attention_map(trace, view="global")
    np.testing.assert_allclose(made.values, [[0.25, 0.75]], rtol=1e-3)
    assert made.picture_share == pytest.approx(0.4, rel=1e-3)
    assert attention_map(trace, view="tiles").values.shape == (2, 4)
    with pytest.raises(AttentionError, match=r'no view "globe".*all, tiles, global'):
        attention_map(trace, view="globe")


def test_V12_sinks_of_every_view_are_dropped_before_views_are_added():
    main = np.full((1, 1, 2, 4, 8), 0.005)
    small = np.full((1, 1, 2, 2, 8), 0.002)
    small[..., 1, 7] = 0.5
    made = attention_map(two_views(main, small), sinks="drop")
    assert made.how["other_sink_patches"] == {"global": [[1, 7]]}
    assert made.how["sink_patches"] == []
    assert made.how["sink_patch_share"] == pytest.approx(0.5 / (0.5 + 0.16 + 0.03), rel=1e-2)
    assert made.values[3, 7] == pytest.approx(made.values[3, 0], rel=0.3)


def test_V11_the_share_in_the_padding_is_told():
    weights = np.full((1, 1, 1, 2, 3), 1 / 6)
    grid = PatchGrid(np.array([-50.0, 0, 50, 100]), np.array([0.0, 30, 60]), 100, 60)
    made = attention_map(traces.trace(weights, grid=grid))
    assert made.how["padding_share"] == pytest.approx(1 / 3, rel=1e-3)
    assert made.how["beside_share"] == 0


@pytest.mark.parametrize(
    ("weights", "share", "reason"),
    [
        (np.zeros((1, 1, 1, 2, 2)), 0, "nothing fell on the picture"),
        (np.full((1, 1, 1, 2, 2), np.nan), None, "some values are not finite"),
        (np.full((1, 1, 1, 2, 2), 1e-9), 0, "nothing fell on the picture"),  # too small for float16
    ],
)
def test_S4_a_map_of_nothing_is_nan_with_a_reason(weights, share, reason):
    made = attention_map(traces.trace(weights))
    assert np.isnan(made.values).all()
    assert made.how["empty"] == reason
    if share is not None:
        assert made.picture_share == share


def test_S4_a_constant_map_is_uniform_and_a_one_hot_map_one_patch():
    even = attention_map(traces.trace(np.full((1, 1, 1, 2, 5), 0.1)))
    np.testing.assert_allclose(even.values, 0.1)
    assert "empty" not in even.how
    hot = np.zeros((1, 1, 1, 2, 5))
    hot[..., 1, 2] = 1
    assert attention_map(traces.trace(hot)).values[1, 2] == 1


def with_text(first, of_picture=0.2, **changes):
    """One row each of 2 layers and 2 heads: `first` on the prompt's first token, the rest on the last."""
    weights = np.full((3, 2, 2, 2, 2), of_picture / 4)
    text = np.zeros((3, 2, 2, 4), np.float16)
    text[..., 0], text[..., 2] = first, 1 - first - of_picture
    values = {"prompt_tokens": ("<s>", "How", "high"), "picture_at": 1, "text_weights": text}
    return traces.trace(weights, **{**values, **changes})


def test_V12_the_tokens_that_are_sinks_are_numbers_in_every_map():
    made = attention_map(with_text(0.6), tokens=[1])
    (sink,) = made.how["text_sinks"]
    assert (sink["index"], sink["token"], sink["heads"]) == (0, "<s>", 1)
    assert sink["share"] == pytest.approx(0.6, rel=1e-3)
    assert made.how["text_sink_share"] == pytest.approx(0.6, rel=1e-3)
    assert made.how["picture_share_without_sinks"] == pytest.approx(0.2 / 0.4, rel=1e-2)
    assert made.picture_share == pytest.approx(0.2, rel=1e-3)


@given(
    hnp.arrays(np.float16, (2, 1, 2, 2, 4), elements=st.floats(0, 0.0625, width=16)),
    hnp.arrays(np.float16, (2, 1, 2, 3, 1), elements=st.floats(0, 0.0625, width=16)),
)
def test_two_views_lose_nothing(main, small):
    made = attention_map(two_views(main, small))
    expected = float(main.astype(float).sum((-2, -1)).mean() + small.astype(float).sum((-2, -1)).mean())
    assert made.picture_share == pytest.approx(expected, rel=1e-3, abs=1e-6)
    if np.isfinite(made.values).all():
        assert made.values.sum() == pytest.approx(1)
        assert made.how["padding_share"] == made.how["beside_share"] == pytest.approx(0, abs=1e-9)
