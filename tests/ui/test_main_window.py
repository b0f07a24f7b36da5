from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import QPointF, QSize, Qt, QTimer
from PyQt6.QtGui import QCursor
from PyQt6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QWidget

from gazelab.charts.shipped import load_charts
from gazelab.sessions.reader import Session
from gazelab.ui import theme
from gazelab.ui.colours import contrast
from gazelab.ui.faults import FaultReporter
from gazelab.ui.keys import key_table
from gazelab.ui.live_sources import SourceKind
from gazelab.ui.main_window import CALIBRATE, EXPLORE, RECORD, REPLAY, SETUP, MainWindow
from gazelab.ui.stimulus_window import Phase
from gazelab.ui.theme import Theme

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def window(qtbot, workspace, model):
    made = MainWindow(workspace)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.close()


def test_the_window_is_not_larger_than_the_screen(window):
    window._fit_screen(QSize(99_999, 99_999))
    room = window.screen().availableSize()
    assert (window.width(), window.height()) == (
        max(room.width(), window.minimumWidth()),
        max(room.height(), window.minimumHeight()),
    )


def start_pointer(qtbot, window):
    """On Setup, by the keyboard: the pointer as source, and a participant."""
    form = window.setup.source_form
    qtbot.keyClick(form._kind, Qt.Key.Key_Down)
    while form.kind is not SourceKind.POINTER:
        qtbot.keyClick(form._kind, Qt.Key.Key_Down)
    qtbot.keyClick(form._start, Qt.Key.Key_Space)
    qtbot.keyClicks(window.setup.participant, "P01")
    qtbot.keyClick(window.setup.participant, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.workspace.acquisition is not None)


def begin_recording(qtbot, window, n):
    window.go(RECORD)
    qtbot.waitUntil(lambda: bool(window.record.charts.items))
    window.record.set_trials(n)
    qtbot.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.record.running)
    return window.record.stimulus


def read_one(qtbot, stimulus, text):
    qtbot.waitUntil(lambda: stimulus._armed)
    qtbot.keyClick(stimulus, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: stimulus.phase is Phase.READING and stimulus._armed)
    acquisition = stimulus._study.acquisition
    before = acquisition.count
    qtbot.waitUntil(lambda: acquisition.count > before + 10)
    qtbot.keyClicks(stimulus._answer, text)
    qtbot.keyClick(stimulus._answer, Qt.Key.Key_Return)


