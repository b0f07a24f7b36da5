"""Which cameras there are, by name where the system gives one."""

from __future__ import annotations

import difflib
import json
import logging
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gazelab.core.errors import CameraError

log = logging.getLogger(__name__)

LINUX_CLASS = Path("/sys/class/video4linux")
ASK_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Camera:
    """One camera.

    Attributes
    ----------
    index : int
        OpenCV's number.
    name : str
        The system's name.
    name_is_sure : bool
        Whether the system ties this name to this number; on macOS and Windows it's only the order.
    """

    index: int
    name: str
    name_is_sure: bool = True


def list_cameras() -> list[Camera]:
    """Find the cameras without opening them.

    Returns
    -------
    list of Camera
        Empty where none is found or the system doesn't tell.
    """
    if platform.system() == "Linux":
        return linux_cameras()
    if platform.system() == "Darwin":
        return mac_cameras(_ask(["system_profiler", "SPCameraDataType", "-json"]))
    script = "(Get-CimInstance Win32_PnPEntity | Where-Object { $_.PNPClass -in 'Camera','Image' }).Name"
    return windows_cameras(_ask(["powershell", "-NoProfile", "-Command", script]))


def linux_cameras(folder: Path = LINUX_CLASS) -> list[Camera]:
    """Read the kernel's list; nodes that carry only metadata (index above 0) are left out."""
    found = []
    for node in folder.glob("video*"):
        number = node.name.removeprefix("video")
        if number.isdigit() and _text(node / "index", "0") == "0":
            found.append(Camera(int(number), _text(node / "name", node.name)))
    return sorted(found, key=lambda c: c.index)


def mac_cameras(answer: str) -> list[Camera]:
    """Read system_profiler's JSON."""
    try:
        items = json.loads(answer or "{}").get("SPCameraDataType", [])
    except json.JSONDecodeError:
        return []
    return [Camera(i, str(item.get("_name", f"camera {i}")), False) for i, item in enumerate(items)]


def windows_cameras(answer: str) -> list[Camera]:
    """Read one name a line."""
    names = [line.strip() for line in answer.splitlines() if line.strip()]
    return [Camera(i, name, False) for i, name in enumerate(names)]


def find_camera(name: str, cameras: list[Camera]) -> Camera:
    """Give the camera of that name, or the only one whose name holds it, whatever the case.

    Raises
    ------
    CameraError
        None or several; the message names the nearest or all there are.
    """
    wanted = name.casefold()
    exact = [c for c in cameras if c.name.casefold() == wanted]
    fitting = exact or [c for c in cameras if wanted in c.name.casefold()]
    if len(fitting) == 1:
        return fitting[0]
    names = [c.name for c in cameras]
    near = difflib.get_close_matches(name, names, 1, 0.5)
    if len(fitting) > 1:
        todo = "Give its number instead: " + ", ".join(f"{c.index} = {c.name}" for c in fitting) + "."
        raise CameraError("several cameras have this name.", where=name, todo=todo)
    if near:
        todo = f"Did you mean {near[0]!r}?"
    else:
        todo = f"There are: {', '.join(names)}." if names else "Plug one in, or use another source."
    raise CameraError("there is no such camera.", where=name, todo=todo)


def why_not(device: int | str) -> tuple[str, str]:
    """Say why a camera can't be opened, as far as the system tells, and what to do."""
    if isinstance(device, str):
        return "the stream cannot be opened.", "Check its address."
    if platform.system() == "Linux":
        node = Path(f"/dev/video{device}")
        if not node.exists():
            return "there is no such camera.", "Plug one in, or use another source, such as synthetic."
        if not os.access(node, os.R_OK | os.W_OK):
            return (
                f"{node} may not be opened by this user.",
                "Add the user to the group video and log in again.",
            )
    if platform.system() == "Darwin":
        todo = (
            "Allow it in System Settings > Privacy & Security > Camera, and close other programs that use it."
        )
        return "the camera cannot be opened.", todo
    return "the camera cannot be opened.", "Close other programs that use it, or plug it in again."


def resolve(device: int | str) -> tuple[int | str, str]:
    """Turn a number, a name or an address into what OpenCV takes, and a name to show.

    Raises
    ------
    CameraError
        No camera has that name, or several do.
    """
    cameras = list_cameras() if not is_address(device) else []
    if isinstance(device, str) and device.isdigit():
        device = int(device)
    if isinstance(device, int):
        names = {c.index: c.name for c in cameras}
        return device, names.get(device, f"camera {device}")
    if is_address(device):
        return device, device
    camera = find_camera(device, cameras)
    return camera.index, camera.name


def is_address(device: int | str) -> bool:
    """Tell a stream's address or a picture sequence from a camera's number or name."""
    return isinstance(device, str) and ("://" in device or "%" in device)


def _text(path: Path, otherwise: str) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or otherwise
    except OSError:
        return otherwise


def _ask(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as fault:
        log.info("%s: no list of cameras (%s)", command[0], fault)
        return ""
    return done.stdout
