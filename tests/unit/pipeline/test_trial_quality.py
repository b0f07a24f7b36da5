from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.gaze import empty_events, empty_features, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.pipeline.measure_trial import measure_trial
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.session_quality import assess
from gazelab.processing.detectors import DETECTORS

from .quality_session import CHART, LOOKS, MS, lose, measured, reading, session_of
from .scripted import SCREEN

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"


def case_rows(name: str) -> np.ndarray:
    """One of the nasty recordings as samples."""
    path = CASES / name
    if not path.exists():
        pytest.skip("the optional folder ../shared/cases is absent")
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:] if row])
    rows = empty_gaze(len(table))
    rows["time_ns"] = np.round(table[:, 0] * 1e9).astype(np.int64)
    rows["x_px"], rows["y_px"] = table[:, 1], table[:, 2]
    rows["valid"] = np.isfinite(rows["x_px"]) & np.isfinite(rows["y_px"])
    return rows


def test_a_clean_trial_by_hand(tmp_path):
    """240 samples 20 ms apart, four looks; x alternates by +-1 px: SD 1 px, successive samples 2 px apart."""
    q = measured(tmp_path, reading())
    assert (q.duration_s, q.n_samples) == (4.8, 240)
    assert q.rate_hz == pytest.approx(50.0)
    assert (q.data_loss, q.time_loss, q.uneven_share) == (0.0, 0.0, 0.0)
    assert q.longest_gap_s == pytest.approx(0.020)
    assert q.sd_px == pytest.approx(1.0, abs=0.02)
    assert q.rms_s2s_px == pytest.approx(2.0, abs=0.02)
    assert q.sd_deg == pytest.approx(1.0 / SCREEN.px_per_deg(), rel=0.05)
    assert (q.n_fixations, q.n_on_chart) == (4, 4)
    assert (q.off_screen_share, q.off_chart_share) == (0.0, 0.0)
    assert (q.answered, q.skipped, q.complete) == (True, False, True)


def test_the_detector_is_told_as_rate_and_noise_choose_it(tmp_path):
    """50 Hz is too slow for a velocity threshold; 250 Hz with .02 degrees of noise is not."""
    assert measured(tmp_path / "a", reading()).detector == "likelihood segmentation"
    assert measured(tmp_path / "b", reading(n=1200, step_ms=4)).detector == "I-VT"


def noisy(noise_px: float) -> np.ndarray:
    """250 Hz with noise, and a blink that reaches into the trial's start."""
    rows = reading(n=1200, step_ms=4)
    for axis in ("x_px", "y_px"):
        rows[axis] += np.random.default_rng(5).normal(0, noise_px, len(rows))
    rows["blink"][:8] = True
    return rows


FOUND_BY = {"ivt": "I-VT", "segmentation": "likelihood segmentation"}


@pytest.mark.parametrize(("noise_px", "name"), [(0.5, "ivt"), (3.0, "ivt"), (12.0, "segmentation")])
def test_the_detector_that_is_told_is_the_one_that_found_the_fixations(tmp_path, noise_px, name):
    path = session_of(tmp_path, noisy(noise_px))
    replay = Replay.open(path)
    assert measure_trial(replay, replay.trials[0], 0.3).detector == FOUND_BY[name]
    found = {n: Replay.open(path, detector=n).fixations(replay.trials[0]).tobytes() for n in FOUND_BY}
    assert replay.fixations(replay.trials[0]).tobytes() == found[name]
    assert len(set(found.values())) == 2, "which one it was can be seen"


@pytest.mark.parametrize("name", ["i2mc", "remodnav", "ivt", "segmentation"])
def test_a_detector_that_was_named_is_told_and_its_fixations_are_measured(tmp_path, monkeypatch, name):
    asked: list[int] = []

    def find(time_ns, x_px, y_px, screen):
        asked.append(len(time_ns))
        events = empty_events(1)
        events["onset_ns"], events["offset_ns"], events["n_samples"] = time_ns[60], time_ns[119], 60
        events["x_px"], events["y_px"] = x_px[60], y_px[60]
        return events

    fake = {name: replace(DETECTORS[name], find=find, package="")}
    monkeypatch.setattr("gazelab.processing.detectors.DETECTORS", fake)
    replay = Replay.open(session_of(tmp_path, reading()), detector=name)
    found = assess(replay)
    q = found.trials[0].quality
    assert asked == [240]
    assert (q.detector, q.n_fixations) == (name, 1)
    assert q.sd_px == pytest.approx(1.0, abs=0.02)
    assert found.detectors["for scores"] == f"offline, {name} in 1 trial"


