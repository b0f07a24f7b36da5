from __future__ import annotations

import json
import shutil

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication

from gazelab.pipeline.replay import Replay
from gazelab.sessions.exclusions import FILE_NAME
from gazelab.ui import theme
from gazelab.ui.quality_view import QualityTab
from gazelab.ui.replay_page import ReplayPage


@pytest.fixture
def poor_path(session_path):
    """The scripted session, whose second chart another window covered and half of whose gaze is gone."""
    [second] = Replay.open(session_path).trials[1:]
    at = second.onset_ns + 100_000_000
    lines = (session_path / "markers.jsonl").read_text().splitlines()
    lines.insert(-2, json.dumps({"time_ns": at, "kind": "focus_lost"}))
    (session_path / "markers.jsonl").write_text("\n".join(lines) + "\n")
    return session_path


@pytest.fixture
def tab(qtbot, workspace, poor_path):
    made = QualityTab(workspace)
    qtbot.addWidget(made)
    made.set_replay(Replay.open(poor_path))
    qtbot.waitUntil(lambda: made.quality is not None)
    return made


def verdicts(tab: QualityTab) -> list[str]:
    return [tab.table.item(row, 1).text() for row in range(tab.table.rowCount())]


def test_each_trial_has_its_verdict_in_words_and_its_reasons_beside(tab):
    assert verdicts(tab) == ["✓ Keep", "? Review"]
    assert tab.summary.text().startswith("1 to keep, 1 to review, 0 to exclude")
    tab.table.setCurrentCell(1, 1)
    assert tab.reasons.text() == "Trial 2: ? Review\n• another window took the keyboard once"
    assert tab.table.item(1, 1).toolTip() == "another window took the keyboard once"
    tab.table.setCurrentCell(0, 1)
    assert "Nothing is beyond its limit." in tab.reasons.text()


def test_a_decision_needs_a_reason_and_goes_into_the_session(qtbot, tab, poor_path):
    tab.table.setCurrentCell(1, 1)
    keep, _, exclude = tab._verdicts
    assert not exclude.isEnabled()
    assert not tab._back.isEnabled()
    qtbot.keyClicks(tab.why, "a phone rang")
    assert exclude.isEnabled()
    qtbot.keyClick(exclude, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: verdicts(tab)[1] == "✕ Exclude (hand)")
    assert tab.table.currentRow() == 1
    assert "decided by hand (the limits say review): a phone rang" in tab.reasons.text()
    assert tab.why.text() == ""
    assert not keep.isEnabled()
    assert tab.focusWidget() is tab.table, "not sent away with the button that is disabled"
    [line] = (poor_path / FILE_NAME).read_text().splitlines()
    assert json.loads(line)["reason"] == "a phone rang"
    kept = json.loads((poor_path / "derived" / "quality.json").read_text())
    assert kept["data"]["trials"][1]["verdict"] == "exclude"


def test_a_decision_can_be_taken_back_and_both_lines_stay(qtbot, tab, poor_path):
    tab.table.setCurrentCell(0, 1)
    tab.why.setText("looked away")
    tab._verdicts[2].click()
    qtbot.waitUntil(lambda: tab._back.isEnabled())
    tab._back.click()
    qtbot.waitUntil(lambda: verdicts(tab)[0] == "✓ Keep")
    assert not tab._back.isEnabled()
    assert len((poor_path / FILE_NAME).read_text().splitlines()) == 2


def test_a_decision_that_cannot_be_written_is_told_and_nothing_changes(qtbot, tab, workspace, poor_path):
    (poor_path / FILE_NAME).mkdir()
    told = []
    workspace.told.connect(lambda text, role: told.append((text, role)))
    tab.table.setCurrentCell(1, 1)
    tab.why.setText("why")
    tab._verdicts[2].click()
    qtbot.waitUntil(lambda: bool(told))
    assert FILE_NAME in told[0][0]
    assert told[0][1] == "bad"
    assert verdicts(tab)[1] == "? Review"


def test_decisions_that_cannot_be_read_are_told_instead_of_a_verdict(qtbot, workspace, poor_path):
    (poor_path / FILE_NAME).mkdir()
    tab = QualityTab(workspace)
    qtbot.addWidget(tab)
    tab.set_replay(Replay.open(poor_path))
    qtbot.waitUntil(lambda: FILE_NAME in tab.summary.text())
    assert tab.table.rowCount() == 0


def test_a_click_or_enter_opens_the_trial(qtbot, workspace, poor_path, model):
    page = ReplayPage(workspace)
    qtbot.addWidget(page)
    page.open_session(poor_path)
    tab = page.quality
    qtbot.waitUntil(lambda: page.trial is not None and tab.quality is not None)
    assert (page.trial.index, tab.table.currentRow()) == (0, 0)
    page.side.setCurrentWidget(tab)
    table = tab.table
    qtbot.mouseClick(
        table.viewport(), Qt.MouseButton.LeftButton, pos=table.visualItemRect(table.item(1, 2)).center()
    )
    assert page.trial.index == 1
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert page.trial.index == 1, "a look at the reasons moves nothing"
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert page.trial.index == 0
    assert "Gaze:\N{NO-BREAK SPACE}✓\N{NO-BREAK SPACE}Keep" in page._question.text()
    page.choice.step(1)
    assert table.currentRow() == 1
    assert "Gaze:\N{NO-BREAK SPACE}?\N{NO-BREAK SPACE}Review" in page._question.text()
    qtbot.waitUntil(lambda: page.scores.rowCount() > 0)


def test_nothing_of_the_session_before_stays(qtbot, workspace, poor_path, model, tmp_path):
    page = ReplayPage(workspace)
    qtbot.addWidget(page)
    page.open_session(poor_path)
    qtbot.waitUntil(lambda: page.quality.quality is not None)
    empty = tmp_path / "empty"
    empty.mkdir()
    page.open_session(empty)
    assert page.quality.table.rowCount() == 0
    assert (page.quality.reasons.text(), page.quality.summary.text()) == ("", "")
    assert not page.quality.why.isEnabled()
    shutil.copytree(poor_path, tmp_path / "again")
    page.open_session(tmp_path / "again")
    qtbot.waitUntil(lambda: page.quality.table.rowCount() == 2)
    qtbot.waitUntil(lambda: page.trace is not None and page.scores.rowCount() > 0)


def test_verdicts_are_readable_in_both_themes(qtbot, tab):
    app = QApplication.instance()
    try:
        for choice, tokens in ((theme.Theme.DARK, theme.DARK), (theme.Theme.LIGHT, theme.LIGHT)):
            theme.apply(app, choice)
            colours = [tab.table.item(row, 1).foreground().color().name() for row in (0, 1)]
            assert colours == [tokens.good, tokens.warn]
    finally:
        theme.apply(app, theme.Theme.LIGHT)
