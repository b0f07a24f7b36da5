from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from gazelab.core.errors import SessionError
from gazelab.core.gaze import SourceState
from gazelab.sessions.files import AppendFile
from gazelab.sessions.reader import Session
from gazelab.sessions.writer import SessionWriter

from .conftest import gaze_rows, picture, stimulus_on

PAGE = os.sysconf("SC_PAGESIZE") if hasattr(os, "sysconf") else 4096

RECORDER = """
import os, sys, time
import numpy as np
from gazelab.core.gaze import empty_gaze
from gazelab.core.geometry import Placement, Screen
from gazelab.sessions.schema import SessionHeader, SourceRecord
from gazelab.sessions.writer import SessionWriter

header = SessionHeader("p1", Screen("s", 800, 600), SourceRecord("x"))
writer = SessionWriter.create(sys.argv[1], "killed", header)
placement = Placement(0, 0, 800, 600, 80, 60)
row = empty_gaze(1)
due = start = time.perf_counter_ns()
count = 0
while True:
    while due > time.perf_counter_ns():
        time.sleep(0.0005)
    if count % 120 == 0:
        writer.marker({"time_ns": due, "kind": "stimulus_on", "chart_id": f"c{count // 120}", "question": "?",
                       "answer": None, "picture_sha256": "0" * 64, "placement": placement, "order": count})
    row["time_ns"] = time.perf_counter_ns()
    row["frame_index"] = count
    writer.gaze(row)
    os.write(1, int(row["time_ns"][0]).to_bytes(8, "little"))
    count += 1
    due = start + count * 1_000_000_000 // 1200
"""


