"""The recordings that ship: made by the synthetic participant, and readable by today's code."""

from __future__ import annotations

from pathlib import Path

from gazelab.calibration.profile import load_profile
from gazelab.charts.shipped import load_charts
from gazelab.pipeline.replay import Replay
from gazelab.processing.features import FEATURE_VERSION

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "sessions" / "sample-synthetic"


def test_the_sample_session_opens_without_a_repair_and_has_gaze_on_four_charts():
    replay = Replay.open(SESSION)
    assert replay.session.report == []
    assert len(replay.trials) == 4
    shipped = {chart.picture_sha256 for chart in load_charts()}
    for trial in replay.trials:
        assert trial.picture_sha256 in shipped
        assert len(replay.fixations(trial)) >= 5
    assert not replay.session.header.for_dataset


def test_the_sample_profile_maps_the_sample_sessions_own_features():
    profile = load_profile(ROOT / "calibration" / "sample")
    session = Replay.open(SESSION).session
    assert profile.source.feature_version == session.header.feature_version == FEATURE_VERSION
    rows = session.features()
    predicted = profile.mapping.predict(rows[rows["valid"]][:50])
    assert predicted.valid.mean() > 0.8


def test_only_synthetic_recordings_ship():
    sessions = [p for p in (ROOT / "sessions").iterdir() if p.is_dir() and p.name.startswith("sample-")]
    assert sessions
    assert {Replay.open(p).session.header.source.name for p in sessions} == {"synthetic"}