def test_lost_samples_and_frames_that_never_came(tmp_path):
    rows = reading()
    lost = measured(tmp_path / "a", lose(rows, slice(60, 120)))
    assert lost.data_loss == pytest.approx(0.25)
    assert lost.time_loss == pytest.approx(0.25)
    assert lost.longest_gap_s == pytest.approx(61 * 0.020)
    gone = measured(tmp_path / "b", np.delete(rows, slice(60, 120)))
    assert gone.data_loss == 0.0
    assert gone.time_loss == pytest.approx(0.25)
    assert gone.longest_gap_s == pytest.approx(61 * 0.020)


def test_blinks_are_counted_and_their_padding_too(tmp_path):
    """Eight samples shut, and five on either side within the padding of 100 ms."""
    rows = lose(reading(), slice(100, 108), blink=True)
    q = measured(tmp_path, rows)
    assert q.n_blinks == 1
    assert q.blink_loss == pytest.approx(8 / 240)
    assert q.blink_share == pytest.approx(18 / 240)


def test_G25_screen_and_chart_are_half_open(tmp_path):
    """Of eight places half lie on the screen: x = 1920 is off a screen of 1920 px, 0 is on it."""
    places = [(0, 0), (1919.9, 1079.9), (460, 140), (1459.9, 939.9)]
    places += [(1920, 500), (500, 1080), (-0.1, 500), (1920, 1080)]
    rows = reading(240)
    rows["x_px"], rows["y_px"] = (np.repeat([p[k] for p in places], 30) for k in (0, 1))
    q = measured(tmp_path, rows)
    assert q.off_screen_share == pytest.approx(4 / 8)
    assert q.off_chart_share == pytest.approx(6 / 8)
    edge = rows[:240].copy()
    edge["x_px"], edge["y_px"] = CHART.left_px + CHART.width_px, 500.0
    assert measured(tmp_path / "edge", edge).off_chart_share == 1.0


def test_G25_the_case_of_exact_edges(tmp_path):
    rows = case_rows("gaze_off_screen_and_exact_edges.csv")
    q = measured(tmp_path, rows)
    x, y = rows["x_px"].astype(float), rows["y_px"].astype(float)
    inside = (x >= 0) & (x < 1920) & (y >= 0) & (y < 1080)
    assert q.off_screen_share == pytest.approx((rows["valid"] & ~inside).sum() / rows["valid"].sum())
    assert 0 < q.off_screen_share < 1


@pytest.mark.filterwarnings("ignore::gazelab.processing.degrees.NominalGeometry")
def test_G13_without_millimetres_there_are_px_and_no_degrees(tmp_path):
    q = measured(tmp_path, reading(), screen=Screen("bare", 1920, 1080))
    assert q.sd_px == pytest.approx(1.0, abs=0.02)
    assert math.isnan(q.sd_deg)
    assert math.isnan(q.rms_s2s_deg)
    assert q.n_impossible is None
    plain = q.to_json()
    assert plain["sd_deg"] is None
    json.dumps(plain, allow_nan=False)


def test_E7_all_lost_gives_no_precision_and_never_a_zero(tmp_path):
    q = measured(tmp_path, case_rows("gaze_60hz_all_nan.csv"))
    assert (q.data_loss, q.time_loss) == (1.0, 1.0)
    for name in ("rms_s2s_deg", "rms_s2s_px", "sd_deg", "sd_px", "off_screen_share", "off_chart_share"):
        assert math.isnan(getattr(q, name)), name
    assert math.isnan(q.low_confidence_share)
    assert q.n_fixations == 0


