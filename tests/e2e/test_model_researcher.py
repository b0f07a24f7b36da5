"""A researcher asks where a model looks: the embedded one, and a checkpoint of her own in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gazelab.attention.trace_store import load_trace
from gazelab.charts.shipped import load_charts
from gazelab.core.picture import load_picture
from tests.unit.attention.tiny_checkpoints import qwen_folder

from .program import Finished, gazelab

CHART = load_charts()[0]
QUESTION = "What is the value of April ?"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen2.5-VL of 0.1 M random parameters: its answers mean nothing, its shapes and sums do."""
    return qwen_folder(tmp_path_factory.mktemp("checkpoint") / "tiny-qwen")


def wrote(done: Finished) -> dict[str, Path]:
    """The files that it said it wrote, by kind."""
    paths = [Path(line.removeprefix("Wrote ")) for line in done.out.splitlines() if line.startswith("Wrote ")]
    return {path.stem.rsplit("_", 1)[1] if path.suffix == ".png" else path.suffix: path for path in paths}


def tokens_told(done: Finished) -> list[str]:
    return [line for line in done.out.splitlines() if " on the picture " in line]


def test_the_embedded_model_answers_and_shows_where_it_looked(tmp_path):
    done = gazelab("attend", CHART.source, "--question", CHART.question, "--out", tmp_path)
    done.worked()
    files = wrote(done)
    trace = load_trace(files[".safetensors"])
    assert "chartreader" in trace.model_id
    assert trace.prompt == CHART.question
    assert trace.picture_sha256 == CHART.picture().sha256
    assert len(tokens_told(done)) == len(trace.tokens)
    assert f"Answer: {trace.answer}\n" in done.out
    whole = trace.weights.astype(float).sum((-2, -1)) + trace.text_share + trace.sink_share
    np.testing.assert_allclose(whole, 1, atol=0.01)
    heat = load_picture(files["answer"])
    shown = CHART.picture()
    assert heat.rgb.shape == shown.rgb.shape
    assert (heat.rgb != shown.rgb).any()


def test_layers_heads_and_sinks_can_be_chosen(tmp_path):
    heats = []
    for name, chosen in (("all", ()), ("one", ("--layers", "-1", "--heads", "0", "--sinks", "drop"))):
        done = gazelab(
            "attend", CHART.source, "--question", CHART.question, "--out", tmp_path / name, *chosen
        )
        done.worked()
        heats.append(load_picture(wrote(done)["answer"]).rgb)
    assert (heats[0] != heats[1]).any()


@pytest.mark.parametrize(
    ("option", "value", "named"),
    [("--layers", "first", "'first'"), ("--layers", "99", "99"), ("--heads", "0,x", "'0,x'")],
)
def test_a_layer_that_is_not_there(tmp_path, option, value, named):
    sentence = gazelab(
        "attend", CHART.source, "--question", "What?", option, value, "--out", tmp_path / "out"
    ).refusal()
    assert named in sentence


@pytest.mark.slow
def test_a_checkpoint_in_a_folder_answers_through_the_tap(tmp_path, checkpoint):
    done = gazelab(
        *("attend", CHART.source, "--question", QUESTION, "--model", checkpoint, "--max-tokens", "3"),
        *("--layers", "0,1", "--out", tmp_path),
    )
    done.worked()
    trace = load_trace(wrote(done)[".safetensors"])
    assert len(tokens_told(done)) == len(trace.tokens) <= 3
    picture = CHART.picture()
    n_layers, n_heads = 2, 4
    cell_px = 28  # patches of 14 px, merged two by two
    rows, cols = round(picture.height_px / cell_px), round(picture.width_px / cell_px)
    assert trace.weights.shape == (len(trace.tokens), n_layers, n_heads, rows, cols)
    whole = trace.weights.astype(float).sum((-2, -1)) + trace.text_share + trace.sink_share
    np.testing.assert_allclose(whole, 1, atol=0.01)


@pytest.mark.slow
def test_the_doctor_proves_the_checkpoint_on_this_machine(tmp_path, checkpoint):
    done = gazelab("doctor", "--model", checkpoint, "--json", "--data", tmp_path)
    told = json.loads(done.worked())
    checks = {row["check"]: row for row in told["checks"]}
    assert told["ok"]
    for name in ("face model", "chart reader", "answers", "tap = eager", "same answer without the tap"):
        assert checks[name]["ok"], checks[name]
    assert sum(name.startswith("token count") for name in checks) >= 2
    corners = [row for name, row in checks.items() if name.startswith("corners")]
    assert corners
    assert all("changed the token of their own patch" in row["detail"] for row in corners)


def test_the_doctor_says_what_is_wrong_with_a_folder(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    done = gazelab("doctor", "--model", tmp_path, "--data", tmp_path)
    assert done.code == 1
    assert "Traceback" not in done.err
    (wrong,) = (line for line in done.out.splitlines() if line.startswith("FAIL"))
    assert str(tmp_path) in wrong


@pytest.mark.slow
def test_V14_a_special_token_in_the_question_is_read_as_text(tmp_path, checkpoint):
    question = "What is the value of <|image_pad|> ?"
    done = gazelab(
        *(
            "attend",
            CHART.source,
            "--question",
            question,
            "--model",
            checkpoint,
            "--max-tokens",
            "1",
            "--out",
            tmp_path,
        )
    )
    done.worked()
    trace = load_trace(wrote(done)[".safetensors"])
    assert trace.prompt == question
    assert len(trace.tokens) == 1
