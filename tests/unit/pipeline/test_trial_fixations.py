"""Live and replayed fixations are the same on any stream: blinks, losses, bad stamps, trial borders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gazelab.core.gaze import SourceState
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.study import RecordingStudy
from gazelab.pipeline.trial_fixations import TrialFixations
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter
from gazelab.sources.base import Reading

from .scripted import MS, SCREEN, ScriptedSource, chart, sample

LOOKS = ((500.0, 600.0), (1300.0, 400.0), (900.0, 700.0))
_names = itertools.count()


class Stream(ScriptedSource):
    """Gives the samples of a list, in small batches; its clock is the newest stamp so far."""

    def __init__(self, samples: list[np.void], batches: list[int]) -> None:
        super().__init__()
        self.samples, self.batches = list(samples), itertools.cycle(batches)

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        n = min(next(self.batches), len(self.samples))
        given, self.samples = self.samples[:n], self.samples[n:]
        self.now_ns = max([self.now_ns, *(int(s["time_ns"]) for s in given)])
        self.state = SourceState.OK if self.samples else SourceState.ENDED
        return [Reading(s) for s in given]


def stream(steps_ms, rate_hz=30.0, seed=1):
    """Gaze that rests at one place after another, 10 samples each, with the events of `steps_ms`.

    Each row: (deviation of the stamp in ms, "" or "blink" or "lost" or "repeat" or "back").
    """
    rng = np.random.default_rng(seed)
    out, now = [], 1_000 * MS
    for k, (jitter_ms, what) in enumerate(steps_ms):
        now += round(1e9 / rate_hz) + jitter_ms * MS
        stamp = {"repeat": out[-1]["time_ns"] if out else now, "back": now - 200 * MS}.get(what, now)
        x, y = rng.normal(LOOKS[k // 10 % len(LOOKS)], 12)
        row = sample(int(stamp), x, y) if what != "lost" else sample(int(stamp), np.nan, np.nan)
        row["blink"] = what == "blink"
        out.append(row)
    return out


def recorded(tmp_path, samples, batches, first_at, second_at):
    """Run two trials over a stream; give the live fixations of each, when each came, and the session."""
    source = Stream(samples, batches)
    source.open()
    acquisition = Acquisition(source, SCREEN)
    live, name = [], f"s{next(_names)}"
    with SessionWriter.create(tmp_path, name, header_for(source, SCREEN, "P1"), clock=source.clock) as writer:
        acquisition.pump()
        acquisition.add_sink(writer)
        study = RecordingStudy([chart("a"), chart("b", 220)], writer, acquisition)
        layout = reading_layout(SCREEN, 40, 30)
        for pumps_before, pumps in (first_at, second_at):
            study.prepare()
            for _ in range(pumps_before):
                acquisition.pump()
            study.show(layout.chart, source.clock() + 1)
            for _ in range(pumps):
                acquisition.pump()
            study.answer("x", source.clock() + 1)
            acquisition.pump()  # what came by the end counts until a sample lies beyond it
            live.append(acquisition._trial)
        while source.state is not SourceState.ENDED:
            acquisition.pump()
    for trial in live:
        trial.close()
    return live, Session.open(tmp_path / "sessions" / name)


def assert_same(live, session):
    replay = Replay(session, "live")
    assert len(replay.trials) == len(live)
    for trial, seen in zip(replay.trials, live, strict=True):
        again = replay._online_of(trial)
        assert again.emitted().tobytes() == seen.emitted().tobytes()
        assert again.emitted_ns == seen.emitted_ns


def test_E6_R1_live_and_replayed_fixations_are_the_same_with_blinks_losses_and_bad_stamps(tmp_path):
    rows = [(0, "")] * 120
    for k in (8, 9, 33, 34, 35, 70):  # the first just before a trial, others inside
        rows[k] = (0, "blink")
    rows[20:24] = [(0, "lost")] * 4
    rows[50], rows[51], rows[80] = (0, "repeat"), (0, "back"), (400, "")
    live, session = recorded(tmp_path, stream(rows), [1], (9, 45), (5, 50))
    assert_same(live, session)
    assert min(len(trial.emitted()) for trial in live) >= 3


def test_E6_a_blink_just_before_the_trial_counts_live_and_in_replay(tmp_path):
    rows = [(0, "")] * 40
    rows[9] = (0, "blink")
    live, session = recorded(tmp_path, stream(rows), [1], (9, 12), (1, 10))
    assert_same(live, session)
    onset_ns, blink_ns = live[0]._onset_ns, int(session.gaze()["time_ns"][session.gaze()["blink"]][0])
    assert 0 < onset_ns - blink_ns < 100 * MS
    assert live[0].emitted()["onset_ns"][0] > blink_ns + 100 * MS


def test_what_came_before_the_recording_is_in_no_trial(tmp_path):
    rows = [(0, "blink")] + [(0, "")] * 30
    live, session = recorded(tmp_path, stream(rows), [1], (0, 12), (1, 10))
    assert not session.gaze()["blink"].any()
    assert_same(live, session)


events = st.sampled_from(["", "", "", "", "", "", "blink", "lost", "repeat", "back"])


@given(
    st.lists(st.tuples(st.integers(-20, 60), events), min_size=40, max_size=110),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.tuples(st.integers(0, 6), st.integers(4, 30)),
    st.tuples(st.integers(0, 6), st.integers(4, 30)),
    st.sampled_from([25.0, 30.0, 60.0]),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_live_and_replayed_fixations_are_the_same_on_any_stream(tmp_path, rows, batches, first, second, rate):
    assert_same(*recorded(tmp_path, stream(rows, rate), batches, first, second))


@pytest.mark.parametrize("rate_hz", [30, 60, 120])
def test_E6_no_online_fixation_reaches_into_100_ms_around_a_blink_in_mid_fixation(rate_hz):
    n = 2 * rate_hz
    t = np.arange(n) * round(1e9 / rate_hz)
    shut = (t >= 900 * MS) & (t < 1_000 * MS)
    trial = TrialFixations(SCREEN, 0)
    rows = np.array(
        [sample(int(now), 900.0, 700.0 + 120.0 * bool(s)) for now, s in zip(t, shut, strict=True)]
    )
    rows["blink"] = shut
    rows["y_px"][(t >= 800 * MS) & (t < 1_100 * MS)] += 60  # the lid drags the gaze down, before and after
    trial.push(rows)
    trial.close()
    found = trial.emitted()
    first_shut, last_shut = int(t[shut][0]), int(t[shut][-1])
    assert len(found) == 2
    assert found["offset_ns"][0] < first_shut - 100 * MS
    assert found["onset_ns"][1] > last_shut + 100 * MS
    assert found["y_px"] == pytest.approx([700.0, 700.0], abs=1e-3)
