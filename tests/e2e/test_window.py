"""The window on a real X server: it opens beside OpenCV, shows its pages, reads charts, closes in order."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import ImageGrab, features

from gazelab.attention.trace_store import load_trace
from gazelab.charts.shipped import load_charts
from gazelab.sessions.reader import Session

from .conftest import Demo
from .desktop import Desktop, desktop
from .pictures import face_video
from .program import Finished, ended, running, wait_for
from .reading import TITLE, Process, markers, read_chart, start_recording, window_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs an X server"),
]
PAGES = ("Setup", "Calibrate", "Record", "Replay", "Explore")


@pytest.fixture
def screen() -> Iterator[Desktop]:
    with desktop() as made:
        yield made


def close(screen: Desktop, process: Process) -> Finished:
    screen.press("ctrl+q")
    return ended(process)


def grabbed(screen: Desktop) -> NDArray[np.uint8]:
    return np.asarray(ImageGrab.grab(xdisplay=screen.display).convert("RGB"))


def wait_for_new_page(screen: Desktop, process: Process, before: list[NDArray[np.uint8]]) -> None:
    """Wait until 2 % of the page's part of the screen differ from each of these pages, and keep it."""

    def new() -> bool:
        now = grabbed(screen)[60:740, 190:]
        if any((now != page).any(-1).mean() < 0.02 for page in before):
            return False
        before.append(now)
        return True

    wait_for(new, process)


