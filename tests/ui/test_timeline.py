from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QPoint, Qt

from gazelab.core.gaze import empty_events
from gazelab.ui.token_strip import ALL_TOKENS, TokenStrip, readable
from gazelab.ui.transport import Transport

S = 1_000_000_000


@pytest.fixture
def transport(qtbot):
    made = Transport()
    qtbot.addWidget(made)
    events = empty_events(1)
    events["onset_ns"], events["offset_ns"] = S, 2 * S
    made.timeline.set_trial(4 * S, events, np.array([[2 * S, 3 * S]]))
    made.resize(700, 60)
    made.show()
    return made


def test_time_goes_by_at_the_chosen_speed_and_stops_at_the_end(transport):
    seen = []
    transport.moved.connect(seen.append)
    transport.toggle()
    assert transport.playing
    transport.advance(500)
    transport._speed.setCurrentIndex(transport._speed.findData(2.0))
    transport.advance(500)
    assert seen == [S // 2, 3 * S // 2]
    transport.advance(9000)
    assert seen[-1] == 4 * S
    assert not transport.playing
    transport.toggle()
    assert seen[-1] == 0
    transport.stop()


def test_the_keys_step_jump_and_play(qtbot, transport):
    line = transport.timeline
    seen = []
    line.moved.connect(seen.append)
    qtbot.keyClick(line, Qt.Key.Key_Right)
    qtbot.keyClick(line, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(line, Qt.Key.Key_Left)
    qtbot.keyClick(line, Qt.Key.Key_End)
    qtbot.keyClick(line, Qt.Key.Key_Right)
    qtbot.keyClick(line, Qt.Key.Key_Home)
    assert seen == [S // 10, 11 * S // 10, S, 4 * S, 4 * S, 0]
    qtbot.keyClick(line, Qt.Key.Key_Space)
    assert transport.playing
    transport.stop()


def test_a_click_moves_the_playhead_to_its_place(qtbot, transport):
    line = transport.timeline
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton, pos=QPoint(line.width() // 2, 15))
    assert line.now_ns == pytest.approx(2 * S, abs=S / 100)


def test_an_empty_timeline_does_not_play(qtbot):
    made = Transport()
    qtbot.addWidget(made)
    made.show()
    made.toggle()
    assert not made.playing


def test_the_strip_chooses_tokens_by_click_and_keys(qtbot):
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.set_tokens(("4", " 2", "</s>"))
    strip.show()
    seen = []
    strip.chosen.connect(seen.append)
    strip.step(1)
    strip.step(1)
    strip.step(-1)
    assert seen == [0, 1, 0]
    strip.step(-1)
    assert strip.current == ALL_TOKENS
    strip.step(-1)
    assert strip.current == ALL_TOKENS
    strip._group.button(3).click()
    assert seen[-1] == 2


def test_I7_blank_control_and_broken_tokens_are_shown_safely():
    assert readable(" a") == "␣a"
    assert readable("\n") == "↵"
    assert readable("") == "∅"
    assert readable("\x07\ufffd") == "\ufffd\ufffd"
    assert readable("图表") == "图表"
