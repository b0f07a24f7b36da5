import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
import torch

from gazelab.attention import doctor
from gazelab.attention.base import open_model
from gazelab.attention.doctor import check_model
from gazelab.attention.doctor_corners import landed
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.core.geometry import PatchGrid

sys.path.append(str(Path(__file__).parent / "grids"))  # for `import tiny_llava`


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(autouse=True)
def _small_pictures(monkeypatch):
    monkeypatch.setattr(doctor, "SIZES_PX", ((140, 100), (150, 60)))
    monkeypatch.setattr(doctor, "ASKED_PX", (90, 90))


def failed(checks):
    return [check.check for check in checks if not check.ok]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_sound_checkpoint_passes_every_check(folder, dtype):
    checks = check_model(str(folder), dtype=dtype)
    assert failed(checks) == []
    details = {check.check: check.detail for check in checks}
    assert list(details) == [
        "opens",
        "sub-models",
        "template",
        "memory",
        "answers",
        "tap = eager",
        "same answer without the tap",
        "special tokens in a question",
        "token count, 140 x 100 px",
        "token count, 150 x 60 px",
        "corners, 140 x 100 px",
        "corners, 150 x 60 px",
    ]
    assert details["template"].startswith("chat_template.jinja ")
    assert "Qwen2VLImageProcessorPil" in details["template"]
    assert "needs about" in details["memory"]
    assert details["tap = eager"].startswith("4 tokens: ")
    assert details["token count, 150 x 60 px"] == "10 tokens made, 10 laid out, picture 2 x 5."
    assert details["corners, 140 x 100 px"] == (
        "picture 4 x 5: 5 marks changed the token of their own patch."
    )


def test_each_line_is_told_as_it_is_known(folder):
    told = []
    checks = check_model(str(folder), tell=told.append)
    assert told == checks
    assert len(checks) == 12


def test_a_grid_that_is_turned_is_found_by_the_corners(folder, monkeypatch):
    model = open_model(str(folder))
    true_layout = model.checkpoint.family.layout

    def turned(inputs, config, width, height):
        made = true_layout(inputs, config, width, height)
        view = PatchView("picture", made.grid, made.token[:, ::-1])
        return Layout((view,), made.n_tokens, made.input_px)

    monkeypatch.setattr(model.checkpoint, "family", replace(model.checkpoint.family, layout=turned))
    monkeypatch.setattr(doctor, "open_model", lambda *a, **k: model)
    checks = check_model("turned")
    assert failed(checks) == ["corners, 140 x 100 px", "corners, 150 x 60 px"]
    assert "changes token" in next(check.detail for check in checks if not check.ok)


def test_weights_that_are_not_finite_fail_with_the_layer_named(folder, monkeypatch):
    model = open_model(str(folder))
    monkeypatch.setattr(doctor, "open_model", lambda *a, **k: model)
    with torch.no_grad():
        model.checkpoint.model.model.language_model.layers[0].self_attn.q_proj.weight.fill_(float("nan"))
    checks = {check.check: check for check in check_model("broken")}
    assert not checks["answers"].ok
    assert "layer 0" in checks["answers"].detail
    assert checks["corners, 140 x 100 px"].ok


def test_a_tap_that_reads_other_rows_than_eager_is_found(folder, monkeypatch):
    real = doctor.AttentionTap

    def shifted(model, rows, method, **given):
        back = slice(rows.start - 1, None) if method == "interface" else rows
        return real(model, rows=back, method=method, **given)

    monkeypatch.setattr(doctor, "AttentionTap", shifted)
    assert failed(check_model(str(folder))) == ["tap = eager"]


def test_a_question_that_becomes_a_second_picture_is_found(folder, monkeypatch):
    """As it would, were special tokens not broken up."""
    monkeypatch.setattr("gazelab.attention.huggingface.escape_special", lambda text, tokenizer: text)
    checks = {check.check: check for check in check_model(str(folder))}
    assert failed(checks.values()) == ["special tokens in a question"]


def test_a_checkpoint_without_a_template_is_said(tmp_path):
    bare = tiny_checkpoints.qwen_folder(tmp_path)
    (bare / "chat_template.jinja").unlink()
    checks = {check.check: check for check in check_model(str(bare))}
    assert not checks["template"].ok
    assert "chat template" in checks["answers"].detail


def test_no_room_for_a_question_is_said(folder, monkeypatch):
    monkeypatch.setattr("gazelab.attention.memory.free_host_bytes", lambda: 1000)
    checks = {check.check: check for check in check_model(str(folder))}
    assert not checks["memory"].ok


def test_corners_that_a_model_does_not_see_are_reported(tmp_path):
    """LLaVA-1.5's processor cuts a wide picture's sides off."""
    import tiny_llava

    cropped = tiny_llava.llava_folder(tmp_path, tiny_llava.clip_processor(), tiny_llava.llava_config())
    checks = check_model(str(cropped))
    assert failed(checks) == []
    corners = checks[-1].detail
    assert "4 lie where the model does not see" in corners
    assert "1 marks changed the token of their own patch" in corners


def test_a_model_that_does_not_open_is_one_line(tmp_path):
    (check,) = check_model(str(tmp_path))
    assert (check.check, check.ok) == ("opens", False)
    assert "config.json" in check.detail


def test_an_edit_outside_the_grid_must_change_nothing_and_one_inside_its_token():
    grid = PatchGrid(np.array([0.0, 10, 20]), np.array([0.0, 10]), 30, 10)
    view = Layout.whole(grid, "20 x 10").views[0]
    inside, outside, beside = (2, 2, 8, 8), (24, 0, 30, 8), (20, 0, 23, 8)
    assert landed(view, inside, np.array([0.2, 0.1])) == ""
    assert landed(view, inside, np.array([0.1, 0.2])) == "(2, 2, 8, 8) px changes token 1, not 0"
    assert landed(view, inside, np.zeros(2)) == "(2, 2, 8, 8) px changes nothing"
    assert landed(view, outside, np.zeros(2)) is None
    assert "the grid says that it is not" in landed(view, outside, np.array([0.1, 0.0]))
    assert landed(view, beside, np.array([0.0, 0.1])) is None  # so near that a resize carries it over
