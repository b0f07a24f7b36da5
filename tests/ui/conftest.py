"""Colours of a grabbed widget as arrays, and a run of one snippet under another screen scale."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PyQt6.QtGui import QImage
from PyQt6.QtWidgets import QWidget

ROOT = Path(__file__).resolve().parents[2]


def pixels_of(image: QImage) -> NDArray[np.uint8]:
    """(height, width, 3) RGB of a Qt image, row stride undone."""
    plain = image.convertToFormat(QImage.Format.Format_RGB888)
    data = plain.constBits()
    assert data is not None
    rows = np.frombuffer(data.asarray(plain.sizeInBytes()), np.uint8)
    rows = rows.reshape(plain.height(), plain.bytesPerLine())[:, : 3 * plain.width()]
    return rows.reshape(plain.height(), plain.width(), 3).copy()


@pytest.fixture
def grab(qtbot) -> Callable[[QWidget], NDArray[np.uint8]]:
    """Show a widget and give its device pixels."""

    def do(widget: QWidget) -> NDArray[np.uint8]:
        qtbot.addWidget(widget)
        with qtbot.waitExposed(widget):
            widget.show()
        return pixels_of(widget.grab().toImage())

    return do


@pytest.fixture
def at_scale() -> Callable[[float, str], str]:
    """Run Python code in a process whose screen has the given scale; gives what it prints."""

    def do(scale: float, code: str) -> str:
        environment = {**os.environ, "QT_SCALE_FACTOR": str(scale), "QT_QPA_PLATFORM": "offscreen"}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return do
