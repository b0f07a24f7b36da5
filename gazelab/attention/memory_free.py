"""How much memory the machine has left, without torch and without a library of its own for it."""

from __future__ import annotations

import contextlib
import ctypes
import platform
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
CGROUP = Path("/sys/fs/cgroup")


def free_host_bytes() -> int | None:
    """Tell how many bytes this process may still take of the machine's memory.

    On Linux the least of what the kernel calls available, what the container (cgroup) leaves, and what
    `ulimit -v` leaves; on Windows and macOS the memory that is free or can be had at once.

    Returns
    -------
    int or None
        None if the system does not say.
    """
    system = platform.system()
    if system == "Windows":
        return _free_windows()
    if system == "Darwin":
        return _free_macos()
    bounds = [
        bound for bound in (_available_linux(), _left_in_cgroup(), _left_of_limit()) if bound is not None
    ]
    return max(0, min(bounds)) if bounds else None


def _available_linux() -> int | None:
    try:
        lines = MEMINFO.read_text("ascii").splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def _left_in_cgroup() -> int | None:
    names = ("memory.max", "memory.current", "memory.stat", "inactive_file")
    older = ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat")
    for limit, usage, stat, cached in (names, (*older, "total_inactive_file")):
        try:
            most = int((CGROUP / limit).read_text("ascii"))
            used = int((CGROUP / usage).read_text("ascii"))
            counts = (CGROUP / stat).read_text("ascii").split()
        except (OSError, ValueError):  # no such group, or "max"
            continue
        # Cached files count as used, but are given up when memory is asked for.
        reclaimable = dict(zip(counts[::2], counts[1::2], strict=False)).get(cached, "0")
        return most - used + int(reclaimable)
    return None


def _left_of_limit() -> int | None:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return None
    try:
        used_pages = int(STATM.read_text("ascii").split()[0])
    except (OSError, ValueError):
        return None
    return soft - used_pages * resource.getpagesize()


def _free_windows() -> int | None:
    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "c", "d", "e", "f", "g")),
        ]

    status = Status(length=ctypes.sizeof(Status))
    if not ctypes.CDLL("kernel32").GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.free)


def _free_macos() -> int | None:
    import subprocess

    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        told = subprocess.run(
            ["/usr/bin/vm_stat"], capture_output=True, text=True, timeout=5, check=True
        ).stdout
        return pages_of_vm_stat(told)
    return None


def pages_of_vm_stat(told: str) -> int:
    """Add up the bytes that macOS's `vm_stat` calls free, inactive or speculative."""
    head, *lines = told.splitlines()
    page_bytes = int(head.split("page size of")[1].split()[0])
    counts = dict(line.split(":", 1) for line in lines if ":" in line)
    wanted = ("Pages free", "Pages inactive", "Pages speculative")
    return page_bytes * sum(int(counts[name].strip().rstrip(".")) for name in wanted if name in counts)
