"""Detectors by name. Those of others are tested where the extra `events` is installed."""

import json
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.errors import ConfigError, GazelabError
from gazelab.core.gaze import EVENT_DTYPE, EventKind, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.processing import detectors
from gazelab.processing.detectors import DETECTORS, Detector, detect, detector_named
from gazelab.processing.events import detect_events, fixation_events
from gazelab.processing.events_i2mc import options_of
from gazelab.processing.events_regular import Stretch, even_stretches
from gazelab.processing.events_remodnav import remodnav_fixations

SCREEN = Screen("laptop", 1920, 1080, 527.0, 296.0, 600.0)
MS = 1_000_000


def gaze_of(path):
    rows = empty_gaze(len(path.time_ns))
    rows["time_ns"], rows["x_px"], rows["y_px"] = path.columns
    rows["valid"] = np.isfinite(rows["x_px"])
    return rows


def needs(name):
    if not DETECTORS[name].is_installed:
        pytest.skip(f"the extra `events` ({DETECTORS[name].package}) is not installed")


def test_the_default_gives_the_fixations_of_detect_events(scanpath):
    for rate in (30, 500):
        gaze = gaze_of(scanpath(rate))
        gaze["blink"][rate : rate + 3] = True
        every = detect_events(gaze, SCREEN)
        assert (
            detect("gazelab", gaze, SCREEN).tobytes() == every[every["kind"] == EventKind.FIXATION].tobytes()
        )


def test_a_method_may_be_forced(scanpath):
    path = scanpath(30, noise_px=25.0)
    gaze = gaze_of(path)
    assert len(detect("segmentation", gaze, SCREEN)) == 6
    assert len(detect("ivt", gaze, SCREEN)) != 6, "a velocity threshold drowns in such noise"
    columns = (gaze["time_ns"], gaze["x_px"], gaze["y_px"])
    assert detect("ivt", gaze, SCREEN).tobytes() == fixation_events(*columns, SCREEN, "ivt").tobytes()


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(ConfigError, match="Did you mean remodnav"):
        detector_named("REMoDNav")
    with pytest.raises(ConfigError, match="gazelab, ivt, segmentation, i2mc, remodnav"):
        detect("", empty_gaze(0), SCREEN)


def test_a_missing_package_says_what_to_install(monkeypatch):
    absent = Detector("i2mc", "", lambda *_: None, {}, "no_such_package")
    monkeypatch.setattr(detectors, "DETECTORS", {"i2mc": absent})
    assert not absent.is_installed
    with pytest.raises(ConfigError, match=r"no_such_package.*gazelab\[events\]"):
        detect("i2mc", empty_gaze(0), SCREEN)


def test_every_detector_says_how_it_found_fixations():
    for name, detector in DETECTORS.items():
        if detector.is_installed:
            how = json.loads(json.dumps(detector.how()))
            assert how["detector"] == name
            assert how["blink_pad_s"] == 0.1
            assert how["version"]


@pytest.mark.parametrize("name", ["i2mc", "remodnav"])
@pytest.mark.parametrize("rate", [200, 300, 500])
def test_detectors_of_others_find_the_script(scanpath, name, rate):
    needs(name)
    path = scanpath(rate, noise_px=1.0).lost(1.1, 1.35)
    found = detect(name, gaze_of(path), SCREEN)
    assert found.dtype == EVENT_DTYPE
    assert 6 <= len(found) <= 8
    assert (np.diff(found["onset_ns"]) > 0).all()
    places = np.stack([found["x_px"], found["y_px"]], -1)
    assert np.abs(places[-1] - [300, 900]).max() < 10
    assert ((found["offset_ns"] - found["onset_ns"]) / MS).min() >= 55


def test_i2mc_takes_30_hz(scanpath):
    needs("i2mc")
    found = detect("i2mc", gaze_of(scanpath(30)), SCREEN)
    assert 5 <= len(found) <= 7


@pytest.mark.parametrize("name", ["i2mc", "remodnav"])
def test_detectors_of_others_find_nothing_in_nothing(name):
    needs(name)
    gaze = empty_gaze(400)
    gaze["time_ns"] = np.arange(400) * 2 * MS
    assert len(detect(name, gaze, SCREEN)) == 0
    assert len(detect(name, gaze[:0], SCREEN)) == 0


@pytest.mark.parametrize("rate", [30, 60, 120])
def test_E3_remodnav_refuses_slow_gaze_in_words(scanpath, rate):
    with pytest.raises(GazelabError, match=rf"REMoDNaV cannot read gaze at {rate} Hz.*158 samples a second"):
        remodnav_fixations(*scanpath(rate).columns, SCREEN)


def test_E4_a_grid_keeps_even_gaze_and_shows_what_never_came():
    t = np.arange(100, dtype=np.int64) * 4 * MS
    x = np.arange(100.0) + 1
    (whole,) = even_stretches(t, x, x)
    assert whole.x_px.tolist() == x.tolist()
    assert whole.rate_hz == 250
    keep = np.r_[0:40, 50:100]
    (holed,) = even_stretches(t[keep], x[keep], x[keep])
    assert np.isnan(holed.x_px[40:50]).all()
    assert np.nan_to_num(holed.x_px).sum() == x[keep].sum()
    event = holed.event(10, 19)
    assert event["onset_ns"][0] == 38 * MS
    assert event["offset_ns"][0] == 78 * MS - 1
    assert (event["x_px"][0], event["n_samples"][0]) == (15.5, 10)


def test_R1_T11_a_grid_leaves_bad_stamps_out_and_begins_anew_with_a_clock():
    t = np.arange(100, dtype=np.int64) * 4 * MS + 50_000 * MS
    t[20] = t[19]
    t[60:] -= 50_000 * MS
    stretches = even_stretches(t, np.ones(100), np.zeros(100))
    assert [len(s.x_px) for s in stretches] == [60, 40]
    assert [s.start_ns for s in stretches] == [50_000 * MS, 240 * MS]
    assert even_stretches(t[:1], np.ones(1), np.ones(1)) == []


def test_options_of_i2mc_follow_the_rate():
    def stretch(rate):
        return Stretch(0, round(1e9 / rate), np.ones(20), np.ones(20))

    assert options_of(stretch(500), SCREEN)["downsamples"] == [2, 5, 10]
    assert options_of(stretch(500), SCREEN)["downsampFilter"]
    slow = options_of(stretch(33), SCREEN)
    assert (slow["freq"], slow["downsamples"], slow["downsampFilter"]) == (33.0, [], False)


def test_the_packages_are_those_of_the_extra():
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8")
    for name in ("i2mc", "remodnav"):
        assert DETECTORS[name].package in text.split("events = [")[1].split("]")[0]
