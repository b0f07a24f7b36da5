from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.errors import ConfigError
from gazelab.core.gaze import Frame, SourceState
from gazelab.ui import theme
from gazelab.ui.hints import SteadyHints
from gazelab.ui.live_sources import SourceKind
from gazelab.ui.preview import CameraPreview
from gazelab.ui.setup_page import SetupPage


@pytest.mark.parametrize("mirrored", [True, False])
def test_M15_mirroring_is_painted_and_nothing_else(grab, shot, face, mirrored):
    """A red corner at the picture's left: mirrored it is on the right; the frame itself stays as it is."""
    rgb = shot(255).rgb.copy()
    rgb[:40, :80] = (255, 0, 0)
    red_corner = Frame.from_rgb(rgb, 0, 0)
    before = red_corner.rgb.copy()
    preview = CameraPreview()
    preview.resize(640, 480)
    preview.mirrored = mirrored
    preview.set_frame(red_corner, None, face())
    image = grab(preview)
    red = (image[:20, :, 0] > 200) & (image[:20, :, 1] < 60)
    assert (np.nonzero(red)[1].mean() > 320) == mirrored
    assert (red_corner.rgb == before).all()


def test_M14_the_preview_keeps_red_red(grab):
    rgb = np.zeros((480, 640, 3), np.uint8)
    rgb[..., 0] = 255
    preview = CameraPreview()
    preview.resize(640, 480)
    preview.set_frame(Frame.from_rgb(rgb, 0, 0), None, None)
    assert tuple(grab(preview)[240, 320]) == (255, 0, 0)


def test_the_page_shows_hints_and_says_when_the_camera_is_lost_or_ended(qtbot, workspace, still_camera):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    page.show()
    page.refresh_preview()
    assert "No source" in page.preview._message
    camera = still_camera()
    workspace.open_source(lambda: camera, pytest.fail)
    qtbot.waitUntil(lambda: workspace.acquisition is not None and workspace.acquisition.count > 0)
    page.refresh_preview()
    assert page.board.texts == [
        "✓ Face found", "✓ In the middle", "✓ Light is even", "✓ About 61 cm away", "✓ Eyes are 30 px wide"
    ]  # fmt: skip
    camera.state_now = SourceState.LOST
    page._steady = SteadyHints(hold_ns=0)
    page.refresh_preview()
    assert page.board.texts == ["✕ the picture is frozen"]
    camera.state_now = SourceState.ENDED
    page.refresh_preview()
    assert "ended" in page.board.texts[0]


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


@pytest.fixture
def page_with_source(qtbot, workspace, still_camera):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    workspace.open_source(still_camera, pytest.fail)
    qtbot.waitUntil(lambda: workspace.acquisition is not None)
    return page


def test_a_code_that_is_still_being_typed_opens_the_way_on(qtbot, workspace, page_with_source):
    """A disabled button takes no focus, so that the field would never be left by a click on it."""
    page = page_with_source
    assert not page._next.isEnabled()
    qtbot.keyClicks(page.participant, "P07")
    assert page._next.isEnabled()
    with qtbot.waitSignal(page.go_on):
        page._next.click()
    assert workspace.participant == "P07"


def test_a_code_that_cannot_be_is_nobody_and_not_the_one_before(qtbot, workspace, page_with_source):
    page = page_with_source
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


def test_that_no_camera_is_there_is_told_to_those_who_want_one(qtbot, workspace, monkeypatch):
    """The search ends late, when another source has been chosen."""
    monkeypatch.setattr("gazelab.ui.source_form.cameras", list)
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    form = page.source_form
    qtbot.waitUntil(lambda: "No camera was found" in form._note.text())
    form.find_cameras()
    form.choose(SourceKind.SYNTHETIC)
    done = []
    workspace.io.submit("after it", lambda _job: None, done.append, pytest.fail)
    qtbot.waitUntil(lambda: bool(done))
    assert "camera" not in form._note.text()


def test_a_source_that_does_not_start_is_told_on_the_other_pages_too(qtbot, workspace):
    page = SetupPage(workspace)
    qtbot.addWidget(page)
    told: list[str] = []
    workspace.told.connect(lambda text, _role: told.append(text))
    page.source_form.choose(SourceKind.SYNTHETIC)
    page.source_form._failed(ConfigError("it needs the screen's size.", todo="Give it on Setup."))
    assert told == ["It needs the screen's size. Give it on Setup."]
    page.show()
    page.source_form._failed(ConfigError("it needs the screen's size."))
    assert len(told) == 1, "here the form says it"