@pytest.mark.skipif(not features.check("xcb"), reason="this Pillow cannot look at an X screen")
def test_C19_every_page_is_shown_with_opencv_imported_before_qt(screen, tmp_path):
    script = (
        "import sys; from gazelab.core.opencv import cv2; from gazelab.cli import main;"
        " sys.exit(main(['app', '--data', sys.argv[1]]))"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    environment = {**os.environ, **screen.environment}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            window_of(screen, process)
            pages = [np.zeros_like(grabbed(screen)[60:740, 190:])]
            for number in range(1, len(PAGES) + 1):
                screen.press(f"ctrl+{number}")
                wait_for_new_page(screen, process, pages)
            done = close(screen, process)
        finally:
            process.kill()
    assert done.worked() == ""
    assert done.err == ""
    assert len(pages) == 1 + len(PAGES)


def test_the_tour_calibrates_records_and_replays_and_pictures_every_page(screen, tmp_path):
    """The synthetic participant goes through the window's own loop, at life's pace."""
    arguments = ("app", "--data", tmp_path, "--screenshot-pages", tmp_path / "pictures")
    with running(*arguments, environment=screen.environment) as process:
        done = ended(process, 240)
    assert done.worked() == ""
    assert done.said == []
    names = " ".join(path.stem.lower() for path in (tmp_path / "pictures").glob("*.png"))
    for page in PAGES:
        assert page.lower() in names
    (path,) = (tmp_path / "sessions").iterdir()
    session = Session.open(path)
    assert session.report == []
    assert session.header.calibrated
    assert len(session.calibrations()) == 1
    assert not session.header.for_dataset
    assert all(trial.given == trial.answer for trial in session.trials())
    assert session.gaze()["valid"].mean() > 0.5


def test_a_broken_chart_in_a_study_is_passed_over_and_the_rest_is_read(screen, tmp_path):
    folder = tmp_path / "charts"
    (folder / "png").mkdir(parents=True)
    items = load_charts()[:3]
    for item in items:
        shutil.copy(str(item.source), folder / "png" / item.name)
    (folder / "png" / items[1].name).write_bytes(b"\x89PNG, but no more of it")
    rows = [{"imgname": i.name, "query": i.question, "label": i.answer} for i in items]
    (folder / "test_human.json").write_text(json.dumps(rows))
    arguments = ("record", "--source", "pointer", "--participant", "P01", "--charts", folder)
    with running(*arguments, "--data", tmp_path, environment=screen.environment) as process:
        path = start_recording(screen, process, tmp_path)
        for answer in ("1", "2"):
            read_chart(screen, process, path, [(0.5, 0.5)], answer)
        wait_for(lambda: Session.open(path).header.closed, process)
        done = close(screen, process)
    done.worked()
    session = Session.open(path)
    assert session.report == []
    assert [t.question for t in session.trials()] == [items[0].question, items[2].question]
    assert [t.given for t in session.trials()] == ["1", "2"]
    (note,) = markers(path, "note")
    assert "was skipped" in note["text"]
    assert items[1].name in note["text"]
    assert "not a picture that can be read" in note["text"]


def test_the_window_can_be_closed_while_a_face_is_followed(screen, tmp_path):
    """The frames come through OpenCV and the landmarker's own threads while Qt runs."""
    video = face_video(tmp_path / "face.mp4", 300)
    arguments = ("record", "--source", "video", "--device", video, "--participant", "P01")
    with running(*arguments, "--data", tmp_path, environment=screen.environment) as process:
        window_of(screen, process)
        maps = Path(f"/proc/{process.pid}/maps")
        wait_for(lambda: "mediapipe" in maps.read_text(), process)
        done = close(screen, process)
    assert done.worked() == ""
    assert done.said == []


@pytest.fixture
def fresh(demo: Demo, tmp_path: Path) -> Path:
    """The demo's session without its results."""
    path = Path(shutil.copytree(demo.session, tmp_path / "sessions" / "again"))
    shutil.rmtree(path / "derived")
    return path


def test_a_session_is_opened_on_replay_and_its_charts_are_asked_again(screen, fresh, tmp_path):
    with running("replay", fresh, "--data", tmp_path, environment=screen.environment) as process:
        window_of(screen, process)
        wait_for(lambda: bool(list(fresh.glob("derived/*.safetensors"))), process)
        screen.press("space", "Right", "Right", "space")
        done = close(screen, process)
    assert done.worked() == ""
    assert done.said == []
    trace = load_trace(next(fresh.glob("derived/*.safetensors")))
    first = Session.open(fresh).trials()[0]
    assert trace.picture_sha256 == first.picture_sha256
    assert trace.prompt == first.question


def test_U7_the_window_can_be_closed_while_a_model_is_being_opened(screen, fresh, tmp_path):
    with running("replay", fresh, "--data", tmp_path, environment=screen.environment) as process:
        window_of(screen, process)
        done = close(screen, process)
    assert done.worked() == ""
    assert done.said == []


@pytest.mark.skipif(not hasattr(os, "kill"), reason="this system has no kill -9")
def test_kill_9_while_a_chart_is_read(screen, tmp_path):
    arguments = ("record", "--source", "pointer", "--participant", "P01", "--data", tmp_path)
    with running(*arguments, environment=screen.environment) as process:
        path = start_recording(screen, process, tmp_path)
        read_chart(screen, process, path, [(0.2, 0.2), (0.8, 0.8)], "7")
        process.kill()
        process.wait()
    session = Session.open(path)
    (trial,) = session.trials()
    assert trial.given == "7"
    assert trial.complete
    assert not session.header.closed
    assert session.stimulus(trial.picture_sha256).sha256 == load_charts()[0].picture().sha256
    assert len(session.gaze()) > 20


def test_no_display_gives_a_sentence(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment.pop("QT_QPA_PLATFORM", None)
    command = [sys.executable, "-m", "gazelab", "app", "--data", str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    sentence = Finished(done.returncode, done.stdout, done.stderr).refusal()
    assert sentence.startswith("there is no display to open a window on. ")
    assert "gazelab demo" in sentence


def test_a_window_that_is_up_has_the_programs_name(screen, tmp_path):
    with running("app", "--data", tmp_path, environment=screen.environment) as process:
        window = window_of(screen, process)
        assert screen.do("getwindowname", window) == TITLE.strip("^$")
        assert close(screen, process).worked() == ""
