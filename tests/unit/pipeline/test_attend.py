from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gazelab.attention.base import open_model
from gazelab.attention.causal import CheckPlan
from gazelab.attention.trace_store import load_trace
from gazelab.charts.synthetic import draw_chart
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture, load_picture
from gazelab.pipeline import attend as attend_module
from gazelab.pipeline import attend_pictures
from gazelab.pipeline.attend import attend, memory_line
from gazelab.pipeline.attend_pictures import contact_sheet, overlay, unseen
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
    trace, description, _, heat, layers = done.files
    assert load_trace(trace).prompt == "How high?"
    assert json.loads(description.read_text(encoding="utf-8"))["answer"] == "12"
    assert load_picture(heat).width_px == 40
    assert layers.name.endswith("_layers.png")


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
    (tmp_path / "second" / f"{trace.stem}_layers.png").mkdir(parents=True)
    with pytest.raises(AttentionError, match=r"_layers\.png: it cannot be written"):
        attend(FixedModel(0, 3), WHITE, "?", tmp_path / "second", MapChoice(), 8)
    assert load_trace(tmp_path / "second" / trace.name).answer == "12"


def test_a_longer_answer_has_a_picture_of_each_token(tmp_path):
    class TwoTokens(FixedModel):
        def stream(self, picture, question, max_tokens=8):
            yield from super().stream(picture, question)
            yield from super().stream(picture, question)

    done = attend(TwoTokens(0, 3), WHITE, "?", tmp_path, MapChoice(), 8)
    drawn = [path.stem.rsplit("_", 1)[1] for path in done.files if path.suffix == ".png"]
    assert drawn == ["answer", "token00", "token01", "layers"]
    attend(FixedModel(0, 3), WHITE, "?", tmp_path, MapChoice(), 8)
    left = sorted(path.stem.rsplit("_", 1)[1] for path in tmp_path.glob("*.png"))
    assert left == ["answer", "layers"]


def test_each_picture_is_written_before_the_next_is_drawn(tmp_path, monkeypatch):
    class TwoTokens(FixedModel):
        def stream(self, picture, question, max_tokens=8):
            yield from super().stream(picture, question)
            yield from super().stream(picture, question)

    there = []

    def watched(*given):
        there.append(len(list(tmp_path.glob("*.png"))))
        return overlay(*given)

    monkeypatch.setattr(attend_module, "overlay", watched)
    attend(TwoTokens(0, 3), WHITE, "?", tmp_path, MapChoice(), 8)
    assert there == [0, 1, 2]


def test_a_tall_picture_drawn_in_bands_is_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    tall = Picture.from_rgb(rng.integers(0, 255, (attend_pictures.BAND_PX * 2 + 77, 31, 3), np.uint8))
    edges = np.linspace(40.0, tall.height_px - 60, 6)
    made = AttentionMap(rng.random((5, 2)), PatchGrid(np.array([3.0, 15, 28]), edges, 31, tall.height_px))
    banded = overlay(tall, made)
    monkeypatch.setattr(attend_pictures, "BAND_PX", tall.height_px)
    np.testing.assert_array_equal(overlay(tall, made), banded)


def test_V11_what_the_model_cannot_see_is_striped_and_the_rest_is_not():
    grid = PatchGrid(np.array([10.0, 20, 30]), np.array([0.0, 30]), 40, 30)
    hidden = unseen(grid, 30, 40)
    assert hidden[:, :10].all()
    assert hidden[:, 30:].all()
    assert not hidden[:, 10:30].any()
    drawn = overlay(WHITE, AttentionMap(np.array([[0.0, 0.0]]), grid))
    assert (drawn[:, 10:30] == 255).all()
    assert 0.3 < (drawn[:, :10] != 255).mean() < 0.7


def test_the_sheet_has_a_map_for_each_chosen_layer(tmp_path):
    weights = np.zeros((1, 3, 2, 3, 4))
    for layer in range(3):
        weights[0, layer, :, layer, 1] = 0.5  # layer n looks at row n
    rest = np.full((1, 3, 2), 0.5, np.float32)
    grid = PatchGrid.stretched(3, 4, 40, 30)
    half = weights.astype(np.float16)
    made = AttentionTrace("m", "r", "s", "?", ("12",), grid, half, (2, 4, 6), rest, 0 * rest)
    sheet = contact_sheet(WHITE, made, MapChoice())
    one = contact_sheet(WHITE, made, MapChoice(layers=(-1,)))
    assert sheet.shape[0] == one.shape[0]
    assert sheet.shape[1] == 10 + 3 * 50  # three cells of 40 px and gaps of 10
    assert one.shape[1] == 10 + 50
    heated = [(sheet[30:60, 10 + 50 * k : 50 + 50 * k] != 255).any(-1).any(1) for k in range(3)]
    for layer, rows in enumerate(heated):
        assert np.flatnonzero(rows).tolist() == list(range(10 * layer, 10 * layer + 10))


