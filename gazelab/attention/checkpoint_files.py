"""What lies in a checkpoint's folder, looked at before a library reads it: each fault names its file.

Reads the beginnings of files only: no torch here, and no weights in memory.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

from gazelab.attention.hub import WEIGHTS, check_listing, size_text
from gazelab.core.errors import AttentionError

INDEX = "model.safetensors.index.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
_LONGEST_HEADER = 100_000_000
"""The format's own limit for a header, in bytes."""
_ITEM_BYTES = {
    **dict.fromkeys(("F64", "I64", "U64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
}
_hashes: dict[tuple[str, int, int], str] = {}


def check_folder(folder: Path) -> None:
    """Check that a folder is a checkpoint with all its parts; the weights' content is not looked at.

    Raises
    ------
    AttentionError
        It is something else, or a part is missing; with the file's name.
    """
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as fault:
        raise AttentionError(f"it cannot be read ({fault.strerror}).", where=folder, todo=_ALLOWED) from fault
    check_listing(sorted(names), folder)
    read_json(folder / "config.json")
    weight_files(folder)
    for wanted, what in ((PROCESSORS, "picture processor"), (TOKENIZERS, "tokenizer")):
        if not names & set(wanted):
            raise AttentionError(
                f"its {what} is missing: there is no {' and no '.join(wanted)}.",
                where=folder,
                todo="Copy the whole checkpoint, not its weights alone.",
            )


def first_of(folder: Path, names: tuple[str, ...]) -> Path:
    """Give the first of several files that is there."""
    return next((folder / name for name in names if (folder / name).is_file()), folder)


def read_json(path: Path) -> dict[str, Any]:
    """Read a settings file of a checkpoint.

    Raises
    ------
    AttentionError
        It is not a JSON object.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as fault:
        raise AttentionError(f"it cannot be read as JSON ({fault}).", where=path, todo=_AGAIN) from fault
    if not isinstance(found, dict):
        raise AttentionError("it is JSON, but no object with settings.", where=path, todo=_AGAIN)
    return found


_AGAIN = "Copy or download that file again."
_ALLOWED = "See that you may read it."


def weight_files(folder: Path) -> tuple[Path, ...]:
    """List the weight files that transformers reads: one, or those of the index.

    Raises
    ------
    AttentionError
        One that the index names is missing.
    """
    whole = folder / "model.safetensors"
    if whole.is_file():
        return (whole,)
    if not (folder / INDEX).is_file():
        names = sorted(path.name for path in folder.iterdir())
        check_listing(names, folder)
        parts = [name for name in names if WEIGHTS.fullmatch(name)]
        raise AttentionError(
            f"{INDEX} is missing, which tells what is in {parts[0]} and the others.",
            where=folder,
            todo=_AGAIN,
        )
    table = read_json(folder / INDEX).get("weight_map")
    named = sorted({str(name) for name in table.values()}) if isinstance(table, dict) else []
    # A name with a path in it would reach out of the folder, and one of another kind may be a pickle.
    missing = [name for name in named if not WEIGHTS.fullmatch(name) or not (folder / name).is_file()]
    if missing or not named:
        raise AttentionError(
            f"{len(missing)} of {len(named)} weight files are missing"
            + (f", the first is {missing[0]}." if missing else f": {INDEX} names none."),
            where=folder,
            todo="Download the rest.",
        )
    return tuple(folder / name for name in named)


def check_weights(folder: Path) -> None:
    """Check that every weight file is whole, by its header and its length.

    Raises
    ------
    AttentionError
        One is cut off, damaged, or something else under that name.
    """
    for path in weight_files(folder):
        header_of(path)


def header_of(path: Path) -> dict[str, Any]:
    """Read a safetensors file's header: eight bytes of length, then JSON, then the values.

    Returns
    -------
    dict
        Tensor name → {"dtype", "shape", "data_offsets"}.

    Raises
    ------
    AttentionError
        The file's length is not what its header says, or there is no header.
    """
    try:
        size, opened = path.stat().st_size, path.open("rb")
    except OSError as fault:
        raise AttentionError(f"it cannot be read ({fault.strerror}).", where=path, todo=_ALLOWED) from fault
    with opened as file:
        start = file.read(8)
        length = int.from_bytes(start, "little") if len(start) == 8 else _LONGEST_HEADER + 1
        if start == b"version ":
            raise AttentionError(
                "it is a Git LFS pointer, not the weights.", where=path, todo="Fetch them: git lfs pull"
            )
        if length > _LONGEST_HEADER:
            raise AttentionError(
                f"it is no safetensors file ({size} bytes, and no header).", where=path, todo=_AGAIN
            )
        raw = file.read(length)
    try:
        header: dict[str, Any] = json.loads(raw)
        header.pop("__metadata__", None)
        end = 8 + length + max((_end_of(entry) for entry in header.values()), default=0)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as fault:
        cut = "cut off" if size < 8 + length else "damaged"
        raise AttentionError(f"its header is {cut} ({size} bytes).", where=path, todo=_AGAIN) from fault
    if end != size:
        raise AttentionError(
            f"it is {'cut off' if size < end else 'too long'}: {size_text(size)} instead of"
            f" {size_text(end)} ({size} and {end} bytes).",
            where=path,
            todo=_AGAIN,
        )
    return header


def _end_of(entry: dict[str, Any]) -> int:
    """Give where a tensor's values end, of an entry that is as the format says."""
    start, end = entry["data_offsets"]
    whole_numbers = [start, end, *entry["shape"]]
    if not isinstance(entry["dtype"], str) or not all(type(n) is int and n >= 0 for n in whole_numbers):
        raise ValueError("an entry with no numbers of its place and shape")
    return int(end)


def stored_bytes(folder: Path) -> int:
    """Size of the weights as they lie on the disk."""
    return sum(path.stat().st_size for path in weight_files(folder))


def loaded_bytes(folder: Path, item_bytes: float | None = None) -> int:
    """Estimate the memory that the weights take.

    Parameters
    ----------
    item_bytes : float, optional
        Bytes a number where they are converted; as stored by default. Whole numbers stay as they are.
    """
    total = 0.0
    for path in weight_files(folder):
        for entry in header_of(path).values():
            stored = _ITEM_BYTES.get(entry["dtype"], 1)
            converted = item_bytes is not None and "F" in entry["dtype"]
            total += math.prod(entry["shape"]) * (item_bytes if converted and item_bytes else stored)
    return int(total)


def weights_sha256(folder: Path) -> str:
    """Hash the weights: a file's own SHA-256; of several, that of their digests in the order of their names.

    The whole content is read: 0.6 s a GB. It is done once for a file as long as this process lives and the
    file keeps its size and its time; nothing is written for the next one, which would then trust a time stamp
    from another day.
    """
    each = [_file_sha256(path) for path in weight_files(folder)]
    return each[0] if len(each) == 1 else hashlib.sha256(bytes.fromhex("".join(each))).hexdigest()


def _file_sha256(path: Path) -> str:
    stat = path.stat()
    key = (os.fspath(path.resolve()), stat.st_size, stat.st_mtime_ns)
    if key not in _hashes:
        with path.open("rb") as file:
            _hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return _hashes[key]
