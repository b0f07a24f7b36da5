"""The whole window by itself: a synthetic participant calibrates, reads, is replayed; pictures are taken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from gazelab.sessions.reader import Session

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "setup",
    "calibrate",
    "record",
    "replay",
    "replay-quality",
    "replay-corrections",
    "explore",
    "explore-check",
)


@pytest.mark.slow
def test_the_tour_takes_a_picture_of_every_page(tmp_path):
    folder = tmp_path / "pictures"
    done = subprocess.run(
        [sys.executable, "-m", "gazelab.app", "--data", str(tmp_path), "--screenshot-pages", str(folder)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, cwd=ROOT,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + (tmp_path / "gazelab.log").read_text()
    for name in PAGES:
        with Image.open(folder / f"{name}.png") as picture:
            colours = picture.convert("RGB").getcolors(2**24)
            assert len(colours) > 50, f"{name} is nearly empty"
    [path] = (tmp_path / "sessions").iterdir()
    session = Session.open(path)
    assert session.header.calibrated
    assert session.header.source.name == "synthetic"
    assert len(session.trials()) == 2
    [profile] = (tmp_path / "calibration").iterdir()
    assert (profile / "validation.png").stat().st_size > 1000
    [copy] = session.calibrations()
    assert (copy / "validation.png").read_bytes() == (profile / "validation.png").read_bytes()