@pytest.fixture(scope="module")
def reader():
    return open_model("chartreader")


CHART = Picture.from_rgb(draw_chart(np.random.default_rng(5)).picture)


def test_a_method_that_needs_the_model_gets_it(tmp_path, reader):
    done = attend(reader, CHART, "How many bars?", tmp_path, MapChoice("relevance"), 2)
    assert done.map.how["method"] == "relevance"
    assert [path.stem.rsplit("_", 1)[1] for path in done.files if path.suffix == ".png"] == [
        "answer",
        "layers",
    ]


def test_the_check_is_told_in_a_sentence_and_kept(tmp_path, reader):
    counted = []
    done = attend(
        reader,
        CHART,
        "How many bars?",
        tmp_path,
        MapChoice(),
        2,
        check=CheckPlan.quick(),
        on_pass=lambda *told: counted.append(told),
    )
    assert done.told[-1].startswith("Blanking the ")
    *_, kept, drawn = done.files
    assert json.loads(kept.read_text(encoding="utf-8"))["sentence"] == done.told[-1]
    assert load_picture(drawn).width_px > 100
    assert counted[-1][0] == counted[-1][1] == CheckPlan.quick().n_passes


def test_how_the_map_was_made_is_kept_beside_its_picture(tmp_path):
    done = attend(FixedModel(0, 3), WHITE, "?", tmp_path, MapChoice(sinks="drop", layers=(-1,)), 8)
    (file,) = [path for path in done.files if path.name.endswith("_map.json")]
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["how"] == json.loads(json.dumps(done.map.how))
    assert {"method", "layers", "heads", "tokens", "sinks", "sink_patches", "view"} <= set(kept["how"])
    assert kept["picture_share"] == pytest.approx(done.map.picture_share)
    np.testing.assert_array_equal(kept["values"], done.map.values)
    np.testing.assert_array_equal(kept["x_edges_px"], done.map.grid.x_edges_px)
    assert done.told[-1].startswith("Map: mean, ")
    assert "sinks dropped" in done.told[-1]


def test_an_empty_map_is_kept_as_nothing_and_why(tmp_path):
    class Elsewhere(FixedModel):
        def stream(self, picture, question, max_tokens=8):
            for step in super().stream(picture, question):
                yield replace(step, weights=0 * step.weights, text_share=step.text_share * 0 + 1)

    done = attend(Elsewhere(0, 3), WHITE, "?", tmp_path, MapChoice(), 8)
    kept = json.loads(next(tmp_path.glob("*_map.json")).read_text(encoding="utf-8"))
    assert kept["values"] is None
    assert kept["how"]["empty"] in done.told[-1]


def test_what_an_earlier_run_found_does_not_stay_beside_another_map(tmp_path):
    trace = attend(FixedModel(0, 3), WHITE, "?", tmp_path, MapChoice(), 8).files[0]
    trace.with_name(f"{trace.stem}_check.json").write_text("{}")
    attend(FixedModel(0, 3), WHITE, "?", tmp_path, MapChoice("max"), 8)
    assert not list(tmp_path.glob("*_check.json"))


def test_a_view_that_is_not_there_is_refused_before_the_model_runs(tmp_path):
    told: list[str] = []
    with pytest.raises(AttentionError, match='there is no view "tiles"'):
        attend(
            FixedModel(0, 3), WHITE, "?", tmp_path, MapChoice(view="tiles"), 8, lambda s: told.append(s.text)
        )
    assert told == []


def test_no_answer_is_told_as_that(tmp_path):
    class Silent(FixedModel):
        def stream(self, picture, question, max_tokens=8):
            yield from ()

        def answer_text(self, steps):
            return ""

    with pytest.raises(AttentionError, match="ended its answer at once"):
        attend(Silent(0, 3), WHITE, "?", tmp_path, MapChoice(), 8)
    assert not list(tmp_path.iterdir())


def test_memory_is_told_of_what_can_tell_it(reader):
    assert memory_line(reader, CHART, "?", 4) is None

    class Needs:
        fits = False

        def text(self):
            return "needs about 40 GB"

        def refuse_if_too_large(self, name):
            raise AttentionError(f"no room: it {self.text()}", where=name)

    reader_with_memory = SimpleNamespace(model_id="m", memory=lambda *_: Needs())
    with pytest.raises(AttentionError, match="m: no room: it needs about 40 GB"):
        memory_line(reader_with_memory, CHART, "?", 4)
