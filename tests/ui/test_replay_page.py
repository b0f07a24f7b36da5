"""Replay: which fixations it shows; its parts are tested elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gazelab.settings import EventSettings
from gazelab.ui.replay_page import ReplayPage
from gazelab.ui.workspace import Workspace


@pytest.fixture
def page_with(qtbot, tmp_path, model):
    """Make a page whose gazelab.toml names a detector."""
    made: list[Workspace] = []

    def make(detector: str) -> ReplayPage:
        work = Workspace(tmp_path)
        work.settings = replace(work.settings, events=EventSettings(detector=detector))
        made.append(work)
        page = ReplayPage(work)
        qtbot.addWidget(page)
        return page

    yield make
    for work in made:
        work.io.stop()
        work.models.close()
        assert work.close()


def test_the_fixations_are_found_by_the_detector_of_the_settings(qtbot, page_with, session_path):
    page = page_with("segmentation")
    page.open_session(session_path)
    qtbot.waitUntil(lambda: page.trial is not None)
    assert page._replay.detector.name == "segmentation"
    page._read_again("raw")
    qtbot.waitUntil(lambda: page._replay.layers == "raw")
    assert page._replay.detector.name == "segmentation"


def test_a_detector_that_cannot_read_the_gaze_is_told(qtbot, page_with, session_path, monkeypatch):
    monkeypatch.setattr("gazelab.processing.detectors.Detector.is_installed", False)
    page = page_with("remodnav")
    told: list[str] = []
    page._work.told.connect(lambda text, _role: told.append(text))
    page.open_session(session_path)
    qtbot.waitUntil(lambda: any("the detector remodnav needs" in text for text in told))
    assert page.trial is None
