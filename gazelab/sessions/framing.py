"""Append-only files of records: blocks with a checksum behind a header that describes itself.

A file is `GAZELAB1`, the length of a JSON header (u4), the header, its CRC-32 (u4), then blocks of
`GZBK`, the payload's length (u4), the CRC-32 of that length and the payload (u4), the payload: whole records.
All little endian. A file that was cut anywhere gives every block that is whole.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"GAZELAB1"
SYNC = b"GZBK"
_U4 = struct.Struct("<I")
_HEAD = struct.Struct("<4sII")
MAX_HEADER_BYTES = 65_536
MAX_BLOCK_BYTES = 1024 * 1024
"""No block is longer; it also bounds the search for the next sound block after damage."""
_TYPE = re.compile(r"^(\|b1|\|[iu]1|<[iu][248]|<f[48])$")


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """What a file of records held.

    Attributes
    ----------
    rows : numpy.ndarray, shape (n,)
        Every record of every whole block, of the dtype that the file describes.
    torn_bytes : int
        Bytes at the end that are no whole block: cut off.
    damaged_blocks, damaged_bytes : int
        Stretches in the middle whose checksum is wrong, and their size: left out.
    """

    rows: NDArray[np.void]
    torn_bytes: int = 0
    damaged_blocks: int = 0
    damaged_bytes: int = 0


class FramingError(ValueError):
    """The file's own header is missing or wrong, so that its records cannot be told apart."""


class CutHeaderError(FramingError):
    """The file ends within its own header: it holds no records yet."""


def file_header(stream: str, dtype: np.dtype[Any]) -> bytes:
    """Make the first bytes of a file of `dtype` records."""
    text = json.dumps({"stream": stream, "dtype": describe(dtype)}, separators=(",", ":")).encode()
    return MAGIC + _U4.pack(len(text)) + text + _U4.pack(zlib.crc32(text))


def blocks(payload: bytes, itemsize: int) -> bytes:
    """Wrap whole records of `itemsize` bytes as one block, or as several where they are too many for one."""
    step = max(1, MAX_BLOCK_BYTES // itemsize) * itemsize
    if len(payload) <= step:
        return _block(payload)
    return b"".join(_block(payload[at : at + step]) for at in range(0, len(payload), step))


def _block(payload: bytes) -> bytes:
    length = _U4.pack(len(payload))
    return _HEAD.pack(SYNC, len(payload), zlib.crc32(payload, zlib.crc32(length))) + payload


def describe(dtype: np.dtype[Any]) -> list[list[Any]]:
    """Give the fields as JSON-ready `[name, type, shape]`, little endian and without padding."""
    fields: list[list[Any]] = []
    for name in dtype.names or ():
        field = dtype[name]
        fields.append([name, field.base.newbyteorder("<").str, list(field.shape)])
    if rebuild(fields) != dtype:
        raise TypeError(f"a record of type {dtype} cannot be stored: plain little-endian numbers only")
    return fields


def rebuild(fields: Any) -> np.dtype[Any]:
    """Make a dtype of `describe`'s list.

    Raises
    ------
    FramingError
        Anything but named bools, integers and floats of fixed shape.
    """
    try:
        built = []
        for name, kind, shape in fields:
            if not isinstance(name, str) or not _TYPE.match(kind) or len(shape) > 4:
                raise FramingError(f"unknown field {name!r} of type {kind!r}")
            built.append((name, kind, tuple(int(n) for n in shape)))
        dtype = np.dtype(built)
    except (TypeError, ValueError, OverflowError) as fault:
        raise FramingError(f"the record type cannot be read ({fault})") from fault
    if not 0 < dtype.itemsize <= MAX_HEADER_BYTES:
        raise FramingError(f"a record of {dtype.itemsize} bytes")
    return dtype


def read_blocks(data: bytes) -> Blocks:
    """Read a whole file; damage is left out and counted, never raised.

    Parameters
    ----------
    data : bytes
        The file's content, cut anywhere.

    Returns
    -------
    Blocks

    Raises
    ------
    CutHeaderError
        The file ends within its own header.
    FramingError
        The file's own header is wrong.
    """
    dtype, at = _read_header(data)
    payloads: list[memoryview] = []
    view = memoryview(data)
    damaged = damaged_bytes = 0
    while at < len(data):
        size = _whole_block(view, at, dtype.itemsize)
        if size is not None:
            payloads.append(view[at + _HEAD.size : at + _HEAD.size + size])
            at += _HEAD.size + size
            continue
        after = _next_block(data, view, at + 1, dtype.itemsize)
        if after is None:
            break
        damaged += 1
        damaged_bytes += after - at
        at = after
    rows = np.frombuffer(b"".join(payloads), dtype)
    return Blocks(rows, len(data) - at, damaged, damaged_bytes)


def fit(rows: NDArray[np.void], like: NDArray[np.void]) -> NDArray[np.void]:
    """Bring records of an older or newer layout into today's: by field name, what is missing stays lost.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n,)
        As stored.
    like : numpy.ndarray, shape (1,)
        One lost record of today's dtype: fills the fields that the file lacks.

    Raises
    ------
    FramingError
        A field has the same name and another shape.
    """
    if rows.dtype == like.dtype:
        return rows
    out = np.repeat(like, len(rows))
    for name in like.dtype.names or ():
        if name in (rows.dtype.names or ()):
            if rows.dtype[name].shape != like.dtype[name].shape:
                raise FramingError(f"field {name!r} has shape {rows.dtype[name].shape}")
            out[name] = rows[name]
    return out


def _read_header(data: bytes) -> tuple[np.dtype[Any], int]:
    start = len(MAGIC) + _U4.size
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise FramingError("it does not begin as a gazelab record file")
    if len(data) < start:
        raise CutHeaderError("its header is cut off")
    (size,) = _U4.unpack_from(data, len(MAGIC))
    end = start + size
    if size > MAX_HEADER_BYTES:
        raise FramingError("its header is damaged")
    if len(data) < end + _U4.size:
        raise CutHeaderError("its header is cut off")
    text = data[start:end]
    if zlib.crc32(text) != _U4.unpack_from(data, end)[0]:
        raise FramingError("its header is damaged")
    try:
        fields = json.loads(text)["dtype"]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise FramingError("its header cannot be read") from fault
    return rebuild(fields), end + _U4.size


def _whole_block(view: memoryview, at: int, itemsize: int) -> int | None:
    """Size of the payload of a sound block at `at`; None if there is none."""
    if at + _HEAD.size > len(view):
        return None
    sync, size, crc = _HEAD.unpack_from(view, at)
    begin = at + _HEAD.size
    if sync != SYNC or size > MAX_BLOCK_BYTES or size % itemsize or begin + size > len(view):
        return None
    good = zlib.crc32(view[begin : begin + size], zlib.crc32(view[at + 4 : at + 8])) == crc
    return int(size) if good else None


def _next_block(data: bytes, view: memoryview, at: int, itemsize: int) -> int | None:
    """Where the next sound block begins after damage."""
    while (at := data.find(SYNC, at)) >= 0:
        if _whole_block(view, at, itemsize) is not None:
            return at
        at += 1
    return None
