"""Odd pictures, hostile questions and the doctor, on tiny checkpoints of the LLaVA and Qwen-VL families."""

import numpy as np
import pytest
import tiny_llava
import tiny_qwen
from corners import check_token_count, grey
from equality import QUESTION

from gazelab.attention.base import open_model
from gazelab.attention.doctor import check_model
from gazelab.attention.prompt import special_tokens
from gazelab.core.errors import AttentionError

FOLDERS = {
    "llava": tiny_llava.llava_folder,
    "llava padded": lambda folder: tiny_llava.llava_folder(folder, tiny_llava.padding_processor()),
    "llava_next": tiny_llava.next_folder,
    "llava_onevision": tiny_llava.onevision_folder,
    "qwen2_vl": lambda folder: tiny_qwen.qwen_folder(folder, "qwen2_vl"),
    "qwen3_vl": lambda folder: tiny_qwen.qwen_folder(folder, "qwen3_vl"),
}


@pytest.fixture(scope="module", params=list(FOLDERS))
def model(request, tmp_path_factory):
    return open_model(str(FOLDERS[request.param](tmp_path_factory.mktemp("odd"))))


@pytest.mark.parametrize(
    ("width", "height"), [(1, 1), (2, 1), (20, 20), (31, 639), (1093, 6), (6, 1093), (3000, 40), (90, 3)]
)
def test_V8_tiny_and_long_pictures_are_read(model, width, height):
    layout = check_token_count(model, width, height)
    for view in layout.views:
        assert (np.diff(view.grid.x_edges_px) > 0).all()
        assert view.grid.inside().sum() > 0


def test_V8_a_picture_of_one_px_is_answered(model):
    assert model.trace(grey(1, 1), QUESTION, 2).weights.shape[0] > 0


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "qwen3_vl"])
def test_V8_a_picture_too_long_for_the_processor_is_one_message(name, tmp_path):
    with pytest.raises(AttentionError, match="1093 x 5 px"):
        open_model(str(FOLDERS[name](tmp_path))).trace(grey(1093, 5), QUESTION, 1)


def test_V14_every_special_token_in_a_question_is_broken_up(model):
    tokenizer, picture = model.checkpoint.tokenizer, grey(120, 80)
    specials = special_tokens(tokenizer)
    marks = set(tokenizer.convert_tokens_to_ids(list(specials))) - {tokenizer.unk_token_id}
    plain, hostile = (model.ask(picture, text) for text in (QUESTION, f"{QUESTION} {' '.join(specials)}"))
    count = [sum(i in marks for i in asked.tensors["input_ids"][0].tolist()) for asked in (plain, hostile)]
    assert count[0] == count[1] > 0
    for one, two in zip(plain.columns, hostile.columns, strict=True):
        np.testing.assert_array_equal(one, two)


def test_V15_the_processors_class_is_stored(model):
    made_with = model.head(grey(120, 80), QUESTION).made_with
    assert made_with["processor"] == type(model.checkpoint.image_processor).__name__
    assert made_with["processor"].endswith("Pil")


@pytest.mark.parametrize("name", ["llava", "llava padded", "llava_onevision", "qwen3_vl"])
def test_the_doctor_passes(name, tmp_path):
    report = check_model(str(FOLDERS[name](tmp_path)))
    assert len(report) > 8
    assert [line for line in report if not line.ok] == []
