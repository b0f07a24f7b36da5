from __future__ import annotations

import numpy as np
import pytest

from gazelab.attention.trace_store import load_trace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture, load_picture
from gazelab.pipeline.attend import attend, overlay
from gazelab.pipeline.map_choice import MapChoice

from .test_compare import FixedModel

WHITE = Picture.from_rgb(np.full((30, 40, 3), 255, np.uint8))


def test_it_tells_each_token_and_writes_trace_and_heat_map(tmp_path):
    told: list[str] = []
    done = attend(
        FixedModel(0, 3), WHITE, "How high?", tmp_path, MapChoice(), 8, lambda s: told.append(s.text)
    )
    assert told == ["12"]
    assert done.trace.answer == "12"
    trace, _description, heat = done.files
    assert load_trace(trace).prompt == "How high?"
    assert load_picture(heat).width_px == 40


@pytest.mark.parametrize(
    ("choice", "named"), [(MapChoice(layers=(9,)), "layer 9"), (MapChoice(heads=(-2,)), "head -2")]
)
def test_a_layer_or_head_that_is_not_there_is_refused_before_the_model_runs(tmp_path, choice, named):
    told: list[str] = []
    with pytest.raises(AttentionError, match=named):
        attend(FixedModel(0, 3), WHITE, "?", tmp_path, choice, 8, lambda s: told.append(s.text))
    assert told == []


def test_U3_the_heat_lies_on_the_cell_that_was_looked_at_and_nowhere_else(tmp_path):
    done = attend(FixedModel(0, 3), WHITE, "?", tmp_path, MapChoice(), 8)
    heated = (overlay(WHITE, done.map) != 255).any(-1)
    assert heated[:10, 30:].all()
    assert not heated[10:].any()
    assert not heated[:, :30].any()


def test_a_heat_map_that_cannot_be_written_is_said(tmp_path):
    trace = attend(FixedModel(0, 3), WHITE, "?", tmp_path / "first", MapChoice(), 8).files[0]
    (tmp_path / "second" / trace.with_suffix(".png").name).mkdir(parents=True)
    with pytest.raises(AttentionError, match="heat map cannot be written"):
        attend(FixedModel(0, 3), WHITE, "?", tmp_path / "second", MapChoice(), 8)
