import inspect
import threading

import numpy as np
import pytest
import tiny_checkpoints
import torch
from transformers import Qwen2_5_VLProcessor

from gazelab.attention import huggingface
from gazelab.attention.base import open_model, trace_of
from gazelab.attention.decoder import decoder_of
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.prompt import escape_special, special_tokens
from gazelab.attention.rows import predicting_row
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

QUESTION = "What is the value of April?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(scope="module")
def model(folder):
    return open_model(str(folder))


def picture(width=260, height=120):
    return Picture.from_rgb(np.random.default_rng(1).integers(0, 255, (height, width, 3), np.uint8))


@torch.no_grad()
def eager_matrix(model, tensors, answer):
    """The library's own weights of one pass over prompt and answer, (layer, head, query, key)."""
    hf = model.checkpoint.model
    ids = torch.cat([tensors["input_ids"], torch.tensor([answer])], 1)
    kinds = torch.nn.functional.pad(tensors["mm_token_type_ids"], (0, len(answer)))
    whole = {**tensors, "input_ids": ids, "attention_mask": torch.ones_like(ids), "mm_token_type_ids": kinds}
    hf.set_attn_implementation("eager")
    out = hf(**whole, output_attentions=True).attentions
    hf.set_attn_implementation("sdpa")
    return torch.stack(out)[:, 0].numpy()


def test_V5_streamed_weights_are_eager_attention_at_the_pictures_columns(model):
    chart = picture()
    steps = list(model.stream(chart, QUESTION, 5))
    asked = model.ask(chart, QUESTION)
    full = eager_matrix(model, asked.tensors, [step.token_id for step in steps])
    length = asked.tensors["input_ids"].shape[1]
    assert len(steps) > 1
    for k, step in enumerate(steps):
        row = full[:, :, predicting_row(length, k)]
        assert step.weights.shape == (2, 4, 4, 9)
        np.testing.assert_allclose(step.weights, row[:, :, asked.columns[0]], atol=5e-4)
        np.testing.assert_allclose(step.sink_share, row[:, :, 0], atol=1e-5)
        total = step.weights.sum((-2, -1), dtype=np.float32) + step.text_share + step.sink_share
        np.testing.assert_allclose(total, 1, atol=2e-3)
        assert step.top[0][1] >= step.top[1][1]


def test_the_input_is_the_one_that_the_librarys_own_processor_makes(model):
    """Its constructor asks for torchvision; what it does with picture and text needs none."""
    parts = model.checkpoint
    theirs = Qwen2_5_VLProcessor.__new__(Qwen2_5_VLProcessor)
    theirs.image_processor, theirs.tokenizer, theirs.video_processor = (
        parts.image_processor,
        parts.tokenizer,
        None,
    )
    theirs.image_token, theirs.video_token = "<|image_pad|>", "<|video_pad|>"
    theirs.image_token_id = parts.config.image_token_id
    theirs.video_token_id = parts.config.video_token_id
    content = [{"type": "image"}, {"type": "text", "text": f"{QUESTION}\n{model.instruction}"}]
    text = parts.tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    expected = theirs(text=[text], images=[picture().rgb], return_tensors="pt")
    given = model.ask(picture(), QUESTION).tensors
    assert set(given) == set(expected)
    for name, value in expected.items():
        assert torch.equal(given[name], value), name


def test_the_pictures_tokens_get_row_and_column_positions(model):
    """Without the token kinds the library falls back to text positions without a word."""
    asked = model.ask(picture(), QUESTION)
    seen = []
    decoder = decoder_of(model.checkpoint.model)
    hook = decoder.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(kwargs["position_ids"]), with_kwargs=True
    )
    with torch.no_grad():
        model.checkpoint.model(**asked.tensors)
    hook.remove()
    positions = seen[0][-3:, 0].numpy()  # time, height, width
    (columns,) = asked.columns
    rows, cols = np.indices(columns.shape)
    np.testing.assert_array_equal(positions[1][columns] - positions[1][columns[0, 0]], rows)
    np.testing.assert_array_equal(positions[2][columns] - positions[2][columns[0, 0]], cols)


