import copy

import numpy as np
import pytest
import tiny_models as tiny
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, LlamaForCausalLM, StaticCache

from gazelab.attention.eager import eager_memory_bytes, weights_in
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.rows import predicting_row
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError


def assert_rows_equal_eager(tap, full, tolerance=1e-6):
    """Each tapped row against the same row of the library's own matrix, (layer, head, query, key)."""
    full = np.asarray(full)
    assert len(tap.rows) > 0
    assert full[:, :, -1].max() > 2 / full.shape[-1], "attention near uniform would hide a wrong row"
    for row, weights in zip(tap.rows, tap.weights, strict=True):
        n_keys = weights.shape[-1]
        np.testing.assert_allclose(weights, full[:, :, row, :n_keys], atol=tolerance)


def n_hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_V5_generated_rows_equal_one_eager_pass_over_prompt_and_answer():
    model, ids = tiny.llama(), tiny.prompt(17)
    with AttentionTap(model) as tap:
        whole = tiny.generate(model, ids, n=6)
    assert tap.rows == tuple(predicting_row(17, k) for k in range(6))
    assert tap.weights.shape == (6, 3, 4, 22)
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, whole))


def test_V5_teacher_forced_rows_equal_the_generated_ones():
    model, ids = tiny.llama(), tiny.prompt(17)
    with AttentionTap(model) as stepwise:
        whole = tiny.generate(model, ids, n=6)
    with AttentionTap(model, rows=range(16, 22)) as forced, torch.no_grad():
        model(whole[:, :-1])
    assert forced.rows == stepwise.rows
    np.testing.assert_allclose(forced.weights, stepwise.weights, atol=1e-6)


def test_V1_sdpa_itself_gives_no_weights_where_the_tap_does():
    model, ids = tiny.llama(), tiny.prompt()
    with torch.no_grad():
        assert all(layer is None for layer in model(ids, output_attentions=True).attentions or ())
    with AttentionTap(model, rows="all") as tap, torch.no_grad():
        model(ids)
    assert tap.weights.shape == (17, 3, 4, 17)
    np.testing.assert_allclose(tap.weights.sum(-1), 1, atol=1e-6)
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, ids))


def test_the_answer_and_the_logits_are_those_of_the_untapped_model():
    model, ids = tiny.llama(), tiny.prompt()
    plain = tiny.generate(model, ids, n=8)
    with torch.no_grad():
        logits = model(ids).logits
        with AttentionTap(model, rows="all"):
            assert torch.equal(model(ids).logits, logits)
            assert torch.equal(tiny.generate(model, ids, n=8), plain)


def test_sliding_windows_keep_the_columns_of_the_whole_sequence():
    model, ids = tiny.gemma3(), tiny.prompt(17)
    with AttentionTap(model) as tap:
        whole = tiny.generate(model, ids, n=6)
    assert tap.weights.shape == (6, 4, 4, 22)
    assert np.all(tap.weights[:, 0, :, :12] == 0)  # a window of 5 keys, the last rows
    assert tap.weights[:, 2, :, :12].sum() > 0.1  # the full layer sees them
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, whole))


@pytest.mark.parametrize("model_of", [tiny.llama, tiny.gemma3])
def test_a_preallocated_cache_gives_the_same_rows(model_of):
    model, ids = model_of(), tiny.prompt(9)
    with AttentionTap(model) as grown:
        whole = tiny.generate(model, ids, n=5)
    cache = StaticCache(config=model.config, max_cache_len=40)
    with AttentionTap(model) as preallocated, torch.no_grad():
        tiny.read(model, ids, cache)
        for position in range(9, 13):
            tiny.read(model, whole[:, position : position + 1], cache)
    assert preallocated.rows == grown.rows
    np.testing.assert_allclose(preallocated.weights, grown.weights, atol=1e-6)


def test_a_prompt_read_in_chunks_gives_the_same_rows():
    model, ids = tiny.gemma3(), tiny.prompt(17)
    cache = DynamicCache(config=model.config)
    with AttentionTap(model, rows=[10, 16]) as tap, torch.no_grad():
        for start, stop in ((0, 7), (7, 12), (12, 17)):
            tiny.read(model, ids[:, start:stop], cache)
    assert tap.rows == (10, 16)
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, ids))


