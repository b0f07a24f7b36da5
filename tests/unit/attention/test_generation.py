import numpy as np
import pytest
import tiny_checkpoints
import tiny_models as tiny
import torch

from gazelab.attention.generation import TOP, generate_answer, interruptible
from gazelab.core.errors import AttentionError


class Stop(BaseException):
    pass


def attention_calls(model, stop_at):
    """Run an answer that is stopped at the `stop_at`-th check; how many attention layers ran to their end."""
    done = []
    hooks = [
        layer.self_attn.register_forward_hook(lambda *_: done.append(None)) for layer in model.model.layers
    ]
    checks = iter(range(1, stop_at + 1))

    def check():
        if next(checks) == stop_at:
            raise Stop

    with pytest.raises(Stop), interruptible(model, check):
        generate_answer(model, tiny_checkpoints.tokenizer(), {"input_ids": tiny.prompt(9)}, 50)
    for hook in hooks:
        hook.remove()
    return len(done)


@pytest.mark.parametrize("stop_at", [1, 2, 5])  # of three layers: before any, within the prompt, in a token
def test_a_run_stops_at_the_very_layer_and_leaves_no_hook(stop_at):
    model = tiny.llama()
    assert attention_calls(model, stop_at) == stop_at - 1
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_each_token_keeps_the_true_probabilities_of_the_most_probable():
    model, ids, seen = tiny.llama(), tiny.prompt(9), []
    answer = generate_answer(
        model, tiny_checkpoints.tokenizer(), {"input_ids": ids}, 3, lambda *token: seen.append(token)
    )
    assert [(index, token) for index, token, _ in seen] == list(enumerate(answer))
    with torch.no_grad():
        expected = model(torch.cat([ids, torch.tensor([answer])], 1)).logits[0, 8:-1].softmax(-1)
    for (_, token, top), of_place in zip(seen, expected, strict=True):
        assert len(top) == TOP == 50
        best = of_place.sort(descending=True)
        assert token == best.indices[0]
        np.testing.assert_allclose([p for _, p in top], best.values[:TOP], atol=1e-6)


def test_fewer_words_than_that_are_all_kept():
    model, seen = tiny.llama(), []
    model.lm_head = torch.nn.Linear(32, 7, bias=False)
    model.config.vocab_size = 7
    generate_answer(
        model,
        tiny_checkpoints.tokenizer(),
        {"input_ids": tiny.prompt(4)},
        1,
        lambda *token: seen.append(token),
    )
    (_, _, top) = seen[0]
    assert len(top) == 7
    assert sum(p for _, p in top) == pytest.approx(1, abs=1e-5)


def test_what_the_model_cannot_read_is_told():
    with pytest.raises(AttentionError, match="cannot be run on this question"):
        generate_answer(tiny.llama(), tiny_checkpoints.tokenizer(), {"input_ids": torch.tensor([[500]])}, 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_no_answer(value):
    model = tiny.llama()
    with torch.no_grad():
        model.lm_head.weight.fill_(value)
    with pytest.raises(AttentionError, match="its numbers are not finite"):
        generate_answer(model, tiny_checkpoints.tokenizer(), {"input_ids": tiny.prompt(9)}, 3)
