"""What every test runs under: no window, no network, no thread or file left behind, no dice."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import settings

# Read by Qt, torch and the hub at import, here and in the processes that tests start.
for _name, _value in {
    "QT_QPA_PLATFORM": "offscreen",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}.items():
    os.environ.setdefault(_name, _value)

settings.register_profile("gazelab", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "gazelab")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
THREAD_GRACE_S = 2.0

# A process that a test starts finds this checkout, too.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])

_reached_out: list[str] = []


def _is_local(host: object) -> bool:
    """Whether a host is this machine, or none at all (an unbound or Unix address)."""
    if host in (None, "", b"", "localhost", b"localhost", socket.gethostname()):
        return True
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        address = ip_address(name.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _no_network(event: str, args: tuple[object, ...]) -> None:
    """Refuse a look-up of another host's name and a connection to it, whoever asks for it."""
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not _is_local(host):
        _reached_out.append(f"{event} {host!r}")
        raise OSError(f"tests stay on this machine: {event} {host!r}")


sys.addaudithook(_no_network)


def _runs(thread: threading.Thread) -> bool:
    """Whether a thread runs; a foreign one stays listed after its end, so ask the system where it tells."""
    if not isinstance(thread, threading._DummyThread):
        return thread.is_alive()
    return Path(f"/proc/self/task/{thread.native_id}").exists()


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    """Threads started since, a second or two after they were asked to end; test tools' own left out."""
    deadline = time.monotonic() + THREAD_GRACE_S
    while True:
        left = [t for t in threading.enumerate() if t not in before and _runs(t)]
        left = [t for t in left if not t.name.startswith(("pytest_timeout", "execnet"))]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def _open_files(folder: Path) -> list[str]:
    """Files under a folder that this process holds open (Linux; elsewhere nothing is known)."""
    found = []
    for link in Path("/proc/self/fd").glob("*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith(f"{folder}{os.sep}"):
            found.append(target)
    return sorted(found)


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread or an open file behind, or asked for another machine."""
    before = set(threading.enumerate())
    _reached_out.clear()
    yield
    left = _new_threads(before)
    if left:
        pytest.fail("threads left running: " + ", ".join(sorted(t.name for t in left)))
    folder = (request.node.funcargs or {}).get("tmp_path")  # None after another fixture's teardown failed
    if folder is not None and _open_files(folder):
        gc.collect()
        still = _open_files(folder)
        if still:
            pytest.fail("files left open: " + ", ".join(still))
    if _reached_out:
        pytest.fail("reached for the network: " + ", ".join(_reached_out))


def _folder(path: Path) -> Path:
    if not path.is_dir():
        pytest.skip(f"needs {path.name} of the development data, ../shared/{path.name}, which is not here")
    return path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real faces, eye movements and charts for development; skips where they are absent."""
    return _folder(SHARED / "data")


@pytest.fixture(scope="session")
def cases() -> Path:
    """Small nasty input files for development; skips where they are absent."""
    return _folder(SHARED / "cases")
