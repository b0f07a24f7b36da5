"""Corrections in Replay: tried out, saved, taken back, by the keyboard."""

from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt

from gazelab.sessions.correction_entries import RecalibrateEntry, ShiftEntry, UndoEntry
from gazelab.sessions.corrections import append_correction, read_corrections
from gazelab.sessions.reader import Session
from gazelab.sessions.sections import Section
from gazelab.ui.nudge_pad import NudgePad
from gazelab.ui.replay_page import ReplayPage


@pytest.fixture
def page(qtbot, workspace, model, session_path) -> ReplayPage:
    made = ReplayPage(workspace)
    qtbot.addWidget(made)
    made.resize(1280, 800)
    made.show()
    made.open_session(session_path)
    qtbot.waitUntil(lambda: made.trial is not None)
    made.side.setCurrentWidget(made.corrections)
    made.seek(0.5)
    yield made
    workspace.io.stop()
    workspace.models.close()


def shown_x(page):
    return page.pair.person.view.samples["x_px"].astype(float)


def entries(page):
    return read_corrections(page._replay.session.path).entries


def save(qtbot, page, reason="the chair slid", button="_save"):
    before = len(entries(page))
    qtbot.keyClicks(page.corrections.reason, reason)
    qtbot.keyClick(getattr(page.corrections, button), Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: len(entries(page)) == before + 1 and page.corrections.reason.text() == "")
    qtbot.waitUntil(lambda: page.corrections.list.count() > 0 and page._loading.finished)


