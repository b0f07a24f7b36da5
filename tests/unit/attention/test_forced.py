import numpy as np
import pytest
import tiny_checkpoints
import tiny_families
import tiny_models as tiny
import torch
from corners import grey

from gazelab.attention.base import open_model
from gazelab.attention.decoder import can_be_tapped
from gazelab.attention.forced import forced_answer, forced_trace
from gazelab.attention.generation import generate_answer
from gazelab.attention.tap import AttentionTap
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


def test_V5_rows_of_a_given_answer_are_those_of_its_generation():
    model, ids = tiny.llama(), tiny.prompt(17)
    with AttentionTap(model) as tap:
        answer = tiny.generate(model, ids, n=5)[0, 17:].tolist()
    forced = forced_answer(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, answer)
    assert [row.position for row in forced.rows] == [16, 17, 18, 19, 20]
    for row, stepwise in zip(forced.rows, tap.captured, strict=True):
        np.testing.assert_allclose(
            row.weights[..., : stepwise.weights.shape[-1]], stepwise.weights, atol=1e-6
        )
    assert forced.best[:, 0].tolist() == answer


def test_probabilities_are_of_each_token_after_those_before_it():
    model, ids = tiny.llama(), tiny.prompt(5)
    forced = forced_answer(model, {"input_ids": ids}, [7, 9])
    with torch.no_grad():
        logits = model(torch.cat([ids, torch.tensor([[7]])], 1)).logits[0].softmax(-1)
    np.testing.assert_allclose(forced.probability, [logits[4, 7], logits[5, 9]], atol=1e-6)
    assert forced.best.shape == forced.best_probability.shape == (2, 50)
    np.testing.assert_allclose(forced.best_probability[0], logits[4].sort(descending=True)[0][:50], atol=1e-6)


@pytest.mark.parametrize("family", sorted(tiny_families.FOLDERS))
def test_V5_with_a_picture_too_in_every_family(family, tmp_path):
    model = open_model(str(tiny_families.FOLDERS[family](tmp_path)))
    parts, asked = model.checkpoint, model.ask(grey(260, 150), "What is April?")
    how = {
        "picture": np.concatenate([columns.ravel() for columns in asked.columns]),
        "kind": parts.family.kind,
        "method": "interface" if can_be_tapped(parts.model) else "eager",
    }
    with AttentionTap(parts.model, **how) as tap:
        answer = generate_answer(parts.model, parts.tokenizer, asked.tensors, 4)
    assert len(answer) > 1
    forced = forced_answer(parts.model, asked.tensors, answer, **how)
    own = (
        0 if parts.model.generation_config.forced_bos_token_id is None else 1
    )  # Florence-2's first is no choice
    np.testing.assert_array_equal(forced.best[own:, 0], answer[own:])
    for row, stepwise in zip(forced.rows, tap.captured, strict=False):  # it may have said an end mark, too
        assert row.position == stepwise.position
        np.testing.assert_allclose(row.weights, stepwise.weights, atol=1e-6)
        np.testing.assert_allclose(row.sink_share, stepwise.sink_share, atol=1e-6)
        seen = stepwise.text_weights.shape[-1]
        np.testing.assert_allclose(row.text_weights[..., :seen], stepwise.text_weights, atol=1e-6)
        assert np.all(row.text_weights[..., seen:] == 0)


@pytest.mark.parametrize("method", ["interface", "eager"])
def test_V5_an_encoder_decoder_reads_a_given_answer_over_its_encoders_keys(method):
    model, ids = tiny.bart(), tiny.prompt(9)
    mask = torch.ones_like(ids)
    mask[:, 7:] = 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    with AttentionTap(model, kind="cross") as tap:
        answer = model.generate(**inputs, max_new_tokens=4, do_sample=False)[0, 1:].tolist()
    forced = forced_answer(model, inputs, answer, kind="cross", method=method)
    assert len(forced.rows) == len(answer) > 1
    for row, stepwise in zip(forced.rows, tap.captured, strict=True):
        np.testing.assert_allclose(row.weights, stepwise.weights, atol=1e-6)


def test_chosen_layers_and_heads_and_rows_as_they_come():
    model, seen = tiny.llama(), []
    inputs = {"input_ids": tiny.prompt(5)}
    forced = forced_answer(model, inputs, [7, 9], layers=[1], heads=[0, 2], on_row=seen.append)
    assert [row.weights.shape for row in forced.rows] == [(1, 2, 6), (1, 2, 6)]
    assert tuple(seen) == forced.rows


def test_V5_a_given_answer_is_traced_as_a_said_one(tmp_path):
    model = open_model(str(tiny_checkpoints.qwen_folder(tmp_path)))
    picture = Picture.from_rgb(np.random.default_rng(1).integers(0, 255, (90, 130, 3), np.uint8))
    said = model.trace(picture, "What is April?", 2)
    given = forced_trace(model, picture, "What is April?", "April May ?")
    assert given.answer == "April May ?"
    assert [text.strip() for text in given.tokens] == ["April", "May", "?"]
    assert given.note.endswith("The answer was given, not generated.")
    # The look that leads to the first token knows nothing of the answer yet.
    np.testing.assert_allclose(given.weights[0], said.weights[0], atol=1e-3)
    np.testing.assert_allclose(given.text_share[0], said.text_share[0], atol=1e-5)
    assert [text for text, _ in given.top[0][:3]] == [text for text, _ in said.top[0][:3]]
    whole = given.weights.sum((-2, -1), dtype=np.float32) + given.text_share + given.sink_share
    np.testing.assert_allclose(whole, 1, atol=0.01)


def test_an_answer_without_tokens_is_refused():
    with pytest.raises(AttentionError, match="answer without tokens"):
        forced_answer(tiny.llama(), {"input_ids": tiny.prompt(5)}, [])