def test_generation_without_a_cache_gives_the_same_rows():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model) as cached:
        tiny.generate(model, ids, n=4)
    with AttentionTap(model) as uncached:
        tiny.generate(model, ids, n=4, use_cache=False)
    assert uncached.rows == cached.rows
    np.testing.assert_allclose(uncached.weights, cached.weights, atol=1e-6)


def test_left_padding_is_never_looked_at():
    model, ids = tiny.llama(), tiny.prompt(8)
    mask = torch.ones_like(ids)
    mask[:, :3] = 0
    with AttentionTap(model) as tap:
        tiny.generate(model, ids, n=3, attention_mask=mask)
    assert np.all(tap.weights[..., :3] == 0)
    np.testing.assert_allclose(tap.weights.sum(-1), 1, atol=1e-6)


def test_chosen_layers_keep_the_models_own_numbers():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model, rows="all", layers=[-1, 0]) as tap, torch.no_grad():
        model(ids)
    assert tap.layers == (0, 2)
    full = tiny.eager_matrix(model, ids)[[0, 2]]
    assert_rows_equal_eager(tap, full)
    with pytest.raises(AttentionError, match=r"no attention layer 7.*\[0, 1, 2\]"):
        AttentionTap(model, layers=[7])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 3e-2), (torch.float16, 4e-3)])
def test_half_precision_models_are_read_in_float32(dtype, tolerance):
    model, ids = tiny.llama().to(dtype), tiny.prompt()
    with AttentionTap(model, rows="all", layers=[0]) as tap, torch.no_grad():
        model(ids)
    assert tap.weights.dtype == np.float32
    np.testing.assert_allclose(tap.weights.sum(-1), 1, atol=1e-6)
    # The first layer: later ones see inputs that the two kernels have already rounded apart.
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, ids)[:1].float(), tolerance)


def test_float16_storage_halves_the_memory():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model, rows="all", dtype=np.float16) as tap, torch.no_grad():
        model(ids)
    assert tap.weights.dtype == np.float16
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, ids), 5e-4)


def test_picture_columns_and_the_sums_on_text_and_sink_make_one():
    model, ids = tiny.llama(), tiny.prompt()
    picture = np.array([4, 5, 6, 9])
    with AttentionTap(model) as whole:
        tiny.generate(model, ids, n=3)
    with AttentionTap(model, picture=picture) as tap:
        tiny.generate(model, ids, n=3)
    for row, full in zip(tap.captured, whole.weights, strict=True):
        np.testing.assert_allclose(row.weights, full[..., picture], atol=1e-6)
        np.testing.assert_allclose(row.sink_share, full[..., 0], atol=1e-6)
        np.testing.assert_allclose(row.weights.sum(-1) + row.sink_share + row.text_share, 1, atol=1e-6)
    with pytest.raises(AttentionError, match="only the picture's columns"):
        tap.weights


def test_a_first_token_of_the_picture_is_no_text_sink():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model, picture=[0, 1, 2]) as tap:
        tiny.generate(model, ids, n=1)
    (row,) = tap.captured
    np.testing.assert_allclose(row.sink_share, 0, atol=1e-6)
    np.testing.assert_allclose(row.weights.sum(-1) + row.text_share, 1, atol=1e-6)


def test_keys_outside_the_picture_keep_their_weights_in_the_sequences_order():
    model, ids = tiny.llama(), tiny.prompt()
    views = np.concatenate([[9, 6, 5], [12]])  # two views of one picture; 10 and 11 are newline tokens
    with AttentionTap(model) as whole:
        tiny.generate(model, ids, n=3)
    with AttentionTap(model, picture=views, dtype=np.float16) as tap:
        tiny.generate(model, ids, n=3)
    for k, (row, full) in enumerate(zip(tap.captured, whole.weights, strict=True)):
        text = [0, 1, 2, 3, 4, 7, 8, 10, 11, 13, 14, 15, 16, 17, 18][: 13 + k]
        assert row.text_weights.dtype == np.float16
        np.testing.assert_allclose(row.text_weights, full[..., text], atol=5e-4)
        np.testing.assert_allclose(row.weights, full[..., views], atol=5e-4)