def test_arrow_keys_try_a_shift_out_at_once_and_nothing_is_written(qtbot, page):
    before = shown_x(page)
    fixations = page.pair.person.view.fixations["x_px"].copy()
    for _ in range(3):
        qtbot.keyClick(page.corrections.pad, Qt.Key.Key_Right)
    qtbot.keyClick(page.corrections.pad, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert page.corrections.shift_px == (3, -10)
    assert shown_x(page) == pytest.approx(before + 3)
    assert page.pair.person.view.fixations["x_px"] == pytest.approx(fixations + 3)
    qtbot.keyClick(page.corrections._reset, Qt.Key.Key_Space)
    assert shown_x(page) == pytest.approx(before)
    assert entries(page) == ()


def test_a_shift_is_saved_for_this_trial_with_its_reason_and_raw_stays_raw(qtbot, page, session_path):
    raw = (session_path / "gaze.bin").read_bytes()
    before = shown_x(page)
    page.corrections.right.setValue(25)
    assert not page.corrections._save.isEnabled(), "not without a reason"
    save(qtbot, page)
    (entry,) = entries(page)
    assert entry.change == ShiftEntry(Section(trials=(0, 0)), 25.0, 0.0)
    assert entry.reason == "the chair slid"
    assert page.corrections.shift_px == (0, 0)
    assert shown_x(page) == pytest.approx(before + 25), "at the same moment of the same trial"
    assert (session_path / "gaze.bin").read_bytes() == raw
    assert "shift by +25 px right" in page.corrections.list.item(0).text()
    assert page.focusWidget() is page.corrections.list, "not sent away with the button that is disabled"


@pytest.mark.parametrize(("index", "section"), [(1, "from here on"), (2, "all")])
def test_sections(qtbot, page, index, section):
    qtbot.keyClick(page, Qt.Key.Key_PageDown)
    qtbot.waitUntil(lambda: page.trial.index == 1)
    page.corrections.section.setCurrentIndex(index)
    page.corrections.down.setValue(-5)
    save(qtbot, page, section)
    wanted = Section() if section == "all" else Section(from_ns=page.trial.onset_ns)
    assert entries(page)[0].change.section == wanted
    assert page.trial.index == 1


def test_undo_and_put_back(qtbot, page):
    before = shown_x(page)
    page.corrections.right.setValue(25)
    save(qtbot, page)
    assert page.corrections._back.text() == "Undo"
    save(qtbot, page, "wrong", "_back")
    assert shown_x(page) == pytest.approx(before)
    assert page.corrections._back.text() == "Put back"
    assert page.corrections.list.item(0).font().strikeOut()
    save(qtbot, page, "right after all", "_back")
    assert shown_x(page) == pytest.approx(before + 25)
    assert [e.in_force for e in entries(page)] == [True, False, True]


def test_the_list_tells_what_was_replaced_and_what_was_undone(qtbot, page, session_path):
    for change in (
        ShiftEntry(Section(), 5.0, 0.0),
        ShiftEntry(Section(trials=(0, 0)), 5.0, 0.0),
        RecalibrateEntry(Section(trials=(0, 0)), "calibration/p", "0" * 64),
        ShiftEntry(Section(), 9.0, 0.0),
        UndoEntry(4),
    ):
        append_correction(session_path, change, "why")
    page.corrections.set_replay(page._replay)
    shown = [page.corrections.list.item(row) for row in range(page.corrections.list.count())]
    wanted = ["replaced by 3 in trial 1", "replaced by 3", "in force", "undone"]
    assert [item.text().rpartition(" (")[2] for item in shown] == [f"{state})" for state in wanted]
    assert [item.font().strikeOut() for item in shown] == [False, True, False, True]


def test_with_and_without_corrections(qtbot, page):
    before = shown_x(page)
    page.corrections.right.setValue(25)
    save(qtbot, page)
    for index, moved in ((2, 0.0), (0, 25.0)):
        page.corrections.layers.setCurrentIndex(index)
        page.corrections.layers.activated.emit(index)
        qtbot.waitUntil(lambda: page._replay.layers == page.corrections.layers.currentData())
        assert shown_x(page) == pytest.approx(before + moved)


def test_what_cannot_be_saved_is_told_and_can_be_tried_again(qtbot, page, workspace, session_path):
    told = []
    workspace.told.connect(lambda text, role: told.append((text, role)))
    (session_path / "corrections.jsonl").write_text("garbage\n")
    page.corrections.right.setValue(25)
    qtbot.keyClicks(page.corrections.reason, "why")
    qtbot.keyClick(page.corrections._save, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bool(told))
    assert "line 1 of the corrections" in told[-1][0]
    assert page.corrections.shift_px == (25, 0)
    assert page.corrections._save.isEnabled()


def test_a_correction_that_cannot_be_followed_leaves_the_live_gaze_and_can_be_undone(
    qtbot, workspace, model, session_path
):
    entry = RecalibrateEntry(Section(), "calibration/gone", "ab" * 32)
    append_correction(session_path, entry, "why", "me")
    told = []
    workspace.told.connect(lambda text, role: told.append(text))
    page = ReplayPage(workspace)
    qtbot.addWidget(page)
    page.open_session(session_path)
    qtbot.waitUntil(lambda: page.trial is not None)
    assert page.corrections.layers.currentData() == "live"
    assert any("gone" in text for text in told)
    save(qtbot, page, "its profile is gone", "_back")
    qtbot.waitUntil(lambda: page._replay.layers == "all")
    workspace.io.stop()
    workspace.models.close()


def test_a_drift_check_is_listed_and_cannot_be_undone(qtbot, workspace, model, session_path):
    append_correction(session_path, ShiftEntry(Section(), 1.0, 0.0), "why", "me")
    marks = session_path / "markers.jsonl"
    line = '{"time_ns": 5, "kind": "drift_check", "decision": "corrected", "correction_px": [40.0, 0.0]}\n'
    marks.write_text(marks.read_text() + line)
    page = ReplayPage(workspace)
    qtbot.addWidget(page)
    page.open_session(session_path)
    qtbot.waitUntil(lambda: page.trial is not None)
    panel = page.corrections
    assert panel.list.count() == 2
    assert "drift check" in panel.list.item(0).text()
    qtbot.keyClicks(panel.reason, "why")
    assert panel._back.isEnabled()
    panel.list.setCurrentRow(0)
    assert not panel._back.isEnabled()
    workspace.io.stop()
    workspace.models.close()


def test_a_session_without_features_offers_no_recalibration(page):
    assert page._replay.session.header.feature_version == ""
    assert not page.corrections.profiles.isEnabled()
    assert not page.corrections._recalibrate.isEnabled()


def test_without_a_session_nothing_can_be_pressed(qtbot, workspace, model):
    page = ReplayPage(workspace)
    qtbot.addWidget(page)
    panel = page.corrections
    for widget in (panel.pad, panel._save, panel._back, panel.reason, panel.layers, panel._recalibrate):
        assert not widget.isEnabled()


def test_the_pad_is_dragged_by_whole_px(qtbot):
    pad, moves = NudgePad(), []
    qtbot.addWidget(pad)
    pad.show()
    pad.nudged.connect(lambda dx, dy: moves.append((dx, dy)))
    qtbot.mousePress(pad, Qt.MouseButton.LeftButton, pos=QPoint(20, 20))
    qtbot.mouseMove(pad, QPoint(27, 16))
    qtbot.mouseMove(pad, QPoint(30, 20))
    qtbot.mouseRelease(pad, Qt.MouseButton.LeftButton, pos=QPoint(30, 20))
    assert np.sum(moves, axis=0).tolist() == [10, 0]


def test_the_session_itself_is_only_read(qtbot, page, session_path):
    before = Session.open(session_path).gaze().tobytes()
    page.corrections.right.setValue(25)
    save(qtbot, page)
    assert Session.open(session_path).gaze().tobytes() == before


def test_an_empty_list_says_that_nothing_was_corrected(qtbot, page, pixels_of):
    listed = page.corrections.list
    assert listed.count() == 0
    empty = pixels_of(listed.viewport().grab().toImage())
    assert len(np.unique(empty.reshape(-1, empty.shape[-1]), axis=0)) > 1  # words, not an empty box
