"""Checks of this machine and of a user's own checkpoint, each with what to do."""

from __future__ import annotations

import importlib
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.core.errors import GazelabError
from gazelab.system import install_line, missing_libraries, unsupported_here

PACKAGES = ("numpy", "opencv-python", "mediapipe", "torch", "transformers", "pyqt6", "pyqtgraph", "pylsl")
NATIVE = {"cv2": "gazelab.core.opencv", "pylsl": "pylsl"}
LEAST_FREE_MB = 500


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its name, whether it passed, and the detail or what to do."""

    name: str
    ok: bool
    detail: str


def check_machine(root: Path) -> list[Check]:
    """Check what gazelab stands on.

    Parameters
    ----------
    root : Path
        The data root.
    """
    return [
        _python(),
        *(_package(name) for name in PACKAGES),
        *(_native(name, module) for name, module in NATIVE.items()),
        _system_libraries(),
        _face_model(),
        _chart_reader(),
        _cameras(),
        _data_root(root),
    ]


def check_model(
    name: str, options: ModelOptions | None = None, tell: Callable[[Check], None] = lambda check: None
) -> list[Check]:
    """Check a checkpoint: the tap against eager attention, the token count, and the corners of a chart.

    Parameters
    ----------
    name : str
        A folder, or a checkpoint that is on this machine.
    options : ModelOptions, optional
    tell : callable
        Called with each line as it is found: a large model takes minutes.
    """
    from gazelab.attention.doctor import check_model as checked

    try:
        found = checked(name, options=options, tell=lambda c: tell(Check(c.check, c.ok, c.detail)))
        return [Check(c.check, c.ok, c.detail) for c in found]
    except GazelabError as fault:
        return [Check(f"model {name}", False, str(fault))]


def _python() -> Check:
    why = unsupported_here()
    return Check("Python", not why, why or f"{platform.python_version()} on {platform.platform()}")


def _package(name: str) -> Check:
    try:
        return Check(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed: run `python run_gazelab.py` once more.")


def _native(name: str, module: str) -> Check:
    """Import what may fail for want of a system library: the rest of gazelab goes on without it."""
    try:
        importlib.import_module(module)
    except (ImportError, OSError, RuntimeError) as fault:
        return Check(f"{name} loads", False, str(fault).splitlines()[0])
    return Check(f"{name} loads", True, "yes")


def _system_libraries() -> Check:
    missing = missing_libraries(window=True)
    if not missing:
        return Check("system libraries", True, "all there")
    os_release = Path("/etc/os-release")
    line = install_line(missing, os_release.read_text("utf-8") if os_release.exists() else "")
    return Check("system libraries", False, f"missing {', '.join(missing)}; run: {line or 'install them'}")


def _face_model() -> Check:
    from gazelab.sources.face import load_model

    try:
        data = load_model()
    except GazelabError as fault:
        return Check("face model", False, str(fault))
    return Check("face model", True, f"{len(data)} bytes, hash as expected")


def _chart_reader() -> Check:
    from gazelab.attention.base import EMBEDDED, open_model

    try:
        model = open_model(EMBEDDED)
    except GazelabError as fault:
        return Check("chart reader", False, str(fault))
    return Check("chart reader", True, f"{model.model_id} {model.revision[:12]}")


def _cameras() -> Check:
    from gazelab.sources.webcam import list_cameras

    found = list_cameras()
    names = ", ".join(str(c) for c in found)
    return Check("cameras", True, names or "none found; `gazelab demo` needs none")


def _data_root(root: Path) -> Check:
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe = root / ".gazelab-probe"
        probe.write_bytes(b"")
        probe.unlink()
        free_mb = shutil.disk_usage(root).free // 1_000_000
    except OSError as fault:
        return Check("data folder", False, f"{root} cannot be written ({fault.strerror}); use --data DIR.")
    return Check("data folder", free_mb >= LEAST_FREE_MB, f"{root}, {free_mb} MB free")
