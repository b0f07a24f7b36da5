from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path

import pytest

import gazelab
from gazelab import config, settings
from gazelab.config import find_data_root, load_settings, parse_settings
from gazelab.core.errors import ConfigError
from gazelab.settings import Settings
from gazelab.sources.base import CameraAsk
from gazelab.sources.registry import SOURCES, open_source


def test_without_a_file_the_defaults_hold(tmp_path):
    settings = load_settings(tmp_path)
    assert settings.source == Settings().source
    assert settings.source.name == "webcam"
    assert settings.calibration.points == 9
    assert settings.model.name == "chartreader"
    assert math.isnan(settings.screen.distance_mm)


def test_a_file_in_the_data_root_is_read(tmp_path):
    (tmp_path / "gazelab.toml").write_text(
        '[source]\nname = "pointer"\nrate_hz = 60\n[screen]\nwidth_mm = 344.5\n[view]\nsmooth = false\n'
    )
    for path in (tmp_path, tmp_path / "gazelab.toml"):
        settings = load_settings(path)
        assert settings.source.name == "pointer"
        assert settings.source.rate_hz == 60.0
        assert settings.source.width_px == 1280
        assert settings.screen.width_mm == 344.5
        assert settings.view.smooth is False


def test_R11_what_is_asked_of_a_camera_and_its_lag_reach_the_source():
    text = "[source]\nwidth_px = 640\nheight_px = 480\nrate_hz = 60\nlatency_ms = 83.5"
    ask = parse_settings(text).source.ask
    assert ask == CameraAsk((640, 480), 60.0, 83_500_000)
    opened = open_source("webcam", device="3", ask=ask)
    assert opened.info.latency_ns == 83_500_000
    assert dict(opened.info.detail)["asked_px"] == "640x480"
    opened.close()


def test_every_source_can_be_the_one_to_begin_with():
    assert set(settings.SOURCE_NAMES) == set(SOURCES)


def test_B2_byte_order_mark_and_windows_line_ends(tmp_path):
    file = tmp_path / "gazelab.toml"
    file.write_bytes('\ufeff[screen]\r\nname = "Bürobildschirm"\r\n'.encode())
    assert load_settings(file).screen.name == "Bürobildschirm"


@pytest.mark.parametrize(
    ("text", "what", "todo"),
    [
        ("[source]\nwidht_px = 1", "no setting source.widht_px", "Did you mean source.width_px?"),
        ("[sorce]\nname = 'x'", "no setting sorce", "Did you mean source?"),
        ("[view]\ncamera = 'x'", "no setting view.camera", "Did you mean source.camera?"),
        ("points = 9", "no setting points", "Did you mean calibration.points?"),
        ("[view]\ndistnace_mm = 1", "no setting view.distnace_mm", "Did you mean screen.distance_mm?"),
        ("[qqqq]", "no setting qqqq", "There are the tables source, screen, calibration, drift, model, "),
        ("[source]\nwidth_px = '1280'", "source.width_px = '1280': expected a whole number", "Mend"),
        ("[source]\nwidth_px = true", "source.width_px = True: expected a whole number", "Mend"),
        ("[source]\nwidth_px = 12.5", "source.width_px = 12.5: expected a whole number", "Mend"),
        ("[source]\nrate_hz = '30'", "source.rate_hz = '30': expected a number", "Mend"),
        ("[source]\nrate_hz = nan", "source.rate_hz = nan cannot be", "Use 1 to 2000"),
        ("[source]\nrate_hz = -1", "source.rate_hz = -1.0 cannot be", "Use 1 to 2000"),
        ("[source]\nname = 'webcm'", "source.name = 'webcm' cannot be", "Use one of webcam, video"),
        ("[source]\ncamera = 0", "source.camera = 0: expected text", "Mend"),
        ("[view]\nsmooth = 1", "view.smooth = 1: expected true or false", "Mend"),
        ("[calibration]\npoints = 8", "calibration.points = 8 cannot be", "Use one of 5, 9, 13, 16"),
        ("[screen]\ndistance_mm = 60", "screen.distance_mm = 60.0 cannot be", "Use 200 to 1500"),
        ("view = 1", "view is a table", "Write [view] on a line of its own"),
        ("[view", "not a TOML file", "Mend that line"),
        ("a = 1\na = 2", "not a TOML file", "Mend that line"),
    ],
)
def test_a_fault_says_what_is_wrong_where_and_what_to_do(tmp_path, text, what, todo):
    file = tmp_path / "gazelab.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as fault:
        load_settings(file)
    assert what in fault.value.what
    assert todo in (fault.value.todo or "")
    assert fault.value.where == str(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"mine\.toml: there is no such settings file"):
        load_settings(tmp_path / "mine.toml")
    (tmp_path / "latin.toml").write_bytes(b"[screen]\nname = 'B\xfcro'\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_settings(tmp_path / "latin.toml")
    (tmp_path / "huge.toml").write_bytes(bytes(1_000_001))
    with pytest.raises(ConfigError, match="too large"):
        load_settings(tmp_path / "huge.toml")
    with pytest.raises(ConfigError, match="not a TOML file"):
        parse_settings("x = " + "[" * 100_000)


def test_settings_cannot_be_changed_and_every_field_says_what_it_may_be():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().view.smooth = False  # type: ignore[misc]
    assert [f.name for f in dataclasses.fields(Settings)] == list(config._TABLES)
    for kind in config._TABLES.values():
        for setting in dataclasses.fields(kind):
            assert setting.type in config._KINDS
            assert {"low", "high", "one_of"} == set(setting.metadata)


def test_the_data_lie_where_they_are_told_to(tmp_path, monkeypatch):
    assert find_data_root(tmp_path / "x") == tmp_path / "x"
    monkeypatch.chdir(tmp_path)
    assert find_data_root("y") == tmp_path / "y"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert find_data_root("~/z") == tmp_path / "z"
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="is a file"):
        find_data_root(tmp_path / "file")


def fake_package(folder: Path, monkeypatch) -> Path:
    package = folder / "gazelab"
    package.mkdir(parents=True)
    monkeypatch.setattr(config, "__file__", str(package / "config.py"))
    return folder


def test_a_checkout_keeps_its_own_data(tmp_path, monkeypatch):
    checkout = fake_package(tmp_path / "check out ä", monkeypatch)
    (checkout / "run_gazelab.py").write_text("")
    (checkout / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    assert find_data_root() == checkout


def test_an_installed_package_keeps_data_with_the_user(tmp_path, monkeypatch):
    fake_package(tmp_path / "site-packages", monkeypatch)
    monkeypatch.setattr(config.platformdirs, "user_data_dir", lambda name, appauthor: f"/home/u/{name}")
    assert find_data_root() == Path("/home/u/gazelab")


def test_only_the_outer_layers_read_the_settings():
    package = Path(gazelab.__file__).parent
    for file in package.rglob("*.py"):
        outer = file.parent == package and file.name.startswith(("app", "config", "__main__"))
        if outer or {package / "ui", package / "cli"} & set(file.parents):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            module = node.module if isinstance(node, ast.ImportFrom) else None
            assert "gazelab.config" not in [*names, module], file
            assert not (module == "gazelab" and "config" in names), file


def test_the_detector_of_fixations_is_a_setting():
    assert parse_settings('[events]\ndetector = "segmentation"').events.detector == "segmentation"
    with pytest.raises(ConfigError, match="gazelab, ivt, segmentation, i2mc, remodnav"):
        parse_settings('[events]\ndetector = "idt"')
