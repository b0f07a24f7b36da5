from dataclasses import replace

import numpy as np
import pytest
import tiny_checkpoints
import torch

from gazelab.attention import doctor
from gazelab.attention.base import open_model
from gazelab.attention.doctor import check_model
from gazelab.attention.grids.layout import Layout, PatchView
from gazelab.core.geometry import PatchGrid


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture(autouse=True)
def _small_pictures(monkeypatch):
    monkeypatch.setattr(doctor, "SIZES_PX", ((140, 100), (90, 90), (150, 60), (60, 150)))


def failed(checks):
    return [check.check for check in checks if not check.ok]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_sound_checkpoint_passes_every_check(folder, dtype):
    checks = check_model(str(folder), dtype=dtype)
    assert failed(checks) == []
    named = [check.check for check in checks]
    assert named[:5] == ["opens", "sub-models", "answers", "tap = eager", "same answer without the tap"]
    assert "token count, 150 x 60 px" in named
    assert "corners, 140 x 100 px" in named


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

    def shifted(model, rows, kind, method):
        return real(model, rows=slice(-5, -1) if method == "interface" else rows, kind=kind, method=method)

    monkeypatch.setattr(doctor, "AttentionTap", shifted)
    assert failed(check_model(str(folder))) == ["tap = eager"]


def test_a_model_that_does_not_open_is_one_line(tmp_path):
    (check,) = check_model(str(tmp_path))
    assert (check.check, check.ok) == ("opens", False)
    assert "config.json" in check.detail


def test_an_edit_outside_the_grid_must_change_nothing_and_one_inside_its_token():
    layout = Layout.whole(PatchGrid(np.array([0.0, 10, 20]), np.array([0.0, 10]), 30, 10), "20 x 10")
    assert doctor._misplaced(layout, 0, 1, np.array([0.1, 0.2])) == ""
    assert doctor._misplaced(layout, 0, 0, np.array([0.1, 0.2])) == "changes token 1, not 0"
    assert doctor._misplaced(layout, 0, 0, np.zeros(2)) == "changes nothing, not even token 0"
    assert doctor._misplaced(layout, 0, -1, np.zeros(2)) == ""
    assert "no cell is there" in doctor._misplaced(layout, 0, -1, np.array([0.1, 0.0]))
