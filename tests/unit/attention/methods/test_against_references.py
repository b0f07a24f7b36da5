"""Rollout and relevance, carried as vectors, against full matrices multiplied in a loop."""

from types import SimpleNamespace

import numpy as np
import pytest
import references
import tiny_models
import torch

from gazelab.attention.grids.family import Asked
from gazelab.attention.grids.layout import Layout
from gazelab.attention.methods import recorded as recorded_module
from gazelab.attention.methods.ag_cam import ag_cam_row
from gazelab.attention.methods.recorder import Recorder
from gazelab.attention.methods.relevance import relevance_row
from gazelab.attention.methods.rerun_huggingface import RerunHuggingFace
from gazelab.attention.methods.rollout import rollout_rows
from gazelab.attention.methods.value_norm import value_norm_rows
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

PROMPT, ANSWER = 17, [7, 31, 50]


class Opened:
    """What `RerunHuggingFace` needs of a model: 8 of the prompt's tokens are patches, from the fourth on."""

    def __init__(self, model, kind):
        self.kind, self.model_id = kind, "tiny"
        words = SimpleNamespace(pad_token_id=0, eos_token_id=None, name_or_path="tiny")
        self.checkpoint = SimpleNamespace(model=model, tokenizer=words)
        self.ids = tiny_models.prompt(PROMPT)

    def ask(self, picture, question):
        layout = Layout.whole(PatchGrid.stretched(2, 4, 80, 40), "80 x 40")
        columns = (np.arange(3, 11).reshape(2, 4),)
        tensors = {"input_ids": self.ids, "attention_mask": torch.ones_like(self.ids)}
        return Asked(tensors, columns, layout, 1 if self.kind == "cross" else PROMPT)


def record(model, kind, *, gradients=False, answer=ANSWER):
    return RerunHuggingFace(Opened(model, kind)).record(None, "", answer, gradients=gradients)


def whole_pass(model, kind):
    """Prompt and answer in one pass, as no generation does it."""
    ids, answer = tiny_models.prompt(PROMPT), torch.tensor([ANSWER])
    if kind == "self":
        return references.eager(model, kind, input_ids=torch.cat([ids, answer[:, :-1]], 1))
    read = torch.cat([torch.tensor([[1]]), answer[:, :-1]], 1)
    return references.eager(model, kind, input_ids=ids, decoder_input_ids=read)


SELF = [
    tiny_models.llama,
    lambda: tiny_models.llama(attention_bias=True),
    tiny_models.gemma3,
    tiny_models.gemma2,
    tiny_models.gpt_oss,
]
"""Grouped heads, biases, sliding windows, capped scores, a learned sink."""


@pytest.fixture(params=[16_000_000, 1], ids=["whole", "row by row"])
def _pieces(request, monkeypatch):
    monkeypatch.setattr(recorded_module, "VALUES_AT_ONCE", request.param)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("make", SELF)
def test_rollout_is_the_product_of_full_matrices(make):
    model = make()
    with torch.no_grad():
        _, parts = whole_pass(model, "self")
    found = record(model, "self")
    layers, heads = list(range(len(parts["decoder"]))), [0, 1, 3]
    expected = references.rollout(parts["decoder"], heads, layers)
    rolled = rollout_rows(found, layers, heads, [0, 2])
    np.testing.assert_allclose(rolled, expected[[PROMPT - 1, PROMPT + 1]], atol=1e-5)
    if make is not tiny_models.gpt_oss:  # whose sink takes a part
        np.testing.assert_allclose(rolled.sum(-1), 1, atol=1e-5)
    some = rollout_rows(found, [1], [2], [1])
    np.testing.assert_allclose(some, references.rollout(parts["decoder"], [2], [1])[[PROMPT]], atol=1e-5)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("make", SELF)
def test_relevance_of_a_decoder_is_the_published_rule_with_full_matrices(make):
    model = make()
    out, parts = whole_pass(model, "self")
    found = record(model, "self", gradients=True)
    layers = list(range(len(parts["decoder"])))
    for k, token in enumerate(ANSWER):
        expected = references.relevance_self(parts, out.logits[0, PROMPT - 1 + k, token])[PROMPT - 1 + k]
        row = relevance_row(found, layers, [0, 1, 2, 3], k)
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5 * float(expected.max()))
        assert float(row.max()) > 0


@pytest.mark.usefixtures("_pieces")
def test_relevance_of_an_encoder_decoder_is_the_published_rule_with_full_matrices():
    model = tiny_models.bart()
    out, parts = whole_pass(model, "cross")
    found = record(model, "cross", gradients=True)
    assert (len(found.encoder), len(found.cross), len(found.decoder)) == (2, 2, 2)
    for k, token in enumerate(ANSWER):
        expected = references.relevance_cross(parts, out.logits[0, k, token])[k]
        row = relevance_row(found, [0, 1], [0, 1, 2, 3], k)
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-5 * float(expected.max()))
        assert float(row.max()) > 0


