"""Pictures of odd shapes and questions with special tokens, put to the tiled and the squashed families."""

import numpy as np
import pytest
import tiny_gemma3
import tiny_idefics3
import tiny_internvl
import tiny_paligemma
from corners import check_token_count, grey
from equality import QUESTION

from gazelab.attention.base import open_model
from gazelab.attention.prompt import special_tokens

FOLDERS = {
    "gemma3": tiny_gemma3.gemma3_folder,
    "idefics3": tiny_idefics3.idefics3_folder,
    "internvl": tiny_internvl.internvl_folder,
    "paligemma": tiny_paligemma.paligemma_folder,
    "smolvlm": tiny_idefics3.smolvlm_folder,
}


@pytest.fixture(scope="module", params=sorted(FOLDERS))
def model(request, tmp_path_factory):
    return open_model(str(FOLDERS[request.param](tmp_path_factory.mktemp(request.param))))


@pytest.mark.parametrize(
    ("width", "height"),
    [(1, 1), (2, 1), (20, 20), (31, 639), (1093, 5), (5, 1093), (3000, 40), (90, 3), (1, 400)],
)
def test_V8_tiny_and_long_pictures_are_read_from_edge_to_edge(model, width, height):
    grid = check_token_count(model, width, height).grid
    for edges, length in ((grid.x_edges_px, width), (grid.y_edges_px, height)):
        assert (edges[0], edges[-1]) == (0, length)
        assert (np.diff(edges) > 0).all()


def test_V8_a_picture_of_one_px_is_answered(model):
    assert model.trace(grey(1, 1), QUESTION, 2).weights.shape[0] > 0


def test_V14_every_special_token_in_a_question_is_broken_up(model):
    tokenizer, picture = model.checkpoint.tokenizer, grey(120, 80)
    specials = special_tokens(tokenizer)
    marks = set(tokenizer.convert_tokens_to_ids(list(specials)))
    plain = model.ask(picture, QUESTION)
    hostile = model.ask(picture, f"{QUESTION} {' '.join(specials)}")
    count = [sum(i in marks for i in asked.tensors["input_ids"][0].tolist()) for asked in (plain, hostile)]
    assert count[0] == count[1] > 0
    for one, two in zip(plain.columns, hostile.columns, strict=True):
        np.testing.assert_array_equal(one, two)


def test_V15_the_processors_class_and_what_it_made_are_stored(model):
    made_with = model.head(grey(120, 80), QUESTION).made_with
    assert made_with["processor"] == type(model.checkpoint.image_processor).__name__
    assert made_with["processor"].endswith("Pil")
    assert "64" in made_with["input_px"]