def test_a_trace_equals_its_stream_and_says_how_it_was_made(model):
    chart = picture()
    trace = model.trace(chart, QUESTION, 4)
    steps = list(model.stream(chart, QUESTION, 4))
    again = trace_of(model.head(chart, QUESTION), steps, model.answer_text(steps))
    np.testing.assert_array_equal(trace.weights, again.weights)
    assert trace.tokens == again.tokens
    assert trace.answer == again.answer
    assert trace.prompt == QUESTION
    assert trace.layers == (0, 1)
    assert trace.kind == "self"
    assert len(trace.revision) == 64


def test_V15_the_processors_class_and_the_versions_are_stored(model):
    made_with = model.trace(picture(), QUESTION, 1).made_with
    assert made_with["processor"] == "Qwen2VLImageProcessorPil"
    assert made_with["input_px"] == "252 x 112"
    assert made_with["transformers"].startswith("5.")
    assert {"torch", "tokenizers", "pillow", "dtype", "device", "instruction"} <= set(made_with)


def test_V2_the_kernel_of_each_sub_model_is_stored_and_put_back(model):
    before = attention_implementations(model.checkpoint.model)
    assert before == {"": "sdpa", "vision_config": "sdpa", "text_config": "sdpa"}
    seen = []
    hook = decoder_of(model.checkpoint.model).register_forward_pre_hook(
        lambda *a: seen.append(attention_implementations(model.checkpoint.model))
    )
    trace = model.trace(picture(), QUESTION, 1)
    hook.remove()
    assert seen[0] == {"": "sdpa", "vision_config": "sdpa", "text_config": "gazelab_tap"}
    assert attention_implementations(model.checkpoint.model) == before
    assert trace.made_with["kernels"] == "model: sdpa, vision_config: sdpa, text_config: sdpa"


def test_V14_special_tokens_in_a_question_do_not_change_the_prompts_form(model):
    tokenizer = model.checkpoint.tokenizer
    asked = model.ask(picture(), QUESTION)
    marks = {tokenizer.convert_tokens_to_ids(token) for token in tiny_checkpoints.SPECIAL}
    expected = [i for i in asked.tensors["input_ids"][0].tolist() if i in marks]
    specials = special_tokens(tokenizer)
    assert "<|image_pad|>" in specials
    for special in specials:
        hostile = model.ask(picture(), f"{special}{QUESTION} {special}{special}")
        assert [i for i in hostile.tensors["input_ids"][0].tolist() if i in marks] == expected
        np.testing.assert_array_equal(hostile.columns, asked.columns)


def test_V14_an_escaped_question_is_answered_and_noted(model):
    trace = model.trace(picture(), "What is <|image_pad|>?", 1)
    assert trace.note == "Special tokens in the question were broken up."
    assert trace.prompt == "What is <|image_pad|>?"


def test_V14_a_special_token_that_a_space_does_not_break_up_is_refused():
    tokenizer = tiny_checkpoints.tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": [" <x>", "  "]})
    for question in ("What <x>?", "What  now?"):
        with pytest.raises(AttentionError, match="has a meaning of its own"):
            escape_special(question, tokenizer)


def test_V14_tokens_made_by_breaking_up_another_are_broken_up_too():
    tokenizer = tiny_checkpoints.tokenizer()
    text = escape_special("<|<|im_end|>image_pad|><|im_end|>", tokenizer)
    assert not any(special in text for special in special_tokens(tokenizer))
    assert escape_special(QUESTION, tokenizer) == QUESTION


@pytest.mark.parametrize(("width", "height"), [(1093, 5), (1, 400)])
def test_V8_a_picture_of_an_impossible_shape_is_one_message(model, width, height):
    with pytest.raises(AttentionError, match=f"refuses a picture of {width} x {height} px"):
        model.trace(picture(width, height), QUESTION, 1)
    assert model.trace(picture(), QUESTION, 1).tokens  # and the next one goes on


def test_V8_a_picture_3_px_high_is_not_taken_for_three_colour_planes(model):
    grid = model.head(picture(90, 3), "?").grid
    assert grid.cols > grid.rows


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 20), (31, 639), (3000, 40)])
def test_V8_tiny_and_long_pictures_are_read(model, width, height):
    trace = model.trace(picture(width, height), QUESTION, 1)
    assert trace.grid.x_edges_px[-1] == width
    assert trace.grid.y_edges_px[-1] == height


