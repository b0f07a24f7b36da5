from __future__ import annotations

import json
import struct
import zlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.gaze import FEATURE_DTYPE, GAZE_DTYPE, empty_features, empty_gaze
from gazelab.sessions import framing
from gazelab.sessions.framing import (
    CutHeaderError,
    FramingError,
    blocks,
    describe,
    file_header,
    fit,
    read_blocks,
    rebuild,
)

SMALL = np.dtype([("time_ns", "<i8"), ("valid", "?")])


def rows(*times: int) -> np.ndarray:
    return np.array([(t, True) for t in times], SMALL)


def file_of(*parts: np.ndarray, dtype: np.dtype = SMALL) -> bytes:
    return file_header("gaze", dtype) + b"".join(blocks(p.tobytes(), dtype.itemsize) for p in parts)


@pytest.mark.parametrize("dtype", [GAZE_DTYPE, FEATURE_DTYPE, SMALL])
def test_a_file_describes_its_own_records(dtype):
    assert rebuild(json.loads(json.dumps(describe(dtype)))) == dtype
    found = read_blocks(file_header("any", dtype))
    assert found.rows.dtype == dtype
    assert (len(found.rows), found.torn_bytes, found.damaged_blocks) == (0, 0, 0)


@given(
    st.lists(st.binary(min_size=GAZE_DTYPE.itemsize, max_size=GAZE_DTYPE.itemsize), max_size=20), st.data()
)
def test_any_bytes_of_records_come_back(records, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4)))
    edges = [0, *cuts, len(records)]
    parts = [b"".join(records[a:b]) for a, b in pairwise(edges)]
    content = file_header("gaze", GAZE_DTYPE) + b"".join(blocks(p, GAZE_DTYPE.itemsize) for p in parts)
    found = read_blocks(content)
    assert found.rows.tobytes() == b"".join(records)
    assert (found.torn_bytes, found.damaged_blocks) == (0, 0)


def test_many_records_become_several_blocks(monkeypatch):
    monkeypatch.setattr(framing, "MAX_BLOCK_BYTES", 5 * SMALL.itemsize)
    many = rows(*range(23))
    content = file_of(many)
    assert content.count(framing.SYNC) == 5
    assert read_blocks(content).rows.tobytes() == many.tobytes()


def test_cut_at_every_byte_gives_the_whole_blocks_before_it():
    parts = [rows(1, 2), rows(3), rows(4, 5, 6)]
    header = len(file_header("gaze", SMALL))
    ends = [header]
    for part in parts:
        ends.append(ends[-1] + 12 + part.nbytes)
    content = file_of(*parts)
    assert len(content) == ends[-1]
    for size in range(len(content) + 1):
        if size < header:
            with pytest.raises(CutHeaderError):
                read_blocks(content[:size])
            continue
        n_whole = sum(end <= size for end in ends) - 1
        found = read_blocks(content[:size])
        assert found.rows["time_ns"].tolist() == [1, 2, 3, 4, 5, 6][: (0, 2, 3, 6)[n_whole]]
        assert found.torn_bytes == size - ends[n_whole]
        assert found.damaged_blocks == 0


def test_a_flipped_bit_costs_one_block_and_is_told():
    parts = [rows(1, 2), rows(3, 4), rows(5)]
    content = file_of(*parts)
    header = len(file_header("gaze", SMALL))
    block_bytes = 12 + parts[0].nbytes
    for at in range(header + block_bytes, header + 2 * block_bytes):
        for bit in (0, 7):
            broken = bytearray(content)
            broken[at] ^= 1 << bit
            found = read_blocks(bytes(broken))
            assert found.rows["time_ns"].tolist() == [1, 2, 5]
            assert (found.damaged_blocks, found.damaged_bytes, found.torn_bytes) == (1, block_bytes, 0)


def test_a_flipped_bit_in_the_last_block_is_a_torn_tail():
    content = bytearray(file_of(rows(1), rows(2, 3)))
    content[-1] ^= 1
    found = read_blocks(bytes(content))
    assert found.rows["time_ns"].tolist() == [1]
    assert found.torn_bytes == 12 + 2 * SMALL.itemsize


@given(st.binary(max_size=400), st.integers(0, 200))
def test_no_tail_of_garbage_ever_raises(garbage, keep):
    content = file_of(rows(1, 2, 3), rows(4))
    start = len(content) - min(keep, 60)
    found = read_blocks(content[:start] + garbage)
    assert set(found.rows["time_ns"].tolist()) <= {1, 2, 3, 4}


@given(st.binary(max_size=300))
def test_a_file_that_is_none_of_ours_is_refused(garbage):
    with pytest.raises(FramingError):
        read_blocks(garbage)


def test_a_damaged_header_is_refused():
    content = bytearray(file_of(rows(1)))
    for at in range(len(file_header("gaze", SMALL))):
        broken = bytearray(content)
        broken[at] ^= 4
        with pytest.raises(FramingError):
            read_blocks(bytes(broken))


@pytest.mark.parametrize(
    "fields",
    [
        [["a", "|O", []]],
        [["a", "|S5", []]],
        [["a", ">i8", []]],
        [["a", "<i8"]],
        [["a", "<i8", [70_000]]],
        [["a", "<i8", [-1]]],
        [["a", "<i8", []], ["a", "<i8", []]],
        [],
        "abc",
        None,
        [[1, "<i8", []]],
    ],
)
def test_hostile_record_types_are_refused(fields):
    text = json.dumps({"dtype": fields}).encode()
    head = framing.MAGIC + struct.pack("<I", len(text)) + text + struct.pack("<I", zlib.crc32(text))
    with pytest.raises(FramingError):
        read_blocks(head)


def test_objects_cannot_be_stored():
    with pytest.raises((TypeError, FramingError)):
        file_header("x", np.dtype([("a", "O")]))


def test_records_of_an_older_layout_are_read_by_name():
    older = np.dtype([("time_ns", "<i8"), ("x_px", "<f4"), ("dropped", "<f8")])
    stored = np.array([(5, 1.5, 9.0), (6, 2.5, 9.0)], older)
    found = fit(read_blocks(file_of(stored, dtype=older)).rows, empty_gaze(1))
    assert found.dtype == GAZE_DTYPE
    assert found["time_ns"].tolist() == [5, 6]
    assert found["x_px"].tolist() == [1.5, 2.5]
    assert np.isnan(found["y_px"]).all()
    assert not found["valid"].any()


def test_a_field_of_another_shape_is_refused():
    other = np.dtype([("time_ns", "<i8"), ("patches", "u1", (2, 4, 4))])
    with pytest.raises(FramingError, match="patches"):
        fit(np.zeros(1, other), empty_features(1))