@pytest.mark.parametrize("kind", ["self", "cross"])
def test_ag_cam_is_positive_gradients_times_squashed_scores(kind):
    model = tiny_models.llama() if kind == "self" else tiny_models.bart()
    out, parts = whole_pass(model, kind)
    found = record(model, kind, gradients=True)
    looks = parts["cross" if kind == "cross" else "decoder"]
    at = 1 if kind == "cross" else PROMPT
    gradients = references.gradients(out.logits[0, at, ANSWER[1]], {"looks": looks})["looks"]
    expected = torch.zeros(found.keys)
    for number, (layer, gradient) in enumerate(zip(found.looking, gradients, strict=True)):
        block, row = layer.block_of(at)
        scores = block.scores([row], [0, 2])[:, 0]
        weights = looks[number][0, [0, 2], at]
        # Scores are known from weights up to a constant a head.
        shift = (weights.log()[:, 0] - scores[:, 0]).detach()
        np.testing.assert_allclose(
            (weights.log() - shift[:, None]).detach()[:, : block.n_keys], scores, atol=1e-3
        )
        n = block.n_keys
        expected[:n] += (gradient[0, [0, 2], at].clamp(min=0)[:, :n] * scores.sigmoid()).sum(0)
    row = ag_cam_row(found, [layer.number for layer in found.looking], [0, 2], 1)
    np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["self", "cross"])
def test_value_norms_are_the_lengths_of_what_each_key_adds(kind):
    model = tiny_models.llama() if kind == "self" else tiny_models.bart()
    with torch.no_grad():
        _, parts = whole_pass(model, kind)
    found = record(model, kind)
    looks = parts["cross" if kind == "cross" else "decoder"]
    at = 0 if kind == "cross" else PROMPT - 1
    layer = found.looking[1]
    block, _ = layer.block_of(at)
    projection = getattr(layer.module, "out_proj", None) or layer.module.o_proj
    width = block.value.shape[-1]
    lengths = torch.zeros(block.n_keys)
    shared = block.query.shape[1] // block.key.shape[1]
    for key in range(block.n_keys):
        value = block.value[0, 3 // shared, key]
        lengths[key] = (projection.weight[:, 3 * width : 4 * width] @ value).norm()
    expected = looks[1][0, 3, at, : block.n_keys] * lengths
    row = value_norm_rows(found, [1], [3], [0])[0, : block.n_keys]
    np.testing.assert_allclose(row, (expected / expected.sum()).detach(), atol=1e-5)


def test_the_model_is_as_before_and_the_forced_answer_costs_no_gradients():
    model = tiny_models.llama()
    before = tiny_models.generate(model, tiny_models.prompt())
    record(model, "self", gradients=True)
    assert all(part.requires_grad and part.grad is None for part in model.parameters())
    assert model.config._attn_implementation == "sdpa"
    assert torch.is_grad_enabled()
    np.testing.assert_array_equal(tiny_models.generate(model, tiny_models.prompt()), before)


def test_a_stopped_recording_leaves_the_model_as_before():
    model = tiny_models.llama()
    with pytest.raises(KeyboardInterrupt), Recorder(model, "self", gradients=True):
        raise KeyboardInterrupt
    assert all(part.requires_grad for part in model.parameters())
    assert model.config._attn_implementation == "sdpa"


def test_keys_of_earlier_tokens_are_no_copies():
    found = record(tiny_models.llama(), "self")
    layer = found.decoder[0]
    assert [block.n_keys for block in layer.blocks] == [PROMPT, PROMPT + 1, PROMPT + 2]
    assert len({block.key.data_ptr() for block in layer.blocks}) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_V4_half_precision_gives_finite_rows_near_those_of_full_precision(dtype):
    model = tiny_models.llama()
    exact = relevance_row(record(model, "self", gradients=True), range(3), range(4), 0)
    rough = relevance_row(record(model.to(dtype), "self", gradients=True), range(3), range(4), 0)
    assert rough.dtype == torch.float32
    assert bool(torch.isfinite(rough).all())
    assert float(torch.nn.functional.cosine_similarity(exact, rough, 0)) > 0.98


def test_an_answer_that_is_read_anew_for_each_token_is_refused():
    """Positions would be counted wrong."""
    model = tiny_models.llama()
    with pytest.raises(AttentionError, match="keeps no cache"), Recorder(model, "self"):
        model.generate(tiny_models.prompt(), max_new_tokens=3, do_sample=False, use_cache=False)


def test_a_model_that_is_recorded_already_says_so():
    model = tiny_models.llama()
    with (
        Recorder(model, "self"),
        pytest.raises(AttentionError, match="recorded already"),
        Recorder(model, "self"),
    ):
        pass


def test_V4_a_family_of_before_the_interface_is_refused():
    with pytest.raises(AttentionError, match="does not go through the attention interface"):
        record(tiny_models.bloom(), "self")
