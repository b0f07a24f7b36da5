import numpy as np
import pytest
import traces

from gazelab.attention.maps import attention_map
from gazelab.attention.sinks import sink_patches, sink_tokens
from gazelab.core.errors import AttentionError


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


def asked(tokens, sinks, heads=4):
    """A trace whose heads put .5 on each token named a sink, one after another, and the rest evenly."""
    text = np.full((2, 2, heads, len(tokens) + 2), 0.1 / len(tokens), np.float16)
    for head in range(heads):
        text[:, :, head, sinks[head % len(sinks)]] += 0.5
    weights = np.full((2, 2, heads, 2, 2), 0.1)
    return traces.trace(weights, prompt_tokens=tuple(tokens), picture_at=1, text_weights=text)


FIRST = ["<s>", "user", "How", "high", "is", "April", "end", "assistant"]
SECOND = ["<s>", "user", "Which", "bar", "end", "assistant"]


def test_V12_a_token_of_a_quarter_of_all_heads_is_a_sink():
    found = sink_tokens(asked(FIRST, [0, 0, 0, 6]))
    assert [(s.index, s.token, s.heads) for s in found] == [(0, "<s>", 0.75), (6, "end", 0.25)]
    assert found[0].share == pytest.approx(0.75 * 0.5 + 0.1 / 8, rel=1e-2)


def test_V12_a_token_that_another_question_does_not_have_is_no_sink_beside_it():
    one, other = asked(FIRST, [0, 5, 6]), asked(SECOND, [0, 4, 4])
    assert [s.token for s in sink_tokens(one)] == ["<s>", "April", "end"]
    assert [s.token for s in sink_tokens(one, other)] == ["<s>", "end"]


def test_V12_a_token_that_draws_in_one_question_only_is_no_sink():
    assert [s.token for s in sink_tokens(asked(FIRST, [0, 6]), asked(SECOND, [0, 0]))] == ["<s>"]


def test_a_trace_without_weights_of_single_tokens_names_none():
    assert sink_tokens(traces.trace(traces.uniform())) == ()
