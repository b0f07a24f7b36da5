"""The guards of conftest.py must catch what they are there for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

BAD = """
import socket, threading, warnings
import pytest

stop = threading.Event()

def test_thread():
    threading.Thread(target=stop.wait, name="forgotten", daemon=True).start()

KEPT = []

def test_file(tmp_path):
    KEPT.append((tmp_path / "kept.bin").open("wb"))

def test_network():
    with pytest.raises(OSError), socket.socket() as s:
        s.connect(("192.0.2.1", 80))

def test_lookup():
    with pytest.raises(OSError):
        socket.getaddrinfo("example.org", 80)

def test_warning():
    warnings.warn("old")

def test_good(tmp_path):
    (tmp_path / "a").write_text("x")
    t = threading.Thread(target=int)
    t.start()
    t.join()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
"""


def test_guards_catch_a_thread_a_file_the_network_and_a_warning(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).resolve().parents[1] / "conftest.py", tmp_path)
    (tmp_path / "test_bad.py").write_text(BAD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-W", "error", "--rootdir", ".", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    out = done.stdout
    assert done.returncode == 1
    assert "threads left running: forgotten" in out
    assert "files left open: " in out
    assert "kept.bin" in out
    assert "reached for the network: socket.connect '192.0.2.1'" in out
    assert "reached for the network: socket.getaddrinfo 'example.org'" in out
    assert "FAILED test_bad.py::test_warning - UserWarning: old" in out
    bad = {line.split(" - ")[0] for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))}
    assert bad == {
        f"{kind} test_bad.py::test_{name}"
        for kind, name in [
            ("ERROR", "thread"),
            ("ERROR", "file"),
            ("ERROR", "network"),
            ("ERROR", "lookup"),
            ("FAILED", "warning"),
        ]
    }
