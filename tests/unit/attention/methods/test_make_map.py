"""Every method on a tiny checkpoint and on the embedded model, and what each refuses."""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_checkpoints
import torch

from gazelab.attention.base import open_model
from gazelab.attention.chartreader.model import ChartReader
from gazelab.attention.chartreader.network import ChartReaderNetwork, NetworkConfig
from gazelab.attention.chartreader.tokenizer import Tokenizer
from gazelab.attention.embedded import EmbeddedChartReader
from gazelab.attention.maps import attention_map
from gazelab.attention.methods import METHODS, NEUTRAL_QUESTION, make_map, offers
from gazelab.attention.methods.relative import FLOOR, relative_map
from gazelab.attention.methods.rerun import rerun_of
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

QUESTION = "What is the value of April ?"
ONE = {"layers": [1], "heads": [0], "tokens": [0]}


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    torch.set_num_threads(1)
    return open_model(str(tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("qwen"))))


@pytest.fixture(scope="module")
def reader():
    """The embedded model's code with random weights."""
    torch.manual_seed(4)
    tokenizer = Tokenizer(["what", "is", "the", "value", "of", "april"])
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "width": 48, "heads": 4, "tied_heads": 2}
    network = ChartReaderNetwork(NetworkConfig(tokens=len(tokenizer), inner_width=64, **sizes))
    return EmbeddedChartReader(ChartReader(network, tokenizer, revision="random"))


@pytest.fixture(params=["qwen", "reader"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def picture():
    return Picture.from_rgb(np.random.default_rng(3).integers(0, 255, (112, 168, 3), np.uint8))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_makes_a_map_or_says_why_not(model, picture, name):
    entry = METHODS[name]
    told = []
    options = ONE if name == "raw" else {}
    ask = (model, picture, QUESTION, name)
    if model.kind not in entry.kinds:
        with pytest.raises(AttentionError, match="defined for decoder-only models only"):
            make_map(*ask)
        return
    made = make_map(*ask, max_tokens=3, progress=lambda *a: told.append(a), **options)
    grid = model.head(picture, QUESTION).grid
    assert made.values.shape == (grid.rows, grid.cols)
    assert made.values.sum() == pytest.approx(1)
    assert made.values.min() >= 0
    assert 0 < made.picture_share <= 1 + 1e-3
    assert (made.how["method"], made.how["source"]) == (name, entry.source)
    assert {"layers", "heads", "tokens", "sinks", "view", "padding_share"} <= set(made.how)
    json.dumps(made.how, allow_nan=False)
    if entry.needs_model:
        assert told[-1][0] == told[-1][1]


def test_the_offers_name_what_stands_against_a_method(qwen, reader):
    assert all(offer.reason == "" for offer in offers(qwen))
    assert {o.entry.name: o.reason for o in offers(reader) if o.reason} == {
        "rollout": "it is defined for decoder-only models only."
    }


def test_a_model_of_another_kind_can_only_be_looked_at():
    stranger = SimpleNamespace(kind="self", model_id="lab/stranger")
    possible = [offer.entry.name for offer in offers(stranger) if not offer.reason]
    assert possible == ["mean", "max", "raw", "relative"]
    with pytest.raises(AttentionError, match="cannot be run again"):
        rerun_of(stranger)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "rollup"}, "no way to make a map.*rollout"),
        ({"method": "ag_cam", "layers": [9]}, "no layer 9"),
        ({"method": "value_norm", "heads": [-9]}, "no head -9"),
        ({"method": "relevance", "tokens": [50]}, "no token 50"),
        ({"method": "relevance", "view": "globe"}, 'no view "globe"'),
        ({"method": "value_norm", "sinks": "hide"}, "unknown"),
    ],
)
def test_what_is_not_there_is_named(model, picture, options, named):
    with pytest.raises(AttentionError, match=named):
        make_map(model, picture, QUESTION, **options, max_tokens=2)


def test_a_given_trace_is_not_made_again(model, picture):
    trace = model.trace(picture, QUESTION, 2)
    made = make_map(model, picture, QUESTION, "mean", trace=trace)
    np.testing.assert_array_equal(made.values, attention_map(trace).values)


def test_the_weights_that_are_recorded_are_those_of_the_trace(model, picture):
    """So that value norms, relevance and rollout speak of the very attention that is shown."""
    trace = model.trace(picture, QUESTION, 3)
    rerun = rerun_of(model)
    ids = rerun.answer(picture, QUESTION, 3)
    found = rerun.record(picture, QUESTION, ids)
    for i, layer in enumerate(found.looking):
        for k in range(len(ids)):
            block, row = layer.block_of(found.rows[k])
            weights = np.zeros((model.n_heads, found.keys), np.float32)
            weights[:, : block.n_keys] = block.weights([row], range(model.n_heads))[:, 0]
            (laid,) = found.lay(weights)
            np.testing.assert_allclose(laid, trace.weights[k, i], atol=1e-3)


def test_V4_an_answer_is_expected_with_the_probabilities_that_were_told(model, picture):
    trace = model.trace(picture, QUESTION, 3)
    rerun = rerun_of(model)
    ids = rerun.answer(picture, QUESTION, 3)
    expected = rerun.expect(picture, QUESTION, ids, 3)
    np.testing.assert_allclose(np.exp(expected.log_probs), [top[0][1] for top in trace.top], rtol=1e-4)
    assert expected.unchanged
    other = [*ids[:-1], ids[-1] + 1 if ids[-1] < 12 else ids[-1] - 1]
    assert not rerun.expect(picture, QUESTION, other, 3).unchanged


