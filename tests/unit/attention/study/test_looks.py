"""Looks into a tiny Qwen2.5-VL and into the embedded chart reader."""

import numpy as np
import pytest
import tiny_checkpoints
import torch

from gazelab.attention.base import open_model
from gazelab.attention.embedded import EmbeddedChartReader
from gazelab.attention.study.looks import position_picture, text_scores, text_study, token_cloud
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

QUESTION = "What is the value of April?"


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    return open_model(str(tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("checkpoint"))))


@pytest.fixture(scope="module")
def reader():
    return open_model("chartreader")


@pytest.fixture(scope="module")
def chart():
    return Picture.from_rgb(np.random.default_rng(1).integers(0, 255, (120, 260, 3), np.uint8))


@torch.no_grad()
def eager(model, asked, ids):
    """The library's own weights of one pass over the prompt and the answer but its last token."""
    hf = model.checkpoint.model
    whole = torch.cat([asked.tensors["input_ids"], torch.tensor([ids[:-1]])], 1)
    kinds = torch.nn.functional.pad(asked.tensors["mm_token_type_ids"], (0, len(ids) - 1))
    tensors = {**asked.tensors, "input_ids": whole, "attention_mask": torch.ones_like(whole)}
    hf.set_attn_implementation("eager")
    out = hf(**{**tensors, "mm_token_type_ids": kinds}, output_attentions=True).attentions
    hf.set_attn_implementation("sdpa")
    return torch.stack(out)[:, 0].numpy()


def test_the_words_look_is_the_librarys_own(qwen, chart):
    trace = qwen.trace(chart, QUESTION, 3)
    study = text_study(qwen, chart, trace)
    asked = qwen.ask(chart, QUESTION)
    full = eager(qwen, asked, trace.token_ids)
    text = np.setdiff1d(np.arange(full.shape[-1]), asked.columns[0])
    expected = full[:, :, text][..., text]
    np.testing.assert_allclose(study.weights, expected, atol=5e-4)
    np.testing.assert_allclose(study.weights.sum(-1, dtype=np.float32) + study.picture_share, 1, atol=5e-3)
    assert len(study.tokens) == len(text)
    assert study.n_prompt == len(trace.prompt_tokens)
    assert study.tokens[study.n_prompt :] == tuple(
        qwen.checkpoint.tokenizer.decode([i]) for i in trace.token_ids[:-1]
    )


def test_the_causal_mask_is_visible_no_word_sees_a_later_one(qwen, reader, chart):
    for model in (qwen, reader):
        study = text_study(model, chart, model.trace(chart, QUESTION, 3))
        later = np.triu(np.ones(study.weights.shape[-2:], bool), 1)
        assert (study.weights[..., later] == 0).all()
        assert (study.weights[..., ~later] >= 0).all()


def test_scores_before_the_softmax_give_the_weights_of_the_readers_words(reader, chart):
    trace = reader.trace(chart, QUESTION, 3)
    study = text_study(reader, chart, trace)
    scores = text_scores(reader, chart, trace, 1, 2)
    soft = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(soft / soft.sum(-1, keepdims=True), study.weights[1, 2], atol=2e-3)
    assert np.isneginf(scores[0, 1:]).all()


def test_scores_of_a_decoder_differ_from_its_weights_by_the_rows_constant(qwen, chart):
    trace = qwen.trace(chart, QUESTION, 3)
    study = text_study(qwen, chart, trace)
    scores = text_scores(qwen, chart, trace, 1, 3)
    weights = study.weights[1, 3].astype(float)
    compared = 0
    for row in range(len(weights)):
        seen = weights[row] > 1e-3  # float16 has few digits below
        constant = scores[row][seen] - np.log(weights[row][seen])
        assert np.ptp(constant) < 0.01 if seen.any() else True
        compared += int(seen.sum() > 1)
    assert compared > 3
    assert np.isneginf(scores[np.triu_indices(len(scores), 1)]).all()


def test_the_cloud_names_each_patch_once_and_each_word(qwen, chart):
    trace = qwen.trace(chart, QUESTION, 3)
    cloud = token_cloud(qwen, chart, trace)
    assert cloud.depths == ("input", "layer 0", "layer 1")
    patches = cloud.patch[cloud.patch[:, 0] >= 0]
    assert sorted(map(tuple, patches.tolist())) == list(np.ndindex(trace.grid.rows, trace.grid.cols))
    words = [text for text, at in zip(cloud.texts, cloud.patch, strict=True) if at[0] < 0]
    assert tuple(words[: len(trace.prompt_tokens)]) == trace.prompt_tokens
    assert cloud.points.shape == (3, len(cloud.texts), 3)
    assert np.isfinite(cloud.points).all()
    assert ((cloud.explained > 0) & (cloud.explained <= 1)).all()


def test_the_readers_cloud_has_its_cells_and_its_words(reader, chart):
    trace = reader.trace(chart, QUESTION, 3)
    cloud = token_cloud(reader, chart, trace)
    n = trace.grid.rows * trace.grid.cols
    assert (cloud.patch[:n, 0] >= 0).all()
    assert (cloud.patch[n:] == -1).all()
    assert {"value", "<answer>"} <= set(cloud.texts[n:])
    assert len(cloud.depths) == len(cloud.points) == 5


def test_a_cloud_can_be_stopped(qwen, chart):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        token_cloud(qwen, chart, qwen.trace(chart, QUESTION, 2), stop)


def test_position_encodings_are_named(qwen, reader):
    rotary = position_picture(qwen)
    assert rotary.name == "rotary"
    np.testing.assert_allclose(rotary.values[0], 1)  # cos 0
    np.testing.assert_allclose(rotary.values[3, 0], np.cos(3), atol=1e-6)  # the first pair turns by 1 a step
    learned = position_picture(reader)
    assert learned.name == "learned"
    assert learned.values.shape == (
        reader.reader.network.config.positions,
        reader.reader.network.config.width,
    )


def test_learned_and_relative_positions_are_found():
    import tiny_models
    from transformers import T5Config, T5ForConditionalGeneration

    from gazelab.attention.study.positions import position_picture as of_library

    assert of_library(tiny_models.bart()).name == "learned"
    config = T5Config(vocab_size=99, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4)
    assert of_library(T5ForConditionalGeneration(config)).values.shape == (32, 4)
    with pytest.raises(AttentionError, match="none that can be drawn"):
        of_library(tiny_models.bloom())


def test_without_an_answer_there_is_nothing_to_look_into(qwen, chart):
    with pytest.raises(AttentionError, match="no answer"):
        token_cloud(qwen, chart, _empty(qwen, chart))


def _empty(model, chart):
    from gazelab.attention.base import trace_of

    return trace_of(model.head(chart, QUESTION), [], "")


def test_another_model_is_refused(chart):
    class Other:
        model_id = "other"

    with pytest.raises(AttentionError, match=r"other.*cannot be looked into"):
        position_picture(Other())


def test_the_embedded_model_is_the_chart_reader(reader):
    assert isinstance(reader, EmbeddedChartReader)
