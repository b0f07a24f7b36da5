"""Attention traces on disk: one zip file of .npy arrays and a JSON description, nothing that can run code."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

SCHEMA_VERSION = 1
_ARRAYS = {"weights": np.float16, "text_share": np.float32, "sink_share": np.float32}
_EDGES = ("x_edges_px", "y_edges_px")
_DESCRIPTION = "trace.json"


def trace_path(folder: Path, trace: AttentionTrace) -> Path:
    """Name the file of a trace; see `trace_path_of`."""
    return trace_path_of(folder, trace.model_id, trace.revision, trace.picture_sha256, trace.prompt)


def trace_path_of(folder: Path, model_id: str, revision: str, picture_sha256: str, prompt: str) -> Path:
    """Name the file of what a trace is about: readable model name, and a hash of all four.

    With it one can see whether a model's trace of a question is there before the model runs.
    """
    key = "\n".join((model_id, revision, picture_sha256, prompt))
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", model_id).strip("-.")[-60:] or "model"
    return folder / f"attention_{model}_{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"


def save_trace(folder: Path, trace: AttentionTrace) -> Path:
    """Write a trace into a folder, such as a session's `derived/`.

    The file appears whole or not at all; an earlier trace of the same question is replaced.

    Returns
    -------
    Path
        Of the file; `numpy.load` opens it too.

    Raises
    ------
    AttentionError
        It cannot be written.
    """
    path = trace_path(folder, trace)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".attention-", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                _write(out, trace)
                out.flush()
                os.fsync(out.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as fault:
        raise AttentionError(
            f"the attention trace cannot be written ({fault.strerror or fault}).",
            where=path,
            todo="Free some space or choose another folder.",
        ) from fault
    return path


def load_trace(path: Path) -> AttentionTrace:
    """Read a trace back.

    Raises
    ------
    AttentionError
        Missing, broken, or of a later version.
    """
    try:
        with zipfile.ZipFile(path) as file:
            described = json.loads(file.read(_DESCRIPTION))
            if described["schema_version"] > SCHEMA_VERSION:
                raise AttentionError(
                    "written by a later gazelab.", where=path, todo="Update gazelab to read it."
                )
            arrays = {name: _array(file, name) for name in (*_ARRAYS, *_EDGES)}
        return _trace(described, arrays)
    except FileNotFoundError as fault:
        raise AttentionError("there is no such attention trace.", where=path) from fault
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as fault:
        raise AttentionError(
            f"not an attention trace that can be read ({fault}).",
            where=path,
            todo="Delete it and run the model again.",
        ) from fault


def _write(out: Any, trace: AttentionTrace) -> None:
    grid = trace.grid
    arrays: dict[str, NDArray[Any]] = {
        name: np.asarray(getattr(trace, name), dtype) for name, dtype in _ARRAYS.items()
    }
    arrays |= {name: np.asarray(getattr(grid, name), np.float64) for name in _EDGES}
    described = {
        "schema_version": SCHEMA_VERSION,
        "picture_width_px": grid.picture_width_px,
        "picture_height_px": grid.picture_height_px,
        **{
            f.name: getattr(trace, f.name)
            for f in dataclasses.fields(trace)
            if f.name not in (*_ARRAYS, "grid")
        },
    }
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr(_DESCRIPTION, json.dumps(described, ensure_ascii=False, indent=1))
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def _array(file: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with file.open(f"{name}.npy") as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        return array


def _trace(described: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> AttentionTrace:
    grid = PatchGrid(
        arrays["x_edges_px"],
        arrays["y_edges_px"],
        int(described["picture_width_px"]),
        int(described["picture_height_px"]),
    )
    return AttentionTrace(
        model_id=described["model_id"],
        revision=described["revision"],
        picture_sha256=described["picture_sha256"],
        prompt=described["prompt"],
        tokens=tuple(described["tokens"]),
        grid=grid,
        weights=arrays["weights"],
        layers=tuple(int(layer) for layer in described["layers"]),
        text_share=arrays["text_share"],
        sink_share=arrays["sink_share"],
        kind=described["kind"],
        top=tuple(tuple((str(text), float(p)) for text, p in step) for step in described["top"]),
        answer=described["answer"],
        note=described["note"],
        made_with=dict(described["made_with"]),
    )