def test_without_a_picture_there_is_no_text_apart():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model) as tap:
        tiny.generate(model, ids, n=1)
    assert tap.captured[0].text_weights is None


def test_rows_arrive_while_the_model_still_runs():
    model, ids, seen = tiny.llama(), tiny.prompt(), []
    with AttentionTap(model, on_row=lambda row: seen.append((row.position, len(tap.rows)))) as tap:
        tiny.generate(model, ids, n=3)
    assert seen == [(16, 1), (17, 2), (18, 3)]


def test_V4_weights_that_are_not_finite_are_refused_with_the_layer_named():
    model, ids = tiny.llama(), tiny.prompt()
    with torch.no_grad():
        model.model.layers[1].self_attn.q_proj.weight.fill_(float("nan"))
    before = n_hooks(model)
    named = "layer 1 gives attention weights that are not finite"
    with pytest.raises(AttentionError, match=named), AttentionTap(model):
        tiny.generate(model, ids, n=2)
    assert attention_implementations(model) == {"": "sdpa"}
    assert n_hooks(model) == before


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_the_model_is_left_as_it_was_even_after_a_fault(kernel):
    model, ids = tiny.llama(), tiny.prompt()
    model.set_attn_implementation(kernel)
    before = n_hooks(model)

    def stop(row):
        assert attention_implementations(model) == {"": "gazelab_tap"}
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), AttentionTap(model, on_row=stop):
        model(ids)
    assert attention_implementations(model) == {"": kernel}
    assert n_hooks(model) == before
    with torch.no_grad():
        model(ids)


def test_a_batch_is_refused():
    model = tiny.llama()
    with pytest.raises(AttentionError, match="batch of 2"), AttentionTap(model):
        model(tiny.prompt().repeat(2, 1))


def test_a_second_tap_on_the_same_model_is_refused_and_the_first_goes_on():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model) as first:
        with pytest.raises(AttentionError, match="tapped already"), AttentionTap(model):
            pass
        tiny.generate(model, ids, n=2)
    assert len(first.rows) == 2


def test_two_models_are_tapped_side_by_side():
    one, two, ids = tiny.llama(), tiny.gemma3(), tiny.prompt()
    with AttentionTap(one) as tap_one, AttentionTap(two) as tap_two:
        tiny.generate(one, ids, n=2)
        tiny.generate(two, ids, n=3)
    assert (len(tap_one.rows), len(tap_two.rows)) == (2, 3)


def test_V1_weights_before_any_pass_are_an_error_and_not_an_empty_tuple():
    with AttentionTap(tiny.llama()) as tap:
        pass
    with pytest.raises(AttentionError, match="no attention was read"):
        tap.weights


def test_V1_a_layer_that_does_not_call_the_interface_is_named():
    model, ids = tiny.llama(), tiny.prompt()
    attention = model.model.layers[1].self_attn
    attention.forward = lambda hidden_states, **kwargs: (hidden_states, None)
    named = r"layers \[1\] do not go through"
    with pytest.raises(AttentionError, match=named), AttentionTap(model, layers=[0, 1, 2]), torch.no_grad():
        model(ids)


def test_V1_a_model_that_never_calls_the_interface_is_refused():
    model, ids = tiny.llama(), tiny.prompt()
    for layer in model.model.layers:
        layer.self_attn.forward = lambda hidden_states, **kwargs: (hidden_states, None)
    refused = "does not go through the attention interface"
    with pytest.raises(AttentionError, match=refused), AttentionTap(model), torch.no_grad():
        model(ids)


def test_what_is_no_hugging_face_model_is_refused():
    with pytest.raises(AttentionError, match="Linear: not a Hugging Face model"):
        AttentionTap(nn.Linear(2, 2))


