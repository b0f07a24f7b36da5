from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.gaze import Frame, SourceState, empty_features, empty_gaze
from gazelab.sources.base import Reading, SourceInfo
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.ui import theme
from gazelab.ui.hints import hints
from gazelab.ui.preview import CameraPreview
from gazelab.ui.setup_page import SetupPage


def frame(grey=120, side=1.0) -> Frame:
    rgb = np.full((480, 640, 3), grey, np.uint8)
    rgb[:, :320] = np.clip(grey * side, 0, 255)
    return Frame.from_rgb(rgb, 0, 0)


def face(iris_px=12.0):
    row = empty_features(1)[0]
    row["valid"], row["n_faces"] = True, 1
    row["eye_centre_px"] = ((350, 200), (290, 200))
    row["eye_width_px"], row["iris_px"] = (30, 30), iris_px
    return row


def words(*arguments):
    return " | ".join(h.text for h in hints(*arguments))


def test_hints_name_what_to_change():
    assert "No picture" in words(None, None, 600.0)
    assert "No face" in words(frame(), empty_features(1)[0], 600.0)
    assert "camera covered" in words(frame(5), empty_features(1)[0], 600.0)
    assert "Too dark" in words(frame(30), face(), 600.0)
    assert "Too bright" in words(frame(240), face(), 600.0)
    assert "one side" in words(frame(90, 2.4), face(), 600.0)
    assert "move back" in words(frame(), face(), 300.0)
    assert "come closer" in words(frame(), face(), 900.0)
    assert "come closer" in words(frame(), face(iris_px=5.0), 600.0)
    assert {h.role for h in hints(frame(), face(), 600.0)} == {"good"}


def test_two_faces_are_told():
    row = empty_features(1)[0]
    row["n_faces"] = 2
    assert "Two faces" in words(frame(), row, 600.0)


@pytest.mark.parametrize("mirrored", [True, False])
def test_M15_mirroring_is_painted_and_nothing_else(grab, mirrored):
    """A red corner at the picture's left: mirrored it is on the right; the frame itself stays as it is."""
    shot = frame(255)
    rgb = shot.rgb.copy()
    rgb[:40, :80] = (255, 0, 0)
    shot = Frame.from_rgb(rgb, 0, 0)
    before = shot.rgb.copy()
    preview = CameraPreview()
    preview.resize(640, 480)
    preview.mirrored = mirrored
    preview.set_frame(shot, None, face())
    image = grab(preview)
    red = (image[:20, :, 0] > 200) & (image[:20, :, 1] < 60)
    assert (np.nonzero(red)[1].mean() > 320) == mirrored
    assert (shot.rgb == before).all()


def test_M14_the_preview_keeps_red_red(grab):
    rgb = np.zeros((480, 640, 3), np.uint8)
    rgb[..., 0] = 255
    preview = CameraPreview()
    preview.resize(640, 480)
    preview.set_frame(Frame.from_rgb(rgb, 0, 0), None, None)
    assert tuple(grab(preview)[240, 320]) == (255, 0, 0)


class StillCamera(CameraGaze):
    """A camera with one picture, whose face reader is left out."""

    def __init__(self) -> None:
        self.info = SourceInfo("webcam", "test camera", has_features=True)
        self.state_now = SourceState.OK
        self.landmarks_px = np.full((478, 3), 200, np.float32)
        self.mapping = None
        self._given = False

    @property
    def info(self) -> SourceInfo:
        return self._info

    @info.setter
    def info(self, value: SourceInfo) -> None:
        self._info = value

    @property
    def state(self) -> SourceState:
        return self.state_now

    @property
    def reason(self) -> str:
        return "the picture is frozen"

    def open(self) -> None:
        pass

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        if self._given:
            return []
        self._given = True
        sample = empty_gaze(1)[0]
        sample["distance_mm"] = 610.0
        return [Reading(sample, face(), frame())]

    def close(self) -> None:
        pass


def test_the_page_shows_hints_and_says_when_the_camera_is_lost_or_ended(qtbot, workspace):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    page.show()
    page.refresh_preview()
    assert "No source" in page.preview._message
    camera = StillCamera()
    workspace.open_source(lambda: camera, pytest.fail)
    qtbot.waitUntil(lambda: workspace.acquisition is not None and workspace.acquisition.count > 0)
    page.refresh_preview()
    assert [h.text() for h in page._hints] == ["✓ Face found", "✓ Light is even", "✓ About 61 cm away"]
    camera.state_now = SourceState.LOST
    page.refresh_preview()
    assert page._hints[0].text() == "✕ the picture is frozen"
    camera.state_now = SourceState.ENDED
    page.refresh_preview()
    assert "ended" in page._hints[0].text()


def test_the_measured_distance_is_taken_on_demand(qtbot, workspace):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    form = page.screen_form
    assert not form._use.isEnabled()
    for k in range(60):
        form.offer_distance(640.0 + k % 3)
    assert form._use.isEnabled()
    form._use.click()
    assert workspace.screen.distance_mm == pytest.approx(641.0)


def page_with_source(qtbot, workspace):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    workspace.open_source(StillCamera, pytest.fail)
    qtbot.waitUntil(lambda: workspace.acquisition is not None)
    return page


def test_a_code_that_is_still_being_typed_opens_the_way_on(qtbot, workspace):
    """A disabled button takes no focus, so that the field would never be left by a click on it."""
    page = page_with_source(qtbot, workspace)
    assert not page._next.isEnabled()
    qtbot.keyClicks(page.participant, "P07")
    assert page._next.isEnabled()
    with qtbot.waitSignal(page.go_on):
        page._next.click()
    assert workspace.participant == "P07"


def test_a_code_that_cannot_be_is_nobody_and_not_the_one_before(qtbot, workspace):
    page = page_with_source(qtbot, workspace)
    page.participant.setText("P01")
    page.participant.editingFinished.emit()
    assert workspace.participant == "P01"
    page.participant.setText("anna m")
    page.participant.editingFinished.emit()
    assert workspace.participant == ""
    with qtbot.assertNotEmitted(page.go_on):
        page._next.click()
    assert "anna m" in page._participant_note.text()


def test_without_a_source_the_next_page_is_not_yet_known(qtbot, workspace):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    assert page._next.text() == "Go on  ›"


def test_every_kind_of_source_is_seen_when_the_list_opens(qtbot, qapp, workspace):
    theme.apply(qapp, theme.Theme.LIGHT)
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    page.show()
    box = page.source_form._kind
    box.showPopup()
    view = box.view()
    last = view.visualRect(view.model().index(box.count() - 1, 0))
    frame = view.window().geometry()
    assert last.height() > 20
    assert last.top() >= 0
    assert last.bottom() <= view.viewport().rect().bottom()
    assert frame.top() >= box.mapToGlobal(box.rect().bottomLeft()).y()
    box.hidePopup()