def test_main_path_with_the_pointer_and_the_keyboard_only(qtbot, window, workspace, model):
    monitor = workspace.monitor
    QCursor.setPos(monitor.geometry().center())
    start_pointer(qtbot, window)
    qtbot.keyClick(window, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert window.page == RECORD, "the pointer needs no calibration"
    assert window.record._gate.text() == "Ready for participant P01."
    stimulus = begin_recording(qtbot, window, 2)
    assert window.record._gate.text() == "Participant P01."
    for text in ("26", "no"):
        read_one(qtbot, stimulus, text)
    qtbot.waitUntil(lambda: not window.record.running)
    assert window.record._gate.text() == "Ready for participant P01."

    [path] = (workspace.root / "sessions").iterdir()
    session = Session.open(path)
    assert [t.given for t in session.trials()] == ["26", "no"]
    assert session.header.source.name == "pointer"
    assert session.header.participant == "P01"
    gaze = session.gaze()
    assert gaze["valid"].any()
    middle = QPointF(monitor.geometry().center())
    assert float(np.nanmedian(gaze["x_px"])) == pytest.approx(middle.x(), abs=1)

    assert window.page == REPLAY, "what was recorded is shown"
    page = window.replay
    qtbot.waitUntil(lambda: page.trace is not None and page.scores.rowCount() > 0)
    assert page.trace.answer == "42"
    assert page.trial.given == "26"
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(page, Qt.Key.Key_PageDown)
    qtbot.waitUntil(lambda: page.trial is not None and page.trial.given == "no")


def test_G14_without_a_calibration_start_is_shut_and_an_override_is_written(
    qtbot, window, workspace, run_source
):
    run_source(has_features=True)
    workspace.set_participant("P02")
    window.go(RECORD)
    qtbot.waitUntil(lambda: bool(window.record.charts.items))
    assert not window.record._begin.isEnabled()
    assert "P02" in window.record._gate.text()
    window.record._override.click()
    assert window.record._begin.isEnabled()
    stimulus = begin_recording(qtbot, window, 1)
    stimulus.stop("enough")
    [path] = (workspace.root / "sessions").iterdir()
    header = Session.open(path).header
    assert not header.calibrated
    assert not header.for_dataset
    assert "without a valid calibration" in json.loads((path / "session.json").read_text())["note"]


def test_G8_another_participant_shuts_the_gate_again(qtbot, window, workspace, run_source):
    run_source(has_features=True)
    workspace.set_participant("P02")
    workspace.override("a try-out")
    assert workspace.may_record() == ""
    assert window.record._override.isChecked()
    workspace.set_participant("P03")
    assert workspace.may_record() != ""
    assert not window.record._override.isChecked()


def test_R12_a_name_is_refused_as_a_code(qtbot, window, workspace):
    for text in ("A/B", "José", "con", "..", "x" * 40):
        window.setup.participant.setText(text)
        window.setup.next_step()
        assert workspace.participant == ""
        assert "cannot be a participant code" in window.setup._participant_note.text()
    window.setup.participant.setText("007")
    window.setup.next_step()
    assert workspace.participant == "007"


def test_U8_a_bug_in_a_slot_saves_tells_and_lives_on(qtbot, window, workspace, caplog):
    reporter = FaultReporter(window, window.save_now, "gazelab.log")
    reporter.install()
    try:
        start_pointer(qtbot, window)
        stimulus = begin_recording(qtbot, window, 2)
        read_one(qtbot, stimulus, "26")
        QTimer.singleShot(0, lambda: [][1])
        qtbot.waitUntil(lambda: reporter.dialog is not None)
        assert "IndexError" in reporter.dialog.informativeText()
        assert "IndexError" in caplog.text
        assert not window.record.running
        [path] = (workspace.root / "sessions").iterdir()
        assert [t.given for t in Session.open(path).trials()] == ["26"]
        reporter.dialog.accept()
        qtbot.waitUntil(lambda: reporter.dialog is None)
        window.go(SETUP)
    finally:
        reporter.uninstall()


def test_U8_a_bug_in_a_thread_is_told_too(qtbot, window):
    reporter = FaultReporter(window, window.save_now, "gazelab.log")
    reporter.install()
    try:
        thread = threading.Thread(target=lambda: {}["no"])
        thread.start()
        thread.join()
        qtbot.waitUntil(lambda: reporter.dialog is not None)
        assert "KeyError" in reporter.dialog.informativeText()
        reporter.dialog.accept()
        qtbot.waitUntil(lambda: reporter.dialog is None)
    finally:
        reporter.uninstall()


def test_U7_closing_in_a_recording_saves_it(qtbot, window, workspace):
    start_pointer(qtbot, window)
    stimulus = begin_recording(qtbot, window, 2)
    read_one(qtbot, stimulus, "26")
    window.close()
    [path] = (workspace.root / "sessions").iterdir()
    session = Session.open(path)
    assert [t.given for t in session.trials()] == ["26"]
    assert [m["kind"] for m in session.markers()][-1] == "session_end"


def test_U7_closing_while_the_model_runs_stops_it(qtbot, window, workspace, model):
    model.hold.clear()
    window.go(EXPLORE)
    qtbot.waitUntil(lambda: window.explore.pair.person.picture is not None)
    window.explore.ask()
    qtbot.waitUntil(lambda: bool(model.asked))
    threading.Timer(0.2, model.hold.set).start()
    window.close()
    assert not workspace.models.busy or workspace.close()


@pytest.mark.parametrize("job", ["camera", "model"])
def test_U7_the_process_ends_with_0_even_if_a_library_hangs(tmp_path, job):
    code = f"""
        import sys, threading
        import gazelab.ui.model_host as model_host
        import gazelab.ui.workers as workers
        workers.STOP_DEADLINE_S = 0.3
        workers.Worker.stop.__defaults__ = (0.3,)
        never = threading.Event()
        model_host.open_model = lambda name: never.wait()
        from PyQt6.QtCore import QTimer
        from gazelab import app
        from gazelab.ui.main_window import MainWindow
        def hang(window):
            if {job!r} == "model":
                window.workspace.models.run("x", lambda m, j: m, print, print)
            else:
                window.workspace.open_source(lambda: never.wait(), print)
            QTimer.singleShot(200, window.close)
        shown = MainWindow.showEvent
        def show_event(self, event):
            QTimer.singleShot(0, lambda: hang(self))
        MainWindow.showEvent = show_event
        sys.exit(app.main(["--data", {str(tmp_path)!r}]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, cwd=ROOT,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "does not stop" in (tmp_path / "gazelab.log").read_text()


def test_C1_the_window_ticks_while_a_source_takes_long_to_open(qtbot, window, workspace):
    ticks, let_go, faults = [], threading.Event(), []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(1))
    timer.start(5)
    job = workspace.open_source(lambda: let_go.wait(30), faults.append)
    qtbot.waitUntil(lambda: len(ticks) > 20)
    job.cancel()
    let_go.set()
    timer.stop()
    assert workspace.acquisition is None
    assert faults == []


def test_a_session_opens_on_replay_and_the_token_moves_the_map(qtbot, window, session_path, model):
    window.open_session(session_path)
    page = window.replay
    qtbot.waitUntil(lambda: page.trace is not None and page.scores.rowCount() > 0)
    assert window.page == REPLAY
    assert page.pair.strip.tokens == ("4", "2")
    whole = page.pair.model.heat.values
    page.pair.strip.step(1)
    first = page.pair.model.heat.values
    page.pair.strip.step(1)
    second = page.pair.model.heat.values
    assert np.unravel_index(first.argmax(), first.shape) == (1, 2)
    assert np.unravel_index(second.argmax(), second.shape) == (2, 2)
    assert whole[1, 2] == pytest.approx(whole[2, 2])
    assert model.asked == [page.trial.question]


def test_replay_shows_what_live_showed_at_each_moment(qtbot, window, session_path, model):
    window.open_session(session_path)
    page = window.replay
    qtbot.waitUntil(lambda: page.trial is not None)
    page.seek(0.1)
    assert len(page.pair.person.view.fixations) == 0
    page.seek(1.0)
    view = page.pair.person.view
    assert len(view.fixations) >= 2
    assert view.placement == page.trial.placement
    x, y = view.placement.to_picture(view.fixations["x_px"], view.fixations["y_px"])
    assert float(x[0]) == pytest.approx(0.2 * view.placement.picture_width_px, abs=2)
    assert float(y[0]) == pytest.approx(0.3 * view.placement.picture_height_px, abs=2)
    qtbot.waitUntil(lambda: page.scores.rowCount() > 0)


def test_a_folder_that_is_no_session_is_told_in_a_sentence(qtbot, window, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    window.open_session(empty)
    qtbot.waitUntil(lambda: "empty" in window._told.text())
    assert window.replay.trial is None


def test_V18_scores_never_stand_alone_and_the_words_are_neutral(qtbot, window, session_path):
    window.open_session(session_path)
    table = window.replay.scores
    qtbot.waitUntil(lambda: table.rowCount() > 0)
    heads = [table.horizontalHeaderItem(k).text() for k in range(table.columnCount())]
    assert heads[1:] == ["Map", "Centre", "Uniform", "Chance 95 %"]
    names = [table.item(k, 0).text().split()[0] for k in range(table.rowCount())]
    assert {"NSS", "AUC", "CC", "SIM", "KLD", "IG"} <= set(names)
    shown = " ".join(w.text() for w in window.findChildren(QLabel)).lower()
    assert "attention weight" in shown
    assert "explanation" not in shown


def test_explore_shows_token_by_token_and_says_it_is_no_data(qtbot, window, workspace, run_source):
    source = run_source()
    window.go(EXPLORE)
    page = window.explore
    qtbot.waitUntil(lambda: page.pair.person.picture is not None)
    assert "Not for datasets" in " ".join(w.text() for w in page.findChildren(QLabel))
    page.question.setText("What is highest?")
    qtbot.keyClick(page.question, Qt.Key.Key_Return)
    assert page.pair._model_note.toolTip() == "Opening …"
    qtbot.waitUntil(lambda: len(page.asking._waiting) == 2)
    assert page.pair._model_note.toolTip() == "Reading …"
    page.asking.show_next()
    assert page.pair.strip.tokens == ("4",)
    page.asking.show_next()
    assert page.pair.strip.tokens == ("4", "2")
    qtbot.waitUntil(lambda: page.asking.trace is not None and page.asking.trace.answer == "42")
    placed = page.pair.person.screen_placement(workspace.monitor)
    x, y = (float(v) for v in placed.to_screen(100, 80))
    source.look(workspace.clock(), x, y)
    acquisition = workspace.acquisition
    before = acquisition.count
    qtbot.waitUntil(lambda: acquisition.count > before or acquisition.count > 0)
    page.show_gaze()
    view = page.pair.person.view
    shown = view.placement.to_picture(view.samples["x_px"][-1], view.samples["y_px"][-1])
    assert [float(v) for v in shown] == pytest.approx([100, 80], abs=0.5)
    assert not (workspace.root / "sessions").exists()


def test_a_synthetic_participant_reads_the_chart_on_explore_once(
    qtbot, window, workspace, run_source, monkeypatch
):
    run_source()
    told = []
    monkeypatch.setattr(workspace.driver, "read", lambda *what: told.append(what))
    window.go(EXPLORE)
    page = window.explore
    qtbot.waitUntil(lambda: bool(told))
    page.show_gaze()
    source, chart, placement, *_ = told[0]
    assert len(told) == 1
    assert source is workspace.source
    assert chart is page.charts.items[0]
    assert placement == page.pair.person.screen_placement(workspace.monitor)
    page._items.setCurrentIndex(1)
    page.show_gaze()
    assert [chart for _, chart, *_ in told] == list(page.charts.items[:2])


@pytest.mark.parametrize("choice", [Theme.LIGHT, Theme.DARK])
def test_U4_every_text_stands_out_from_its_ground(qtbot, window, session_path, pixels_of, choice):
    app = QApplication.instance()
    theme.apply(app, choice)
    try:
        window.open_session(session_path)
        qtbot.waitUntil(lambda: window.replay.scores.rowCount() > 0)
        weak = []
        for index in (SETUP, CALIBRATE, RECORD, REPLAY, EXPLORE):
            window.go(index)
            qtbot.waitUntil(lambda: not window.workspace.io.busy)
            for widget in window.findChildren(QWidget):
                text = _text_of(widget)
                seen = widget.visibleRegion().boundingRect()
                if not text or not widget.isVisible() or min(seen.width(), seen.height()) < 8:
                    continue
                got = _text_contrast(pixels_of(_drawn(window, widget)))
                if got < 4.5:
                    weak.append((window.names[index], type(widget).__name__, text, round(got, 1)))
        assert not weak
    finally:
        theme.apply(app, Theme.LIGHT)


def _text_of(widget):
    if isinstance(widget, (QLabel, QAbstractButton)):
        return widget.text().strip()
    if isinstance(widget, QLineEdit):
        return widget.text() or widget.placeholderText()
    return widget.currentText() if isinstance(widget, QComboBox) else ""


def _drawn(window, widget):
    """The widget as it is in the window, its ground included."""
    corner = widget.mapTo(window, widget.rect().topLeft())
    return window.grab(widget.rect().translated(corner)).toImage()


def _text_contrast(image):
    """The strongest contrast of any pixel with the commonest colour."""
    colours, counts = np.unique(image.reshape(-1, 3), axis=0, return_counts=True)
    ground = tuple(int(v) for v in colours[counts.argmax()])
    return max(contrast(ground, tuple(int(v) for v in c)) for c in colours)


def test_every_key_in_the_help_has_words(qapp):
    rows = [row for _, keys in key_table() for row in keys]
    assert len(rows) > 15
    assert all(key and what for key, what in rows)


def test_ctrl_and_a_number_goes_to_the_page(qtbot, window):
    for number, index in enumerate((SETUP, CALIBRATE, RECORD, REPLAY, EXPLORE), 1):
        key = getattr(Qt.Key, f"Key_{number}")
        qtbot.keyClick(window, key, Qt.KeyboardModifier.ControlModifier)
        assert window.page == index


def test_charts_that_could_not_be_shown_are_told_at_the_end(qtbot, window, workspace, run_source, tmp_path):
    run_source()
    workspace.set_participant("P01")
    good = load_charts()[0]
    (tmp_path / "half.png").write_bytes(b"\x89PNG\r\n")
    window.go(RECORD)
    page = window.record
    qtbot.waitUntil(lambda: bool(page.charts.items))
    page.charts.items = [replace(good, source=tmp_path / "half.png"), good]
    page._charts_loaded()
    page.begin()
    stimulus = page.stimulus
    qtbot.waitUntil(lambda: stimulus._armed)
    qtbot.keyClick(stimulus, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: stimulus.phase is Phase.READING and stimulus._armed)
    stimulus.give("26")
    qtbot.waitUntil(lambda: page.stimulus is None)
    assert "Not shown: 1 of 2 charts" in page._told.text()
    assert "chart-01.png" in page._told.text()
    assert page._told.property("role") == "warn"


def test_nothing_of_the_session_before_stays_beside_a_broken_one(qtbot, window, session_path, tmp_path):
    page = window.replay
    window.open_session(session_path)
    qtbot.waitUntil(lambda: page.trial is not None)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "session.json").write_text("{")
    window.open_session(broken)
    qtbot.waitUntil(lambda: "broken" in window._told.text())
    assert page.choice._trials.count() == 0
    assert page.choice._sessions.currentText() == "broken"
    page.choice.step(1)
    assert page.trial is None
    window.open_session(session_path)
    qtbot.waitUntil(lambda: page.trial is not None)
    assert window._told.text() == ""
    assert page.choice._trials.count() > 0


def test_the_application_outlives_whoever_made_it():
    """Dropped before its windows, as at the end of a function, it takes the process down now and then."""
    code = """
        import gc
        from PyQt6.QtWidgets import QApplication
        from gazelab.app import make_application
        from gazelab.settings import Settings
        from gazelab.ui.theme import Theme

        def open_and_leave():
            make_application(Settings(), Theme.LIGHT)

        open_and_leave()
        gc.collect()
        assert QApplication.instance() is not None
    """
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
