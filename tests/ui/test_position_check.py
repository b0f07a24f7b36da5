from __future__ import annotations

import numpy as np
import pytest
from PyQt6.QtCore import QRectF

from gazelab.ui.camera_look import CameraLook, camera_look, has_camera
from gazelab.ui.colours import NEUTRAL_RGB, contrast
from gazelab.ui.hints import hints
from gazelab.ui.position_check import PositionCheck
from gazelab.ui.preview import CameraPreview, head_outline
from gazelab.ui.theme import Theme, apply


@pytest.fixture
def check(qtbot, shot, face):
    """A check whose picture a test puts in `see`; its clock is `now`."""
    now = [0]
    seen = {"look": None}
    made = PositionCheck(lambda: seen["look"], lambda: now[0])
    qtbot.addWidget(made)
    made.resize(1366, 768)

    def see(frame, features, distance_mm=600.0):
        said = hints(frame, features, distance_mm, 30.0)
        seen["look"] = CameraLook(frame, None, features, distance_mm, said)
        for _ in range(2):
            now[0] += 1_000_000_000
            made.refresh()

    made.see = see
    return made


def test_a_participant_who_sits_well_is_told_so(check, shot, face):
    check.see(shot(), face())
    assert check.is_ready
    assert "Ready" in check._state.text()
    assert check.preview._outline == "good"


def test_a_participant_who_sits_badly_is_told_what_to_change_and_may_go_on(check, shot, face):
    check.see(shot(30), face(x=100))
    assert not check.is_ready
    assert [t for t in check.board.texts if t.startswith("! ")] == [
        "! Move a little to your left", "! Too dark: put a light in front of the face"
    ]  # fmt: skip
    assert "begin anyway" in check._state.text()
    check.see(shot(), face())
    assert check.is_ready


def test_without_a_picture_it_says_so(check):
    check.refresh()
    assert "no picture yet" in check._state.text()
    assert check.board.texts == []


@pytest.mark.parametrize("size", [(1366, 768), (683, 384), (1920, 1080)])
def test_everything_fits_at_every_size_of_screen(qtbot, check, shot, face, size):
    check.resize(*size)
    check.show()
    check.see(shot(30), face(eye_px=12), 900.0)
    assert check.minimumSizeHint().height() <= size[1]
    assert check.preview.height() > 0.25 * size[1]
    places = check.board._places
    qtbot.waitUntil(lambda: all(p.height() >= p.heightForWidth(p.width()) for p in places))
    qtbot.waitUntil(lambda: check.board.geometry().bottom() < check._state.geometry().top())


def test_U4_its_words_are_read_on_the_fixed_ground_in_both_themes(qapp, check, shot, face, pixels_of):
    pictures = []
    for theme in (Theme.LIGHT, Theme.DARK):
        apply(qapp, theme)
        check.show()
        check.see(shot(30), face())
        pictures.append(pixels_of(check._state.grab().toImage()))
        ink = check._state.palette().windowText().color()
        assert contrast((ink.red(), ink.green(), ink.blue()), NEUTRAL_RGB) >= 4.5
    apply(qapp, Theme.LIGHT)
    assert pictures[0].min() == pictures[1].min()


def test_the_outline_is_as_large_as_a_head_at_60_cm():
    """A lens of 60 degrees sees 693 mm across at 60 cm; a head is 155 mm of them."""
    outline = head_outline(QRectF(0, 0, 1280, 720))
    assert outline.width() == pytest.approx(1280 * 155 / 692.8, rel=1e-3)
    assert QRectF(0, 0, 1280, 720).contains(outline)
    assert QRectF(0, 0, 640, 480).contains(head_outline(QRectF(0, 0, 640, 480)))


def test_the_outline_is_drawn_over_the_picture(grab, shot):
    plain, outlined = CameraPreview(), CameraPreview()
    for preview in (plain, outlined):
        preview.resize(640, 480)
        preview.set_frame(shot(), None, None)
    outlined.set_outline("good")
    drawn = grab(outlined).astype(int)
    changed = np.abs(drawn - grab(plain)).max(-1) > 40
    left = head_outline(QRectF(0, 0, 640, 480)).left()
    cols = np.nonzero(changed[216])[0]
    assert cols.min() == pytest.approx(left, abs=5)
    assert tuple(drawn[216, 320]) == (120, 120, 120), "within the outline the picture is as it is"


def test_a_look_at_a_source_without_a_camera_is_none(workspace, run_source):
    assert not has_camera(workspace)
    run_source()
    assert not has_camera(workspace)
    assert camera_look(workspace) is None


def test_a_look_at_a_camera_has_hints_and_the_measured_distance(qtbot, workspace, still_camera):
    workspace.open_source(still_camera, pytest.fail)
    qtbot.waitUntil(lambda: workspace.acquisition is not None and workspace.acquisition.count > 0)
    assert has_camera(workspace)
    look = camera_look(workspace)
    assert look.distance_mm == 610.0
    assert "About 61 cm away" in [h.text for h in look.hints]