def test_E7_a_trial_without_a_sample(tmp_path):
    rows = reading()
    rows["time_ns"] += 10_000 * MS
    q = measured(tmp_path, rows, end_ns=5_000 * MS)
    assert q.n_samples == 0
    assert math.isnan(q.data_loss)
    assert q.time_loss == 1.0
    assert q.longest_gap_s == 5.0
    assert math.isnan(q.rate_hz)


def test_E8_a_spike_is_flagged_and_costs_no_fixation(tmp_path):
    rows = reading()
    clean = measured(tmp_path / "a", rows)
    rows["x_px"][70] += 2000.0
    q = measured(tmp_path / "b", rows)
    assert q.n_impossible == 1
    assert q.impossible_share == pytest.approx(1 / 240)
    assert (q.n_fixations, clean.n_impossible) == (clean.n_fixations, 0)


def test_R1_bad_stamps_are_counted_and_the_rest_is_measured(tmp_path):
    q = measured(tmp_path, case_rows("gaze_duplicate_and_backward_stamp.csv"))
    assert q.n_bad_stamps == 2
    assert q.rate_hz == pytest.approx(60.0, rel=0.02)
    assert q.time_loss < 0.03


def test_T11_a_leap_of_the_clock_is_told(tmp_path):
    rows = reading()
    rows["time_ns"][120:] += 20_000 * MS
    q = measured(tmp_path, rows)
    assert q.n_leaps == 1
    assert q.duration_s == pytest.approx(24.8)
    assert q.time_loss == pytest.approx(20.0 / 24.8, abs=0.002)
    back = reading()
    back["time_ns"][120:] -= 5_000 * MS
    assert measured(tmp_path / "back", back, end_ns=2_400 * MS).n_leaps == 0, "the leap lies after the trial"


def test_T11_a_leap_over_a_trials_edge_is_told_if_what_lies_in_the_trial_is_one(tmp_path):
    steady_s = np.arange(240) * 0.02

    def n_leaps(name: str, stamps_s: list[float], end_s: int) -> int:
        rows = reading(len(stamps_s))
        rows["time_ns"] = np.round(np.array(stamps_s) * 1e9)
        return measured(tmp_path / name, rows, end_ns=end_s * 1000 * MS).n_leaps

    assert n_leaps("into it", [-0.04, -0.02, *(20 + steady_s)], 30) == 1
    assert n_leaps("before it", [-30.0, -29.98, *steady_s], 5) == 0
    assert n_leaps("out of it", [*steady_s, 24.8], 20) == 1
    assert n_leaps("after it", [*steady_s, 24.8], 8) == 0
    assert n_leaps("over it", [-0.02, 40.0], 30) == 1


def test_U11_C2_R10_what_happened_in_the_trial_is_counted(tmp_path):
    markers = [
        {"kind": "source_state", "time_ns": -5 * MS, "state": "lost"},
        {"kind": "source_state", "time_ns": 100 * MS, "state": "ok"},
        {"kind": "focus_lost", "time_ns": 500 * MS},
        {"kind": "focus_back", "time_ns": 600 * MS},
        {"kind": "pause", "time_ns": 700 * MS},
        {"kind": "source_state", "time_ns": 800 * MS, "state": "lost"},
        {"kind": "gap", "time_ns": 900 * MS, "stream": "gaze", "n_rows": 7, "until_ns": 950 * MS},
        {"kind": "gap", "time_ns": 960 * MS, "stream": "features", "n_rows": 9, "until_ns": 970 * MS},
        {"kind": "pause", "time_ns": 9_000 * MS},
    ]
    q = measured(tmp_path, reading(), markers=markers)
    assert (q.n_focus_lost, q.n_pauses, q.n_source_lost, q.n_dropped) == (1, 1, 2, 7)


def test_G1_the_head_outside_its_box_and_a_low_confidence_are_shares_of_the_gaze(tmp_path):
    rows = lose(reading(), slice(0, 40))
    rows["outside_head_box"][:90] = True
    rows["confidence"][40:60], rows["confidence"][60:80] = 0.1, np.nan
    q = measured(tmp_path, rows)
    assert q.outside_box_share == pytest.approx(50 / 200)
    assert q.low_confidence_share == pytest.approx(20 / 180)


