from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.errors import CameraError, GazelabError
from gazelab.core.gaze import SourceState, empty_features
from gazelab.core.geometry import Placement
from gazelab.pipeline.live import Acquisition
from gazelab.sources.base import Reading

from .scripted import MS, SCREEN, STEP_NS, ScriptedSource, sample


class Kept:
    def __init__(self) -> None:
        self.samples: list[np.ndarray] = []
        self.rows: list[np.ndarray] = []

    def gaze(self, samples):
        self.samples.append(samples.copy())

    def features(self, rows):
        self.rows.append(rows.copy())


def pumped(n: int, ring_size: int = 64) -> tuple[Acquisition, ScriptedSource, Kept]:
    source, kept = ScriptedSource(), Kept()
    source.open()
    acquisition = Acquisition(source, SCREEN, ring_size)
    acquisition.add_sink(kept)
    for _ in range(n):
        acquisition.pump()
    return acquisition, source, kept


def test_sinks_get_every_sample_and_the_ring_keeps_the_newest():
    acquisition, _, kept = pumped(100, ring_size=16)
    assert [int(s["time_ns"][0]) for s in kept.samples] == [STEP_NS * k for k in range(1, 101)]
    view = acquisition.snapshot(tail_ns=10**12)
    assert view.samples["time_ns"].tolist() == [STEP_NS * k for k in range(85, 101)]
    assert acquisition.count == 100


def test_G16_what_sinks_get_is_raw_bit_for_bit():
    source, kept = ScriptedSource(), Kept()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    acquisition.add_sink(kept)
    places = [(100.25, 7.5), (1900.0, 3.0), (np.nan, np.nan), (-40.0, 2000.0)]
    for place in places:
        source.place = place
        acquisition.pump()
    got = np.concatenate(kept.samples)
    expected = np.array([sample(STEP_NS * (k + 1), *p) for k, p in enumerate(places)])
    assert got.tobytes() == expected.tobytes()


def test_a_snapshot_measures_rate_and_loss_of_its_tail():
    acquisition, source, _ = pumped(30)
    source.place = (np.nan, np.nan)
    for _ in range(30):
        acquisition.pump()
    view = acquisition.snapshot(tail_ns=60 * STEP_NS)
    assert view.data_loss == pytest.approx(0.5)
    assert view.rate_hz == pytest.approx(1e9 / STEP_NS, rel=0.01)


def test_a_snapshot_before_any_sample_is_empty_and_knows_nothing():
    view = Acquisition(ScriptedSource(), SCREEN).snapshot()
    assert len(view.samples) == 0
    assert np.isnan(view.rate_hz)
    assert np.isnan(view.data_loss)


def test_a_removed_sink_gets_no_more():
    acquisition, _, kept = pumped(3)
    acquisition.remove_sink(kept)
    acquisition.pump()
    assert len(kept.samples) == 3


def test_features_of_a_frame_go_with_its_sample():
    class WithFeatures(ScriptedSource):
        def read(self, timeout_s=0.0):
            return [Reading(r.sample, empty_features(1)[0]) for r in super().read()]

    source, kept = WithFeatures(), Kept()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    acquisition.add_sink(kept)
    acquisition.pump()
    assert len(kept.rows) == 1


def test_samples_seen_after_the_onset_but_before_begin_trial_still_count():
    acquisition, source, _ = pumped(20)
    onset_ns = source.now_ns - 15 * STEP_NS
    acquisition.begin_trial(Placement(0, 0, 100, 100, 10, 10), onset_ns)
    for _ in range(10):
        acquisition.pump()
    acquisition.end_trial(source.now_ns + 1)
    acquisition.pump()
    fixations = acquisition.snapshot().fixations
    assert fixations["onset_ns"].tolist() == [onset_ns]


def test_a_source_that_fails_in_the_thread_gives_a_visible_error_and_no_crash():
    source = ScriptedSource()
    acquisition = Acquisition(source, SCREEN)
    source.fault = CameraError("was unplugged.", where="camera 0")
    acquisition.start()
    acquisition._thread.join(2.0)
    assert acquisition.state is SourceState.ERROR
    assert "unplugged" in str(acquisition.error)
    acquisition.stop()


def test_a_bug_in_a_source_is_logged_and_shown_too(caplog):
    source = ScriptedSource()
    acquisition = Acquisition(source, SCREEN)
    source.fault = ZeroDivisionError("oops")
    acquisition.start()
    acquisition._thread.join(2.0)
    assert isinstance(acquisition.error, GazelabError)
    assert "oops" in caplog.text
    acquisition.stop()


def test_C3_stop_returns_although_a_read_never_does():
    import threading
    import time

    release = threading.Event()

    class Stuck(ScriptedSource):
        def read(self, timeout_s=0.0):
            release.wait(30)
            return []

    acquisition = Acquisition(Stuck(), SCREEN)
    acquisition.start()
    thread = acquisition._thread
    start = time.monotonic()
    with pytest.raises(GazelabError, match="does not stop"):
        acquisition.stop()
    assert time.monotonic() - start < 10
    release.set()
    thread.join(5)


def test_R3_a_jump_of_the_wall_clock_changes_nothing(monkeypatch):
    import time

    monkeypatch.setattr(time, "time", lambda: -3600.0)
    _, _, kept = pumped(5)
    times = np.concatenate(kept.samples)["time_ns"]
    assert np.diff(times).tolist() == [33 * MS] * 4
