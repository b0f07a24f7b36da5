"""`--detector`: what finds the fixations, by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gazelab.cli import main
from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.core.picture import Picture
from gazelab.processing.detectors import DETECTORS
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter

SCREEN = Screen("laptop", 1920, 1080, 345.0, 194.0, 600.0, "card")
PICTURE = Picture.from_rgb(np.full((80, 100, 3), 200, np.uint8))


@pytest.fixture
def data(tmp_path) -> list[str]:
    """One trial of 3 s at 30 Hz: three looks, with half a degree of noise."""
    rows = empty_gaze(90)
    rows["time_ns"] = np.arange(90) * 33_333_333
    noise = np.random.default_rng(1).normal(0, 0.5 * SCREEN.px_per_deg(), (2, 90))
    rows["x_px"], rows["y_px"] = np.repeat([500.0, 1200.0, 700.0], 30) + noise[0], 500.0 + noise[1]
    rows["valid"] = True
    header = SessionHeader("P1", SCREEN, SourceRecord("scripted", "a test"))
    chart = Placement(460.0, 140.0, 1000.0, 800.0, 100, 80)
    facts = {"question": "How high?", "answer": "12", "picture_sha256": PICTURE.sha256, "placement": chart}
    with SessionWriter.create(tmp_path, "reading", header, clock=lambda: 0) as writer:
        writer.stimulus(PICTURE)
        writer.marker({"kind": "stimulus_on", "time_ns": 0, "order": 0, "chart_id": "c", **facts})
        writer.marker({"kind": "stimulus_off", "time_ns": 3_000_000_000})
        writer.gaze(rows)
    return ["--data", str(tmp_path)]


def n_fixations(capsys, *arguments: str) -> int:
    assert main(["quality", "reading", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)["trials"][0]["figures"]["n_fixations"]


def test_a_detector_may_be_named_or_set(data, capsys, tmp_path):
    assert n_fixations(capsys, *data) == 3
    assert n_fixations(capsys, *data, "--detector", "segmentation") == 3
    by_speed = n_fixations(capsys, *data, "--detector", "ivt")
    assert by_speed != 3, "a velocity threshold drowns in such noise"
    (tmp_path / "gazelab.toml").write_text('[events]\ndetector = "ivt"\n')
    assert n_fixations(capsys, *data) == by_speed
    assert n_fixations(capsys, *data, "--detector", "gazelab") == 3


def test_an_unknown_detector_is_one_line_and_no_traceback(data, capsys):
    assert main(["quality", "reading", *data, "--detector", "idt"]) == 1
    said = capsys.readouterr().err
    assert "there is no detector 'idt'" in said
    assert said.count("\n") == 1


def test_E3_remodnav_refuses_a_webcam_in_words(data, capsys):
    assert main(["quality", "reading", *data, "--detector", "remodnav"]) == 1
    said = capsys.readouterr().err
    installed = DETECTORS["remodnav"].is_installed
    assert ("REMoDNaV cannot read gaze at 30 Hz" if installed else "pip install 'gazelab[events]'") in said