def test_C2_pictures_that_came_twice_are_told_of_a_camera_alone(tmp_path):
    """The second half of the trial stands still: 120 of 239 steps, and the first 119 move by 2 px."""
    rows = reading(looks=[LOOKS[0]])
    rows["x_px"][120:] = rows["x_px"][119]
    q = measured(tmp_path / "a", rows, header={"feature_version": "1"})
    assert q.repeated_share == pytest.approx(120 / 239)
    assert math.isnan(measured(tmp_path / "b", rows).repeated_share)


def test_M7_two_faces_are_a_share_of_the_pictures(tmp_path):
    features = empty_features(48)
    features["time_ns"] = np.arange(48) * 100 * MS
    features["n_faces"] = 1
    features["n_faces"][12:24] = 2
    assert measured(tmp_path / "a", reading(), features=features).two_faces_share == pytest.approx(0.25)
    assert math.isnan(measured(tmp_path / "b", reading()).two_faces_share)


@pytest.mark.parametrize(
    ("figures", "px", "deg"),
    [
        ({"offset_px": [30.0, 40.0], "offset_deg": 0.9}, 50.0, 0.9),
        ({"offset_px": 12}, 12.0, None),
        ({"offset_px": None, "offset_deg": None}, None, None),
        ({"offset_px": ["a", 1], "offset_deg": True}, None, None),
        ({}, None, None),
    ],
)
def test_the_drift_checks_round_a_trial_are_read_whatever_they_say(tmp_path, figures, px, deg):
    def check(at_ms: int, decision: str, **more):
        fixed = {"target_px": [960, 540], "correction_px": [0, 0]}
        return {"kind": "drift_check", "time_ns": at_ms * MS, "decision": decision, **fixed, **more}

    markers = [
        check(-900, "fine", offset_px=[3.0, 4.0], offset_deg=0.1),
        check(-500, "corrected", **figures),
        check(-100, "skipped", offset_px=[1.0, 1.0]),
        check(6000, "fine", **figures),
        check(9000, "fine", offset_px=[99.0, 0.0]),
    ]
    q = measured(tmp_path, reading(), markers=markers)
    for mark, at_ms in ((q.drift_before, -500), (q.drift_after, 6000)):
        assert mark.time_ns == at_ms * MS
        plain = {name: q.to_json()["drift_before"][name] for name in ("offset_px", "offset_deg")}
        assert plain == {"offset_px": px, "offset_deg": deg}
    assert q.drift_before.corrected
    assert not q.drift_after.corrected
    raw = Replay.open(tmp_path / "sessions" / "s", "raw")
    assert not measure_trial(raw, raw.trials[0], 0.3).drift_before.corrected


def test_a_trial_without_a_drift_check_has_none(tmp_path):
    q = measured(tmp_path, reading())
    assert (q.drift_before, q.drift_after) == (None, None)
    assert q.to_json()["drift_before"] is None


def test_a_chart_that_moved_is_where_it_lay(tmp_path):
    """After the move the looks at its old place are off it."""
    away = {**{f: getattr(CHART, f) for f in CHART.__slots__}, "left_px": 0.0, "width_px": 400.0}
    moved = [{"kind": "stimulus_moved", "time_ns": 2400 * MS, "placement": away}]
    q = measured(tmp_path, reading(), markers=moved)
    assert q.off_chart_share == pytest.approx(0.5)
    assert q.n_on_chart == 2


def test_looks_past_the_screen_are_no_fixations_on_the_chart(tmp_path):
    q = measured(tmp_path, reading(looks=[(*LOOKS[0],), (2300.0, 500.0), (*LOOKS[1],)]))
    assert (q.n_fixations, q.n_on_chart) == (3, 2)
    assert q.off_screen_share == pytest.approx(1 / 3)


def test_the_samples_are_not_changed(tmp_path):
    path = session_of(tmp_path, lose(reading(), slice(5, 20), blink=True))
    before = (path / "gaze.bin").read_bytes()
    replay = Replay.open(path)
    measure_trial(replay, replay.trials[0], 0.3)
    assert (path / "gaze.bin").read_bytes() == before
