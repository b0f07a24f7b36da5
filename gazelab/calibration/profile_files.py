"""A profile's files on disk: written whole, read without trust."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import CalibrationError


def npz_bytes(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Pack arrays as a compressed NPZ file, without pickle."""
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


def claim(wanted: Path) -> Path:
    """Make a new folder of this name, or with a number after it; never one that exists.

    Raises
    ------
    OSError
        It can't be made.
    """
    for n in range(1, 1000):
        folder = wanted if n == 1 else wanted.with_name(f"{wanted.name}-{n}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{wanted} and 998 more exist")


def write(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all; never over another.

    Raises
    ------
    OSError
        It can't be written.
    """
    draft = path.with_name(path.name + ".part")
    with draft.open("xb") as file:
        file.write(data)
    draft.replace(path)


def read_npz(data: bytes, path: Path) -> dict[str, NDArray[np.generic]]:
    """Unpack arrays; nothing in the file is ever run.

    Raises
    ------
    CalibrationError
        It isn't an NPZ file of plain arrays.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as fault:
        raise CalibrationError(
            f"isn't a mapping that can be read ({fault}).", where=path, todo="Calibrate again."
        ) from fault
