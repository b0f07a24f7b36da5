"""A screen of its own with a keyboard and a mouse: Xvfb, moved by xdotool."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

SIZE_PX = (1280, 800)


@contextlib.contextmanager
def desktop() -> Iterator[Desktop]:
    """Start an X server on a free number; skips where there is none."""
    for program in ("Xvfb", "xdotool"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} here")
    reader, writer = os.pipe()
    size = f"{SIZE_PX[0]}x{SIZE_PX[1]}x24"
    # -noreset: else it starts anew, deaf for a moment, whenever its last client, such as xdotool, goes.
    command = ["Xvfb", "-displayfd", str(writer), "-noreset", "-screen", "0", size, "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as told:
            number = told.readline().strip()
        try:
            assert number, "Xvfb did not start"
            yield Desktop(f":{number}")
        finally:
            server.terminate()


class Desktop:
    """One screen; what `xdotool` does to it."""

    def __init__(self, display: str) -> None:
        self.display = display

    @property
    def environment(self) -> dict[str, str]:
        """For a program that is to open its windows here."""
        return {"DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb"}

    def do(self, *words: str) -> str:
        """Run xdotool; give what it prints."""
        done = subprocess.run(
            ["xdotool", *words],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=30,
        )
        return done.stdout.strip()

    def windows(self, title: str) -> list[str]:
        """Find the windows on screen whose title fits a pattern."""
        return self.do("search", "--onlyvisible", "--name", title).split()

    def focus(self, window: str) -> None:
        """Give a window the keyboard, as a window manager would."""
        self.do("windowfocus", window)

    def press(self, *keys: str) -> None:
        """Press keys, such as "ctrl+q"."""
        self.do("key", *keys)

    def write(self, text: str) -> None:
        """Type text."""
        self.do("type", "--delay", "15", text)

    def point(self, x_px: float, y_px: float) -> None:
        """Move the mouse."""
        self.do("mousemove", str(round(x_px)), str(round(y_px)))
