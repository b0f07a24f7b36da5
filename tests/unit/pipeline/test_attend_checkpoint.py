"""What only a checkpoint can do: read a given answer, and tell what a patch looks at."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gazelab.attention.base import open_model
from gazelab.attention.given import given_answer, patch_look
from gazelab.attention.trace_store import load_trace
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture, load_picture
from gazelab.pipeline.attend import attend
from gazelab.pipeline.attend_patch import patch_sheet, write_patch_sheet
from gazelab.pipeline.attend_pictures import FRAME_RGB, framed_patch
from gazelab.pipeline.map_choice import MapChoice

sys.path.append(str(Path(__file__).resolve().parents[1] / "attention"))

import tiny_checkpoints

CHART = Picture.from_rgb(np.random.default_rng(2).integers(0, 255, (112, 140, 3), np.uint8))
QUESTION = "What is the value of April?"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return open_model(str(tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("tiny"))))


def test_a_given_answer_is_mapped_beside_the_models_own_which_stays(tmp_path, model):
    own = attend(model, CHART, QUESTION, tmp_path, MapChoice(), 3)
    given = attend(model, CHART, QUESTION, tmp_path, MapChoice(), 3, answer="April is value")
    assert given.trace.answer == "April is value"
    assert "given, not generated" in given.told[0]
    assert given.files[0].parent != own.files[0].parent == tmp_path
    assert load_trace(own.files[0]).answer == own.trace.answer


def test_the_models_own_answer_given_back_gives_the_same_look(model):
    own = model.trace(CHART, QUESTION, 3)
    given = given_answer(model, CHART, QUESTION, "".join(own.tokens))
    if given.token_ids == own.token_ids:  # else the words are cut into other tokens
        np.testing.assert_allclose(given.weights, own.weights, atol=1e-3)
    assert given.picture_sha256 == own.picture_sha256


def test_a_patchs_look_is_drawn_with_the_patch_framed(tmp_path, model):
    done = attend(model, CHART, QUESTION, tmp_path, MapChoice(), 1)
    sheet = patch_sheet(model, CHART, QUESTION, (1, 2))
    path = write_patch_sheet(sheet, (1, 2), done.files[0])
    assert path.name.endswith("_patch_1_2.png")
    sheet = load_picture(path).rgb
    assert (sheet == FRAME_RGB).all(-1).any()


def test_the_frame_lies_round_the_patch_and_not_on_it():
    grid = PatchGrid.stretched(3, 4, 80, 60)
    framed = framed_patch(np.full((60, 80, 3), 255, np.uint8), grid, 1, 2)
    assert (framed[20:40, 40:60] == 255).all()
    assert (framed[18, 38:62] == FRAME_RGB).all()
    assert (framed[:16] == 255).all()


def test_the_embedded_model_and_an_absent_patch_are_told():
    reader = open_model("chartreader")
    with pytest.raises(AttentionError, match="only a checkpoint can be given an answer"):
        given_answer(reader, CHART, "?", "4")
    with pytest.raises(AttentionError, match="only a checkpoint can be asked what a patch"):
        patch_look(reader, CHART, "?", 0, 0)


def test_a_patch_outside_the_grid_is_told(model):
    with pytest.raises(AttentionError, match="patch 99, 0 is outside the grid of 4 x 5"):
        patch_look(model, CHART, QUESTION, 99, 0)
