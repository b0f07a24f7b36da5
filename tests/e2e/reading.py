"""A participant at the real window: the mouse for eyes, the keyboard for answers."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from gazelab.sessions.markers import Marker, placement_from
from gazelab.sessions.reader import Session

from .desktop import Desktop
from .program import wait_for

DWELL_NS = 400_000_000
TITLE = "^gazelab$"

Place = tuple[float, float]
Process = subprocess.Popen[str]


def window_of(desktop: Desktop, process: Process) -> str:
    """Wait for the main window and give it the keyboard."""
    wait_for(lambda: bool(desktop.windows(TITLE)), process)
    (window,) = desktop.windows(TITLE)
    desktop.focus(window)
    return window


def start_recording(desktop: Desktop, process: Process, root: Path) -> Path:
    """Press Ctrl+Enter on Record until source and charts are there and it begins; gives the session."""
    sessions = root / "sessions"

    def begun() -> bool:
        if not list(sessions.glob("*/markers.jsonl")):
            desktop.press("ctrl+Return")
        return bool(list(sessions.glob("*/markers.jsonl")))

    window_of(desktop, process)
    wait_for(begun, process)
    (session,) = sessions.iterdir()
    return session


def markers(session: Path, kind: str) -> list[Marker]:
    """The markers of a kind that are written by now."""
    return [m for m in Session.open(session).markers() if m["kind"] == kind]


def read_chart(
    desktop: Desktop, process: Process, session: Path, places: Sequence[Place], answer: str
) -> None:
    """Press the space bar, rest on places of the next chart (shares of its size), type the answer."""
    n_before = len(markers(session, "stimulus_on"))

    def shown() -> bool:
        if len(markers(session, "stimulus_on")) == n_before:
            desktop.press("space")
        return len(markers(session, "stimulus_on")) > n_before

    wait_for(shown, process)
    placement = placement_from(markers(session, "stimulus_on")[-1]["placement"])
    for x, y in places:
        desktop.point(placement.left_px + x * placement.width_px, placement.top_px + y * placement.height_px)
        _rest(process, session)
    n_answers = len(markers(session, "answer"))
    desktop.write(answer)
    desktop.press("Return")
    wait_for(lambda: len(markers(session, "answer")) > n_answers, process)


def _rest(process: Process, session: Path) -> None:
    """Keep the mouse still until that has been recorded for a while."""
    until_ns = time.perf_counter_ns() + DWELL_NS  # counts alike in every process of this machine
    wait_for(lambda: int(Session.open(session).gaze()["time_ns"][-1]) > until_ns, process)
