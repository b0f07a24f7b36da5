from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.errors import SessionError
from gazelab.sessions.markers import (
    REQUIRED,
    MarkerKind,
    encode_marker,
    parse_lines,
    parse_markers,
    placement_from,
)

from .conftest import PLACEMENT, stimulus_on

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
times = st.integers(-(2**63), 2**63 - 1)


@given(times, values)
def test_a_marker_comes_back_as_it_was(time_ns, value):
    marker = {"time_ns": time_ns, "kind": "note", "text": "t", "more": value}
    line = encode_marker(marker)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert parse_markers(line) == ([marker], [])


def test_text_of_any_kind_survives():
    text = 'два\n"quote"\u2028\x00\ud83d lone \U0001f600 \ufffd'
    line = encode_marker({"time_ns": 1, "kind": "answer", "given": text})
    ((found,), problems) = parse_markers(line)
    assert found["given"] == text
    assert problems == []


def test_numpy_and_missing_values():
    line = encode_marker(
        {
            "time_ns": np.int64(7),
            "kind": MarkerKind.VALIDATION,
            "accuracy_deg": np.float32(0.5),
            "precision_deg": float("nan"),
            "offsets": np.array([[1.0, math.inf]]),
        }
    )
    ((found,), _) = parse_markers(line)
    assert found == {
        "time_ns": 7,
        "kind": "validation",
        "accuracy_deg": 0.5,
        "precision_deg": None,
        "offsets": [[1.0, None]],
    }


def test_a_placement_comes_back():
    ((found,), _) = parse_markers(encode_marker(stimulus_on(1)))
    assert placement_from(found["placement"]) == PLACEMENT


@pytest.mark.parametrize(
    "wrong", [None, {}, [1, 2], {**dict.fromkeys(PLACEMENT.__slots__, 1), "width_px": 0}, "x"]
)
def test_no_placement_is_no_stimulus(wrong):
    with pytest.raises(SessionError, match="placement"):
        encode_marker(stimulus_on(1, placement=wrong))


@pytest.mark.parametrize("kind", list(REQUIRED))
def test_every_kind_says_what_it_must(kind):
    with pytest.raises(SessionError, match=f"a {kind} marker lacks {REQUIRED[kind][0]}"):
        encode_marker({"time_ns": 1, "kind": kind})


@pytest.mark.parametrize("time_ns", [None, True, 1.0, "1", 2**63, float("nan")])
def test_a_time_is_whole_nanoseconds(time_ns):
    with pytest.raises(SessionError, match="time_ns"):
        encode_marker({"time_ns": time_ns, "kind": "pause"})


def test_a_huge_marker_is_refused():
    with pytest.raises(SessionError, match="bytes"):
        encode_marker({"time_ns": 1, "kind": "note", "text": "x" * 1_000_001})


def test_cut_at_every_byte_gives_the_whole_lines_before_it():
    lines = [encode_marker({"time_ns": n, "kind": "note", "text": "ä" * n}) for n in range(3)]
    content = b"".join(lines)
    ends = np.cumsum([len(line) for line in lines])
    for size in range(len(content) + 1):
        found, problems = parse_markers(content[:size])
        # The line end itself may be missing: the object before it is whole.
        n_whole = int((ends - 1 <= size).sum())
        assert [m["time_ns"] for m in found] == list(range(n_whole))
        torn = size - (0 if n_whole == 0 else int(ends[n_whole - 1]))
        assert len(problems) == (torn > 0)


def test_the_case_of_a_session_killed_in_mid_line(cases):
    found, cut_bytes, broken = parse_lines((cases / "session_killed_mid_line.jsonl").read_bytes())
    assert len(found) == 200
    assert found[-1] == (200, {"t": 3.316666666666667, "x": 960.0, "y": 540.0})
    assert cut_bytes == len('{"t": 3.35, "x": 96')
    assert broken == []


def test_B2_byte_order_mark_windows_line_ends_and_blank_lines():
    content = b'\xef\xbb\xbf{"time_ns": 0, "kind": "pause"}\r\n\r\n\n{"time_ns": 1, "kind": "resume"}\r\n'
    found, problems = parse_markers(content)
    assert [m["time_ns"] for m in found] == [0, 1]
    assert problems == []


def test_B2_an_empty_file_has_no_markers():
    assert parse_markers(b"") == ([], [])
    assert parse_markers(b"\xef\xbb\xbf") == ([], [])


def test_lines_that_are_no_markers_are_left_out_and_told():
    good = b'{"time_ns": 1, "kind": "pause"}\n'
    bad = [
        b"not json\n",
        b"[1, 2]\n",
        b'{"kind": "pause"}\n',
        b'{"time_ns": 1.0, "kind": "pause"}\n',
        b'{"time_ns": 1e400, "kind": "pause"}\n',
        b'{"time_ns": 1, "kind": 2}\n',
        b'{"time_ns": 99999999999999999999, "kind": "pause"}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        b'{"n": ' + b"9" * 5000 + b"}\n",
    ]
    found, problems = parse_markers(good + b"".join(bad) + good)
    assert len(found) == 2
    assert problems == [
        "10 unreadable lines of the markers left out (line 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
    ]


def test_the_file_is_plain_json_lines():
    assert json.loads(encode_marker({"time_ns": 5, "kind": "focus_lost"})) == {
        "time_ns": 5,
        "kind": "focus_lost",
    }


@pytest.mark.parametrize("key", ["left_px", "top_px", "width_px", "height_px", "picture_width_px"])
def test_a_placement_far_larger_than_any_screen_is_none(key):
    """Scores of a chart drawn over the universe would be numbers all the same."""
    with pytest.raises(SessionError, match="cannot be"):
        placement_from({**asdict(PLACEMENT), key: 10**30})
