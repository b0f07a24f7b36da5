from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.errors import CameraError, ConfigError, SessionError
from gazelab.core.geometry import Screen
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.sources.pointer import Pointer
from gazelab.sources.registry import SOURCES, open_source
from gazelab.sources.synthetic import SyntheticParticipant
from gazelab.sources.video import VideoFile
from gazelab.sources.webcam import Webcam

SCREEN = Screen("test", 1920, 1080, 344, 194, 600)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("webcm", "Did you mean 'webcam'"),
        ("Pointer", "Did you mean 'pointer'"),
        ("xyz", "There are: webcam, video"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(name, words):
    with pytest.raises(ConfigError, match=words):
        open_source(name)


def test_each_name_makes_its_source():
    made = {
        "webcam": open_source("webcam", device="3"),
        "video": open_source("video", device="a.mp4"),
        "synthetic": open_source("synthetic", screen=SCREEN),
        "pointer": open_source("pointer", position=lambda: (1, 2)),
    }
    frames = {name: s.frames for name, s in made.items() if isinstance(s, CameraGaze)}
    assert isinstance(frames["webcam"], Webcam)
    assert isinstance(frames["video"], VideoFile)
    assert isinstance(frames["synthetic"], SyntheticParticipant)
    assert isinstance(made["pointer"], Pointer)
    assert {s.info.name for s in made.values()} == set(SOURCES) - {"recorded"}
    for source in made.values():
        source.close()


@pytest.mark.parametrize("name", ["video", "synthetic", "recorded", "pointer"])
def test_what_is_missing_is_said(name):
    with pytest.raises(ConfigError):
        open_source(name, screen=Screen("bare", 100, 100))


def test_what_is_named_but_not_there_is_said(tmp_path):
    with pytest.raises(SessionError):
        open_source("recorded", device=str(tmp_path))
    source = open_source("video", device=str(tmp_path / "none.mp4"))
    with pytest.raises(CameraError), source:
        pass


def test_the_synthetic_participant_looks_about_by_itself():
    with open_source("synthetic", screen=SCREEN, paced=False, clock=lambda: 0, seed=2) as source:
        readings = [r for _ in range(12) for r in source.read()]
    assert all(r.features["valid"] for r in readings)
    assert not any(r.sample["valid"] for r in readings), "no mapping yet, no gaze"
    looks = source.frames.events_truth()
    assert len(looks) >= 1
    assert np.isfinite(looks["x_px"]).all()