def test_a_family_of_another_build_is_read_too():
    config = GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, initializer_range=tiny.SPIKY)
    model, ids = GPT2LMHeadModel(config).eval(), tiny.prompt()
    with AttentionTap(model, rows="all") as tap, torch.no_grad():
        model(ids)
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, ids))


@pytest.mark.parametrize("model_of", [tiny.bloom, tiny.gemma2, tiny.gpt_oss])
def test_V1_what_sdpa_cannot_do_is_refused_with_a_way_out_and_read_eagerly(model_of):
    model, ids = model_of(), tiny.prompt(9)
    before = attention_implementations(model)
    with pytest.raises(AttentionError, match=r'does not go through.*method="eager"'), AttentionTap(model):
        pass
    with AttentionTap(model, method="eager") as tap:
        whole = tiny.generate(model, ids, n=3)
    assert tap.rows[:3] == (8, 9, 10)[: len(tap.rows)]
    assert attention_implementations(model) == before
    with torch.no_grad():
        full = torch.stack(model(whole, output_attentions=True).attentions)[:, 0].numpy()
    for row, weights in zip(tap.rows, tap.weights, strict=True):
        np.testing.assert_allclose(weights, full[:, :, row, : weights.shape[-1]], atol=1e-6)


def test_eager_reading_keeps_no_matrix_in_the_models_output():
    model, ids = tiny.llama(), tiny.prompt(9)
    with AttentionTap(model, method="eager", rows="all") as tap, torch.no_grad():
        out = model(ids, output_attentions=True)
    assert not any(isinstance(layer, torch.Tensor) for layer in out.attentions or ())
    assert_rows_equal_eager(tap, tiny.eager_matrix(model, ids))


def test_a_learned_sink_counts_as_sink():
    model, ids = tiny.gpt_oss(), tiny.prompt(9)
    with AttentionTap(model, method="eager") as whole:
        tiny.generate(model, ids, n=1)
    with AttentionTap(model, method="eager", picture=[2, 3]) as tap:
        tiny.generate(model, ids, n=1)
    left = 1 - whole.weights[0].sum(-1)
    assert left.max() > 0.001
    np.testing.assert_allclose(tap.captured[0].sink_share, whole.weights[0, ..., 0] + left, atol=1e-6)


def test_a_position_bias_is_not_taken_for_weights():
    bias, weights = torch.randn(1, 2, 3, 3), torch.full((1, 2, 3, 3), 1 / 3)
    index, found = weights_in((torch.zeros(1, 3, 4), bias, weights), "T5")
    assert index == 2
    assert found is weights
    with pytest.raises(AttentionError, match="T5: its attention layers give no weights"):
        weights_in((torch.zeros(1, 3, 4), bias, None), "T5")


@pytest.mark.parametrize("method", ["interface", "eager"])
def test_cross_attention_of_an_encoder_decoder_is_read_over_the_encoders_keys(method):
    model, ids = tiny.bart(), tiny.prompt(9)
    with AttentionTap(model, kind="cross", method=method) as tap:
        whole = tiny.generate(model, ids, n=4)
    n = len(tap.rows)
    assert tap.weights.shape == (n, 2, 4, 9)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(input_ids=ids, decoder_input_ids=whole[:, :n], output_attentions=True)
    full = torch.stack(out.cross_attentions)[:, 0].numpy()
    assert_rows_equal_eager(tap, full)


def test_the_estimate_of_eager_memory_grows_with_the_square_of_the_prompt():
    model = tiny.llama()  # 3 layers, 4 heads, float32
    assert eager_memory_bytes(model, 1000) == 4 * 1000**2 * (4 + 8)
    assert eager_memory_bytes(model, 1000, kept=True) == 4 * 1000**2 * (3 * 4 + 8)
    assert eager_memory_bytes(model.to(torch.bfloat16), 2000, kept=True) == 4 * 2000**2 * (3 * 2 + 8)


def test_chosen_heads_are_those_of_the_whole():
    model, ids = tiny.llama(), tiny.prompt()
    with AttentionTap(model) as whole:
        tiny.generate(model, ids, n=3)
    with AttentionTap(model, heads=[-1, 1]) as tap:
        tiny.generate(model, ids, n=3)
    np.testing.assert_array_equal(tap.weights, whole.weights[:, :, [1, 3]])
    with pytest.raises(AttentionError, match=r"no head 4.*heads 0 to 3"), AttentionTap(model, heads=[4]):
        model(ids)