def test_an_answer_of_no_tokens_is_refused(model, picture):
    with pytest.raises(AttentionError, match="without tokens"):
        rerun_of(model).expect(picture, QUESTION, [], 3)


def test_V4_gradients_that_are_not_finite_are_refused(reader, picture, monkeypatch):
    monkeypatch.setattr(
        torch.autograd,
        "grad",
        lambda logit, outputs, **kw: [torch.full_like(outputs[0], torch.nan)] * len(outputs),
    )
    with pytest.raises(AttentionError, match="not finite"):
        make_map(reader, picture, QUESTION, "ag_cam", max_tokens=2)


def test_no_room_is_said_before_the_run(qwen, picture, monkeypatch):
    monkeypatch.setattr("gazelab.attention.methods.cost.free_bytes", lambda device: 1000)
    with pytest.raises(AttentionError, match="no room: its gradients would hold about"):
        make_map(qwen, picture, QUESTION, "relevance", max_tokens=2)


@pytest.mark.parametrize("part", ["generate", "gradients_of"])
def test_memory_that_runs_out_is_told_in_words(qwen, picture, monkeypatch, part):
    def out_of_memory(*args, **options):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")

    if part == "generate":
        trace = qwen.trace(picture, QUESTION, 2)
        monkeypatch.setattr(type(qwen.checkpoint.model), "generate", out_of_memory)
        with pytest.raises(AttentionError, match="memory ran out"):
            make_map(qwen, picture, QUESTION, "value_norm", trace=trace)
        return
    monkeypatch.setattr("gazelab.attention.methods.ag_cam.gradients_of", out_of_memory)
    with pytest.raises(AttentionError, match="memory ran out"):
        make_map(qwen, picture, QUESTION, "ag_cam", max_tokens=2)


def test_a_run_can_be_stopped_and_leaves_the_model_as_before(model, picture):
    class Stop(Exception):
        pass

    calls = []

    def check():
        calls.append(1)
        if len(calls) > 5:
            raise Stop

    before = model.trace(picture, QUESTION, 2)
    with pytest.raises(Stop):
        make_map(model, picture, QUESTION, "relevance", max_tokens=3, check=check)
    np.testing.assert_array_equal(model.trace(picture, QUESTION, 2).weights, before.weights)


def test_sinks_are_dropped_by_the_trace_that_was_given(qwen, picture):
    trace = qwen.trace(picture, QUESTION, 2)
    weights = np.full(trace.weights.shape, 1e-3, np.float16)
    weights[..., 1, 2] = 0.5
    made = make_map(
        qwen, picture, QUESTION, "value_norm", sinks="drop", trace=replace(trace, weights=weights)
    )
    assert made.how["sink_patches"] == [[1, 2]]
    assert made.values[1, 2] == 0
    assert made.values.sum() == pytest.approx(1)


def test_relative_attention_is_the_ratio_by_hand(reader, picture):
    """Twice as much as with the neutral question on one patch, as much on the others."""
    trace = reader.trace(picture, QUESTION, 1)
    n = trace.grid.rows * trace.grid.cols
    even = np.full(trace.weights.shape, 1 / n, np.float16)
    more = even.copy()
    more[..., 3, 4] *= 2
    made = relative_map(replace(trace, weights=more), replace(trace, weights=even))
    ratio = made.values[3, 4] / made.values[0, 0]
    up, low = 2 / (n + 1) * n, 1 / (n + 1) * n
    assert ratio == pytest.approx((up + FLOOR) / (low + FLOOR), rel=1e-3)
    assert made.how["tokens"] == [0]
    assert made.how["neutral_question"] == NEUTRAL_QUESTION


def test_S4_relative_attention_of_nothing_is_nan_with_a_reason(reader, picture):
    trace = reader.trace(picture, QUESTION, 1)
    nothing = replace(trace, weights=np.zeros_like(trace.weights))
    made = relative_map(trace, nothing)
    assert np.isnan(made.values).all()
    assert made.how["empty"] == "no layer looks at the picture with both questions"
    assert made.how["layers_that_look"] == 0


def test_every_method_cites_its_source_and_cost():
    for entry in METHODS.values():
        assert "https://arxiv.org/abs/" in entry.source
        assert entry.about.endswith(".")
        assert entry.cost
        json.dumps(entry.to_json())


def test_choosing_a_method_loads_no_torch():
    code = (
        "import sys, gazelab.attention.methods, gazelab.attention.causal, gazelab.pipeline.map_choice;"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_answer_that_would_go_on_or_end_is_told_apart(model, picture, monkeypatch):
    """Three tokens of a longer answer: unchanged only where the model would stop there."""
    rerun = rerun_of(model)
    ids = rerun.answer(picture, QUESTION, 5)
    assert len(ids) > 3
    assert not rerun.expect(picture, QUESTION, ids[:3], 5).unchanged
    assert rerun.expect(picture, QUESTION, ids[:3], 3).unchanged  # cut off there by the limit
    if model.kind == "self":
        monkeypatch.setattr(type(rerun), "_end_marks", lambda self: {ids[3]})
    else:
        monkeypatch.setattr(model.reader.tokenizer, "end", ids[3])
    assert rerun.expect(picture, QUESTION, ids[:3], 5).unchanged
