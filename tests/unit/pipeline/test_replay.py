from __future__ import annotations

import json

import numpy as np
import pytest

from gazelab.core.errors import ConfigError
from gazelab.core.gaze import GazeView
from gazelab.pipeline.keep import keep_fixations
from gazelab.pipeline.layout import reading_layout
from gazelab.pipeline.live import Acquisition
from gazelab.pipeline.record import header_for
from gazelab.pipeline.replay import Replay
from gazelab.pipeline.study import RecordingStudy
from gazelab.processing.detectors import detect
from gazelab.sessions.writer import SessionWriter

from .scripted import SCREEN, STEP_NS, ScriptedSource, chart, record_two_charts, sample


def test_a_recorded_study_replays_with_its_trials_answers_and_rectangles(tmp_path):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    assert [t.chart_id for t in replay.trials] == ["a", "b"]
    assert [t.given for t in replay.trials] == ["12", "12"]
    assert replay.trials[0].placement == reading_layout(SCREEN, 40, 30).chart
    assert replay.picture(replay.trials[0]).width_px == 40


def test_offline_fixations_lie_where_the_gaze_rested(tmp_path):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    first = replay.fixations(replay.trials[0])
    assert np.column_stack([first["x_px"], first["y_px"]]).tolist() == [[500.0, 600.0], [1300.0, 400.0]]
    second = replay.fixations(replay.trials[1])
    assert second["x_px"].tolist() == [900.0]


def test_G23_fixations_go_to_picture_px_by_the_logged_rectangle(tmp_path):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    xy, duration_ms = replay.fixations_on_picture(replay.trials[0])
    placement = reading_layout(SCREEN, 40, 30).chart
    x = (500.0 - placement.left_px) * 40 / placement.width_px
    y = (600.0 - placement.top_px) * 30 / placement.height_px
    assert xy[0] == pytest.approx([x, y], abs=1e-3)
    assert duration_ms[0] == pytest.approx(19 * 33, abs=33)


def test_replay_gives_the_same_views_as_live(tmp_path):
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    rng = np.random.default_rng(4)
    live: list[GazeView] = []
    with SessionWriter.create(tmp_path, "s", header_for(source, SCREEN, "P1"), clock=source.clock) as writer:
        acquisition.add_sink(writer)
        study = RecordingStudy([chart("a")], writer, acquisition)
        study.prepare()
        study.show(reading_layout(SCREEN, 40, 30).chart, source.clock())
        for place in ((500, 600), (1300, 400), (1200, 900)):
            for _ in range(15):
                source.place = tuple(rng.normal(place, 6))
                acquisition.pump()
                live.append(acquisition.snapshot())
        study.answer("x", source.clock() + 1)
    replay = Replay.open(tmp_path / "sessions" / "s")
    trial = replay.trials[0]
    assert len(live[-1].fixations) >= 2
    for seen in live:
        again = replay.view_at(trial, seen.time_ns)
        assert again.samples.tobytes() == seen.samples.tobytes()
        assert again.fixations.tobytes() == seen.fixations.tobytes()
        assert again.placement == seen.placement


def test_a_trial_that_was_cut_off_has_its_last_sample_and_replays_as_it_was_live(tmp_path):
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    writer = SessionWriter.create(tmp_path, "s", header_for(source, SCREEN, "P1"), clock=source.clock)
    acquisition.add_sink(writer)
    study = RecordingStudy([chart("a")], writer, acquisition)
    study.prepare()
    study.show(reading_layout(SCREEN, 40, 30).chart, source.clock())
    for place in ((500, 600), (1300, 400), (1200, 900)):
        source.place = place
        for _ in range(15):
            acquisition.pump()
    seen = acquisition.snapshot()
    acquisition.remove_sink(writer)
    writer.close()
    replay = Replay.open(tmp_path / "sessions" / "s")
    (trial,) = replay.trials
    assert not trial.complete
    assert len(replay.samples(trial)) == 45
    assert replay.fixations(trial)["offset_ns"][-1] == source.clock()
    again = replay.view_at(trial, seen.time_ns)
    assert again.samples.tobytes() == seen.samples.tobytes()
    assert again.fixations.tobytes() == seen.fixations.tobytes()
    assert len(again.fixations) == 2, "the third look had not ended yet"


def test_the_live_set_of_fixations_is_the_replayed_set(tmp_path):
    acquisition, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    acquisition.pump()
    assert acquisition.snapshot().fixations.tobytes() == replay.online_fixations(replay.trials[1]).tobytes()


def test_density_sums_to_one_and_peaks_at_the_longest_look(tmp_path):
    _, path = record_two_charts(tmp_path)
    replay = Replay.open(path)
    density = replay.density(replay.trials[1], 8.0)
    xy, _ = replay.fixations_on_picture(replay.trials[1])
    row, col = np.unravel_index(density.argmax(), density.shape)
    assert density.sum() == pytest.approx(1)
    assert (col, row) == pytest.approx(tuple(xy[0] * 256 / 40), abs=2)


def test_a_blink_just_before_the_chart_reaches_into_its_trial(tmp_path):
    source = ScriptedSource()
    source.open()
    acquisition = Acquisition(source, SCREEN)
    with SessionWriter.create(tmp_path, "s", header_for(source, SCREEN, "P1"), clock=source.clock) as writer:
        acquisition.add_sink(writer)
        blink = sample(STEP_NS, np.nan, np.nan)
        blink["blink"] = True
        source.now_ns = STEP_NS
        writer.gaze(blink)
        study = RecordingStudy([chart("a")], writer, acquisition)
        study.prepare()
        study.show(reading_layout(SCREEN, 40, 30).chart, source.clock() + 1)
        for _ in range(20):
            acquisition.pump()
        study.answer("x", source.clock() + 1)
    replay = Replay.open(tmp_path / "sessions" / "s")
    (found,) = replay.fixations(replay.trials[0])
    assert found["n_samples"] == 20 - 3, "100 ms after the blink are three samples of 33 ms"
    assert replay.samples(replay.trials[0])["valid"].all(), "what was recorded stays"


def test_the_offline_fixations_come_from_the_detector_that_was_named(tmp_path):
    _, path = record_two_charts(tmp_path)
    by_speed = Replay.open(path, detector="ivt")
    trial = by_speed.trials[0]
    gaze = by_speed.samples(trial)
    assert by_speed.fixations(trial).tobytes() == detect("ivt", gaze, SCREEN).tobytes()
    assert by_speed.online_fixations(trial).tobytes() == Replay.open(path).online_fixations(trial).tobytes()


def test_what_found_the_fixations_is_kept_with_them(tmp_path):
    _, path = record_two_charts(tmp_path)
    kept = {}
    for name in ("gazelab", "segmentation"):
        with np.load(keep_fixations(Replay.open(path, detector=name)), allow_pickle=False) as found:
            kept[name] = json.loads(str(found["how"])), str(found["_inputs_sha256"])
    assert kept["segmentation"][0]["detector"] == "segmentation"
    assert kept["gazelab"][0]["blink_pad_s"] == 0.1
    assert kept["gazelab"][1] != kept["segmentation"][1], "other fixations must not pass for these"


def test_a_detector_that_is_not_there_is_refused_when_the_session_is_opened(tmp_path):
    _, path = record_two_charts(tmp_path)
    with pytest.raises(ConfigError, match="there is no detector"):
        Replay.open(path, detector="idt")