def test_scores_before_the_softmax_give_the_weights_after_it():
    model, ids = tiny.gemma3(), tiny.prompt(9)
    with AttentionTap(model, rows="all", before_softmax=True) as scores, torch.no_grad():
        model(ids)
    with AttentionTap(model, rows="all") as tap, torch.no_grad():
        model(ids)
    later = np.triu(np.ones((9, 9), bool), 1)
    assert np.all(scores.weights.transpose(1, 2, 0, 3)[:, :, later] == -np.inf)
    after = torch.from_numpy(scores.weights).softmax(-1).numpy()
    np.testing.assert_allclose(after, tap.weights, atol=1e-6)
    with pytest.raises(AttentionError, match="scores before the softmax"):
        AttentionTap(model, method="eager", before_softmax=True)


@pytest.mark.parametrize("picture", [[], [3, 4, 3]])
def test_columns_that_would_break_the_shares_are_refused(picture):
    with pytest.raises(AttentionError, match="none, or one is named twice"):
        AttentionTap(tiny.llama(), picture=picture)


def test_a_cache_that_would_compile_the_model_is_read_as_any_other():
    model, ids = tiny.llama(), tiny.prompt(9)
    with AttentionTap(model) as grown:
        tiny.generate(model, ids, n=4)
    with AttentionTap(model) as static:
        assert model.generation_config.disable_compile
        tiny.generate(model, ids, n=4, cache_implementation="static")
    assert model.generation_config.disable_compile is None
    assert static.rows == grown.rows
    np.testing.assert_allclose(static.weights, grown.weights, atol=1e-6)


def test_a_compiled_model_is_refused():
    compiled = nn.Sequential()
    compiled._orig_mod = tiny.llama()  # as torch.compile wraps it
    with pytest.raises(AttentionError, match="compiled model cannot be tapped"):
        AttentionTap(compiled)


def test_a_query_that_may_see_nothing_is_no_fault():
    model, ids = tiny.llama(), tiny.prompt(8)
    mask = torch.ones_like(ids)
    mask[:, :3] = 0
    with AttentionTap(model, rows="all") as tap, torch.no_grad():
        model(ids, attention_mask=mask)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        full = torch.stack(model(ids, attention_mask=mask, output_attentions=True).attentions)[:, 0].numpy()
    np.testing.assert_allclose(tap.weights[3:].transpose(1, 2, 0, 3), full[:, :, 3:], atol=1e-6)


def test_an_encoders_padding_is_never_looked_at():
    model, ids = tiny.bart(), tiny.prompt(9)
    mask = torch.ones_like(ids)
    mask[:, 6:] = 0
    with AttentionTap(model, kind="cross", picture=range(1, 5)) as tap:
        tiny.generate(model, ids, n=3, attention_mask=mask)
    for row in tap.captured:
        assert row.text_weights.shape == (2, 4, 5)  # keys 0 and 5 to 8
        assert np.all(row.text_weights[..., 2:] == 0)
        shares = row.weights.sum(-1) + row.sink_share + row.text_share
        np.testing.assert_allclose(shares, 1, atol=1e-6)
        np.testing.assert_allclose(row.sink_share, row.text_weights[..., 0], atol=1e-6)


class Waits(TorchDispatchMode):
    """Counts the times that the program waits for a value: on a GPU each one empties the queue of work."""

    n = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("n_layers", [3, 6])
def test_a_pass_waits_for_the_device_once_however_many_layers(n_layers):
    config, ids = copy.deepcopy(tiny.llama().config), tiny.prompt(9)
    config.num_hidden_layers = n_layers
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        with Waits() as plain:
            model(ids)
        with AttentionTap(model, picture=[3, 4]) as tap, Waits() as tapped:
            model(ids)
    assert len(tap.captured[0].layers) == n_layers
    assert tapped.n - plain.n <= 1
