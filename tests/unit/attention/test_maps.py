import numpy as np
import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gazelab.attention.maps import attention_map, display_scale, sink_patches
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


def test_V12_a_head_that_finds_what_was_asked_is_no_sink():
    weights = traces.uniform(layers=4, heads=6, rows=12, cols=16)
    weights[:, 3, :3] = 0
    weights[:, 3, :3, 4, 9] = 0.95
    assert not sink_patches(traces.trace(weights)).any()


def looking_at(row, col):
    """An encoder-decoder of which every head looks at one patch, and a little at the top left one."""
    weights = np.full((2, 3, 4, 8, 10), 0.001)
    weights[..., row, col] = 0.6
    weights[..., 0, 0] = 0.3
    return traces.trace(weights, kind="cross")


def test_V12_one_trace_of_an_encoder_decoder_names_no_sink_but_two_questions_do():
    april, may = looking_at(2, 3), looking_at(5, 7)
    assert not sink_patches(april).any()
    assert np.argwhere(sink_patches(april, may)).tolist() == [[0, 0]]
    made = attention_map(april, sinks="drop", others=[may])
    assert made.values[0, 0] == 0
    assert made.values.argmax() == 23
    assert made.how["sink_rule"] == "10 x mean in 50% of rows, 2 trace(s)"


def test_V12_sinks_of_another_picture_are_refused():
    with pytest.raises(AttentionError, match="one picture"):
        sink_patches(looking_at(2, 3), traces.trace(traces.uniform(rows=8, cols=10), picture_sha256="1" * 64))


def test_an_answer_without_tokens_has_no_sinks():
    assert not sink_patches(traces.trace(np.zeros((0, 1, 1, 2, 2)))).any()


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