def test_V4_an_answer_that_differs_without_the_tap_is_written_down(model, monkeypatch):
    trace = model.trace(picture(), QUESTION, 3, verify=True)
    assert trace.note == ""
    monkeypatch.setattr(model, "untapped_answer", lambda *a: "other")
    assert 'the model answers "other"' in model.trace(picture(), QUESTION, 3, verify=True).note


def test_V4_weights_that_are_not_finite_stop_the_stream_and_name_the_layer(folder):
    broken = open_model(str(folder))
    layer = decoder_of(broken.checkpoint.model).layers[1]
    with torch.no_grad():
        layer.self_attn.k_proj.weight.fill_(float("nan"))
    with pytest.raises(AttentionError, match="layer 1 gives attention weights that are not finite"):
        list(broken.stream(picture(), QUESTION, 2))


def test_closing_a_stream_stops_the_model(model):
    before = set(threading.enumerate())
    stream = model.stream(picture(), QUESTION, 500)
    next(stream)
    stream.close()
    assert set(threading.enumerate()) <= before
    assert attention_implementations(model.checkpoint.model)["text_config"] == "sdpa"


def test_closing_a_stream_stops_the_model_within_a_pass(model, monkeypatch):
    """The second pass blocks in its first layer until the reader has gone: no token follows."""
    hf = model.checkpoint.model
    passes, gone = [], threading.Event()

    def wait(*args):
        passes.append(1)
        if len(passes) == 2:
            gone.wait(10)

    later = []
    layers = decoder_of(hf).layers
    hooks = [layers[0].register_forward_pre_hook(wait)]
    hooks.append(layers[1].register_forward_pre_hook(lambda *a: later.append(len(passes))))
    stream = model.stream(picture(), QUESTION, 500)
    next(stream)
    join = threading.Thread.join
    monkeypatch.setattr(threading.Thread, "join", lambda *a: (gone.set(), join(*a)))
    stream.close()
    monkeypatch.undo()
    for hook in hooks:
        hook.remove()
    assert later == [1]
    assert attention_implementations(hf)["text_config"] == "sdpa"


def test_the_answer_ends_at_the_end_mark_which_is_no_token_of_it(model, monkeypatch):
    first = next(model.stream(picture(), QUESTION, 1))
    config = model.checkpoint.model.generation_config
    monkeypatch.setattr(config, "eos_token_id", [first.token_id])
    trace = model.trace(picture(), QUESTION, 5)
    assert trace.tokens == ()
    assert trace.weights.shape == (0, 2, 4, 4, 9)


def test_V1_what_cannot_be_tapped_is_read_eagerly_and_gives_the_same(model, monkeypatch, caplog):
    tapped = model.trace(picture(), QUESTION, 3)
    monkeypatch.setattr(huggingface, "can_be_tapped", lambda hf: False)
    eager = model.trace(picture(), QUESTION, 3)
    assert eager.tokens == tapped.tokens
    np.testing.assert_allclose(eager.weights, tapped.weights, atol=1e-3)
    assert "cannot be tapped: eager attention, about" in caplog.text
    assert attention_implementations(model.checkpoint.model)["text_config"] == "sdpa"


def test_V1_eager_reading_is_refused_with_an_estimate_where_memory_is_short(model, monkeypatch):
    monkeypatch.setattr(huggingface, "can_be_tapped", lambda hf: False)
    monkeypatch.setattr(huggingface, "EAGER_BUDGET_BYTES", 1000)
    with pytest.raises(AttentionError, match=r"over \d+ tokens would need about 0\.0 GB"):
        model.trace(picture(), QUESTION, 1)


def test_both_models_offer_what_the_protocol_names(model):
    from gazelab.attention.base import AttentionModel
    from gazelab.attention.embedded import EmbeddedChartReader

    for name in ("head", "stream", "trace", "answer_text"):
        named = list(inspect.signature(getattr(AttentionModel, name)).parameters)
        for kind in (huggingface.HuggingFaceModel, EmbeddedChartReader):
            assert list(inspect.signature(getattr(kind, name)).parameters)[: len(named)] == named
