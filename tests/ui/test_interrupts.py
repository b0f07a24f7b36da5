from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gazelab.sessions.reader import Session
from gazelab.ui.interrupts import Interrupts

ROOT = Path(__file__).resolve().parents[2]

RECORDING = """
    import os, signal
    from pathlib import Path
    from PyQt6.QtCore import QTimer
    from gazelab import app
    from gazelab.ui.main_window import RECORD, MainWindow

    # A shell ignores some signals for what runs in its background, and so would this process.
    signal.signal(signal.{name}, signal.SIG_DFL)

    def step(window):
        record = window.record
        stimulus = record.stimulus
        if stimulus is None and record._begin.isEnabled():
            record.begin()
        elif stimulus is not None and stimulus.placement is None and stimulus._armed:
            stimulus._next()
        elif stimulus is not None and stimulus.placement is not None and record._work.acquisition.count > 20:
            os.kill(os.getpid(), signal.{name})
            return
        QTimer.singleShot(50, lambda: step(window))

    shown = MainWindow.showEvent
    MainWindow.showEvent = lambda self, event: (shown(self, event), QTimer.singleShot(0, lambda: step(self)))
    arguments = ["--page", "record", "--source", "pointer", "--participant", "P01", "--data", {data!r}]
    raise SystemExit(app.main(arguments))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking it")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_U7_a_request_to_end_closes_the_window_and_the_recording(tmp_path, name):
    code = textwrap.dedent(RECORDING.format(name=name, data=str(tmp_path)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 128 + getattr(signal, name)
    (folder,) = (tmp_path / "sessions").iterdir()
    session = Session.open(folder)
    assert session.header.closed
    assert session.report == []
    assert session.trials()[0].skipped


@pytest.mark.skipif(sys.platform == "win32", reason="there is no nohup on Windows")
def test_what_is_ignored_stays_ignored_and_the_rest_is_given_back(qtbot):
    from PyQt6.QtWidgets import QWidget

    window = QWidget()
    qtbot.addWidget(window)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        interrupts = Interrupts(window)
        interrupts.install()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) == interrupts._asked
        interrupts.uninstall()
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    finally:
        signal.signal(signal.SIGHUP, before)
