"""Results kept beside a session: whole or absent, and known by what they were made from.

A result is written with a hash of its inputs, and read back only for the same inputs: after a change of the
samples, a setting or the code's version it counts as absent. `derived/` may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import SessionError
from gazelab.sessions.files import read_file, replace_file, write_fault

MAX_RESULT_BYTES = 4 * 1024 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,119}")
_INPUTS = "_inputs_sha256"


def inputs_sha256(*inputs: Any) -> str:
    """Hash what a result is made from.

    Parameters
    ----------
    *inputs : numpy.ndarray, bytes, or anything that JSON holds
        Arrays count with dtype and shape, mappings in the order of their keys.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for value in inputs:
        if isinstance(value, np.ndarray):
            kind, content = f"array {value.dtype.descr} {value.shape}", np.ascontiguousarray(value).tobytes()
        elif isinstance(value, bytes):
            kind, content = "bytes", value
        else:
            kind, content = "json", json.dumps(value, sort_keys=True).encode("utf-8", "backslashreplace")
        digest.update(f"{kind} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def save_json(derived: Path, name: str, data: Any, inputs: str) -> Path:
    """Write `<derived>/<name>.json`, replacing an older one in one step.

    Parameters
    ----------
    derived : Path
        `Session.derived`; made if need be.
    data : anything that JSON holds
        NaN is refused: say None.
    inputs : str
        From `inputs_sha256`.

    Raises
    ------
    SessionError
        A bad name, a value that JSON cannot hold, or the file cannot be written.
    """
    try:
        text = json.dumps(
            {"inputs_sha256": inputs, "data": data}, allow_nan=False, ensure_ascii=False, indent=1
        )
    except (TypeError, ValueError) as fault:
        raise SessionError(f"the result {name} cannot be stored as JSON ({fault}).") from fault
    return _write(derived, f"{_checked(name)}.json", text.encode("utf-8", "backslashreplace"))


def load_json(derived: Path, name: str, inputs: str) -> Any | None:
    """Read what `save_json` wrote; None if it is absent, broken, or made from other inputs."""
    content = _read(derived / f"{_checked(name)}.json")
    try:
        found = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("inputs_sha256") != inputs:
        return None
    return found.get("data")


def save_arrays(derived: Path, name: str, arrays: Mapping[str, NDArray[Any]], inputs: str) -> Path:
    """Write `<derived>/<name>.npz`, replacing an older one in one step.

    Raises
    ------
    SessionError
        A bad name, an array of objects, or the file cannot be written.
    """
    if any(array.dtype.hasobject for array in arrays.values()):
        raise SessionError(f"the result {name} holds Python objects, which are not stored.")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{_INPUTS: np.array(inputs)}, **arrays)
    return _write(derived, f"{_checked(name)}.npz", buffer.getvalue())


def load_arrays(derived: Path, name: str, inputs: str) -> dict[str, NDArray[Any]] | None:
    """Read what `save_arrays` wrote; None if it is absent, broken, or made from other inputs."""
    content = _read(derived / f"{_checked(name)}.npz")
    if not content:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            if str(found[_INPUTS]) != inputs:
                return None
            return {key: found[key] for key in found.files if key != _INPUTS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise SessionError(
            f"{name[:80]!r} cannot name a result.", todo="Use letters, digits, _ and -, at most 120."
        )
    return name


def _write(derived: Path, file_name: str, content: bytes) -> Path:
    path = derived / file_name
    if derived.is_symlink():
        raise SessionError("a link, not a folder.", where=derived, todo="A session holds no links.")
    try:
        derived.mkdir(exist_ok=True)
        replace_file(path, content)
    except OSError as fault:
        raise write_fault(fault, path, "the result was not stored") from fault
    return path


def _read(path: Path) -> bytes:
    try:
        return read_file(path, MAX_RESULT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""