def record_and_kill(folder: Path, n_samples: int) -> np.ndarray:
    """Record at 1200 Hz in another process, kill it after `n_samples`; give every stamp that it pushed."""
    command = [sys.executable, "-c", RECORDER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        told = process.stdout.read(8 * n_samples)
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read()
    return np.frombuffer(told[: len(told) // 8 * 8], "<i8")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_kill_9_at_1200_hz_loses_at_most_100_ms(tmp_path):
    pushed = record_and_kill(tmp_path, n_samples=1500)
    session = Session.open(tmp_path / "sessions" / "killed")
    found = session.gaze()["time_ns"]
    assert len(found) > 1000
    # The last push may not have been told yet when the signal came.
    both = min(len(found), len(pushed))
    assert found[:both].tolist() == pushed[:both].tolist()
    assert pushed[-1] - found[-1] <= 100_000_000
    assert session.gaze()["frame_index"].tolist() == list(range(len(found)))
    assert not session.header.closed
    assert session.header.started is not None
    assert session.report[0] == "not closed: the recording was cut off, or still runs"
    trials = session.trials()
    assert len(trials) >= 8
    assert not trials[-1].complete
    assert trials[-1].offset_ns == session.end_ns + 1 > found[-1], "its last sample is in it"


def small_disk(folder: Path, size: str) -> None:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("a small tmpfs can only be mounted by root on Linux")
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"no tmpfs may be mounted here: {done.stderr.strip()}")


@pytest.fixture
def full_soon(tmp_path):
    disk = tmp_path / "disk"
    small_disk(disk, "256k")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_stops_the_recording_visibly_and_keeps_what_was_recorded(full_soon, header):
    writer = SessionWriter.create(full_soon, "s1", header)
    writer.marker(stimulus_on(1))

    def record_on() -> None:
        for start in range(0, 1_000_000, 100):
            writer.gaze(gaze_rows(np.arange(start, start + 100)))
            writer._stop.wait(0.001)

    with pytest.raises(SessionError, match=r"disk is full.*Free space") as told:
        record_on()
    assert str(writer.path) in str(told.value)
    assert writer.state is SourceState.ERROR
    with pytest.raises(SessionError, match="disk is full"):
        writer.marker({"time_ns": 1, "kind": "note", "text": "x"})
    writer.close()
    writer.close()
    assert not writer._thread.is_alive()

    session = Session.open(writer.path)
    found = session.gaze()["time_ns"]
    assert len(found) > 1000
    assert found.tolist() == list(range(len(found)))
    assert len(session.trials()) == 1
    totals = writer.header.totals["gaze"]
    assert totals.n_in == totals.n_out + totals.n_dropped
    assert totals.n_out == len(found)


@pytest.mark.parametrize("free_pages", [0, 1, 2])
def test_a_session_that_does_not_fit_at_all_leaves_nothing_behind(tmp_path, header, free_pages):
    disk = tmp_path / "disk"
    small_disk(disk, f"{4 * PAGE}")
    try:
        (disk / "ballast").write_bytes(bytes((4 - free_pages) * PAGE))
        with pytest.raises(SessionError, match="disk is full"):
            SessionWriter.create(disk, "s1", header)
        assert list((disk / "sessions").glob("*")) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def fill_up(monkeypatch, after_bytes: int) -> None:
    """Let a disk take `after_bytes` more, then write what still fits and give ENOSPC."""
    left = [after_bytes]
    append = AppendFile.append

    def limited(self: AppendFile, data: bytes) -> None:
        if len(data) <= left[0]:
            left[0] -= len(data)
            append(self, data)
            return
        self._file.write(data[: left[0]])
        self._file.truncate(self._end)
        self._file.seek(self._end)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(AppendFile, "append", limited)


def test_a_fault_that_no_call_has_told_is_told_by_close(tmp_path, header, monkeypatch):
    writer = SessionWriter.create(tmp_path, "s1", header, flush_s=3600)
    fill_up(monkeypatch, 5_000)
    writer.gaze(gaze_rows(range(100)))
    with pytest.raises(SessionError, match="disk is full"):
        writer.close()
    writer.close()
    session = Session.open(writer.path)
    assert len(session.gaze()) == 0
    assert [m["kind"] for m in session.markers()] == ["session_start", "session_end"]
    assert session.header.fault.startswith("the disk is full")
    assert session.header.totals["gaze"].n_dropped == 100
    assert session.report[0].startswith("recording was stopped by a fault: the disk is full")


def test_a_full_disk_is_told_when_a_picture_does_not_fit(tmp_path, header, monkeypatch):
    with SessionWriter.create(tmp_path, "s1", header, flush_s=3600) as writer:
        with monkeypatch.context() as patch:
            fill_up(patch, 10)
            with pytest.raises(SessionError, match="disk is full"):
                writer.stimulus(picture())
        assert list((writer.path / "stimuli").iterdir()) == []
        assert writer.stimulus(picture()) == f"{picture().sha256}.png"


def stall(monkeypatch) -> tuple[threading.Event, threading.Event]:
    """Let every write wait; give the events "a write waits" and "go on"."""
    waits, go_on = threading.Event(), threading.Event()
    append = AppendFile.append

    def slow(self: AppendFile, data: bytes) -> None:
        waits.set()
        assert go_on.wait(60)
        append(self, data)

    monkeypatch.setattr(AppendFile, "append", slow)
    return waits, go_on


def test_a_disk_that_stalls_does_not_hold_up_the_recording_thread(tmp_path, header, monkeypatch):
    writer = SessionWriter.create(tmp_path, "s1", header)
    waits, go_on = stall(monkeypatch)
    writer.gaze(gaze_rows([0]))
    assert waits.wait(60)
    # This thread alone could let the write go on: were it held up, the test would end in its timeout.
    for time_ns in range(1, 1000):
        writer.gaze(gaze_rows([time_ns]))
    go_on.set()
    writer.close()
    session = Session.open(writer.path)
    assert session.gaze()["time_ns"].tolist() == list(range(1000))
    assert session.report == []


def test_close_does_not_wait_for_ever_for_a_disk_that_does_not_answer(tmp_path, header, monkeypatch):
    writer = SessionWriter.create(tmp_path, "s1", header)
    waits, go_on = stall(monkeypatch)
    writer.gaze(gaze_rows([0]))
    assert waits.wait(60)
    monkeypatch.setattr("gazelab.sessions.writer.CLOSE_S", 0.01)
    with pytest.raises(SessionError, match="the disk does not answer"):
        writer.close()
    go_on.set()
    writer._thread.join(60)
    session = Session.open(writer.path)
    assert session.gaze()["time_ns"].tolist() == [0]
    assert session.report == ["not closed: the recording was cut off, or still runs"]


def test_a_write_that_fails_half_way_leaves_no_trace(tmp_path):
    class HalfAndOut:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            if len(data) < 8:
                raise OSError(errno.ENOSPC, "full")
            return self.file.write(data[: len(data) // 2])

        def __getattr__(self, name):
            return getattr(self.file, name)

    with AppendFile(tmp_path / "f") as file:
        file.append(b"whole")
        plain, file._file = file._file, HalfAndOut(file._file)
        with pytest.raises(OSError, match="full"):
            file.append(b"x" * 100)
        file._file = plain
        file.append(b" again")
    assert (tmp_path / "f").read_bytes() == b"whole again"
