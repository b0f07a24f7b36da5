from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.core.errors import SessionError
from gazelab.core.gaze import FEATURE_DTYPE, GAZE_DTYPE
from gazelab.core.picture import encode_png
from gazelab.sessions import reader
from gazelab.sessions.framing import blocks, describe, file_header
from gazelab.sessions.reader import Session
from gazelab.sessions.schema import header_from_json
from gazelab.sessions.writer import SessionWriter

from .conftest import gaze_rows, picture, stimulus_on

S = 1_000_000_000


@pytest.fixture
def recorded(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        name = writer.stimulus(picture())
        writer.marker(stimulus_on(10, picture_sha256=name.removesuffix(".png")))
        writer.gaze(gaze_rows([10, 20, 30]))
    return writer.path


def test_no_session_is_told(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(SessionError, match=r"no session.*sessions list"):
            Session.open(path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(SessionError):
        Session.open(tmp_path / "file")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff\xff",
        b"[" * 200_000,
        b'{"schema_version": 1}',
        b'{"schema_version": true}',
        b'{"schema_version": "1"}',
    ],
)
def test_a_broken_header_names_its_file(recorded, content):
    (recorded / "session.json").write_bytes(content)
    with pytest.raises(SessionError, match=r"session\.json: .*broken"):
        Session.open(recorded)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("participant", 7),
        ("participant", "../x"),
        ("screen", {"width_px": 0, "height_px": 1}),
        ("screen", {"width_px": 10, "height_px": 1, "width_mm": "wide"}),
        ("screen", {"width_px": 10**30, "height_px": 1080}),
        ("source", {}),
        ("started", {"clock_ns": 1.5, "utc_ns": 1}),
        ("started", {"clock_ns": 1, "utc_ns": 10**30}),
        ("closed", "yes"),
        ("totals", {"gaze": 5}),
        ("totals", {"gaze": {"n_in": "many"}}),
        ("software", []),
    ],
)
def test_a_header_with_a_wrong_field_names_its_file(recorded, key, value):
    file = recorded / "session.json"
    content = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**content, key: value}))
    with pytest.raises(SessionError, match=r"session\.json: "):
        Session.open(recorded)


@pytest.mark.parametrize("version", [0, -7])
def test_a_schema_that_never_was_is_refused(recorded, version):
    file = recorded / "session.json"
    content = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**content, "schema_version": version}))
    with pytest.raises(SessionError, match=r"session\.json: .*never was a schema"):
        Session.open(recorded)


def test_a_newer_schema_is_told(recorded):
    file = recorded / "session.json"
    content = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**content, "schema_version": 99}))
    with pytest.raises(SessionError, match=r"newer gazelab \(schema 99.*Update"):
        Session.open(recorded)


def test_fields_of_the_same_schema_that_are_not_known_are_passed_over(recorded):
    file = recorded / "session.json"
    content = json.loads(file.read_text("utf-8"))
    content |= {"later": 1, "totals": {"gaze": {"n_in": 3, "later": 1}}}
    file.write_text(json.dumps(content))
    assert Session.open(recorded).header.totals["gaze"].n_in == 3


@given(st.binary(max_size=100))
def test_header_bytes_of_any_kind_give_a_session_error(content):
    with pytest.raises(SessionError):
        header_from_json(content, "session.json")


def test_cut_at_every_byte_the_gaze_can_be_read(recorded):
    content = (recorded / "gaze.bin").read_bytes()
    header_bytes = len(file_header("gaze", GAZE_DTYPE))
    for size in range(len(content)):
        (recorded / "gaze.bin").write_bytes(content[:size])
        session = Session.open(recorded)
        assert len(session.gaze()) == 0
        if size == 0:
            assert session.report == ["gaze: an empty file, no rows"]
        elif size < header_bytes:
            assert session.report == [f"gaze: torn tail of {size} bytes cut, no rows"]
        elif size > header_bytes:
            assert session.report == [f"gaze: torn tail of {size - header_bytes} bytes cut"]
        else:
            assert session.report == []


def test_a_torn_tail_is_cut_and_told(recorded):
    with (recorded / "gaze.bin").open("ab") as file:
        file.write(b"GZBK" + bytes(27))
    session = Session.open(recorded)
    assert len(session.gaze()) == 3
    assert session.report == ["gaze: torn tail of 31 bytes cut"]


def test_a_flipped_bit_is_told(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header, flush_s=3600) as writer:
        writer.gaze(gaze_rows([1, 2]))
        writer._streams.drain()
        first = (writer.path / "gaze.bin").stat().st_size
        writer.gaze(gaze_rows([3]))
    content = bytearray((writer.path / "gaze.bin").read_bytes())
    content[first - 1] ^= 1
    (writer.path / "gaze.bin").write_bytes(content)
    session = Session.open(writer.path)
    assert session.gaze()["time_ns"].tolist() == [3]
    assert session.report == [
        f"gaze: 1 damaged stretches ({12 + 2 * session.gaze().itemsize} bytes) left out"
    ]


def test_files_that_are_missing_are_told(recorded):
    (recorded / "gaze.bin").unlink()
    (recorded / "markers.jsonl").unlink()
    session = Session.open(recorded)
    assert (len(session.gaze()), session.markers(), session.trials(), session.end_ns) == (0, [], [], None)
    assert session.report == ["no gaze.bin: no samples", "no markers.jsonl: no trials"]


def test_a_file_of_another_kind_is_refused_by_name(recorded):
    (recorded / "gaze.bin").write_bytes(b"time,x,y\n0,1,2\n")
    with pytest.raises(SessionError, match=r"gaze\.bin: it does not begin as a gazelab record file"):
        Session.open(recorded).gaze()


def test_features_of_another_version_are_told_and_the_gaze_is_read(recorded):
    """Eye patches of another size: times, pose and count of faces are there, and nothing is valid."""
    today = describe(FEATURE_DTYPE)
    fields = [(n, kind, (2, 4, 4) if n == "patches" else tuple(shape)) for n, kind, shape in today]
    rows = np.zeros(2, np.dtype(fields))
    rows["time_ns"], rows["n_faces"], rows["yaw_deg"], rows["valid"] = [10, 20], 2, 3.5, True
    (recorded / "features.bin").write_bytes(
        file_header("features", rows.dtype) + blocks(rows.tobytes(), rows.dtype.itemsize)
    )
    session = Session.open(recorded)
    features = session.features()
    assert features.dtype == FEATURE_DTYPE
    assert features["time_ns"].tolist() == [10, 20]
    assert features["n_faces"].tolist() == [2, 2]
    assert features["yaw_deg"].tolist() == [3.5, 3.5]
    assert not features["valid"].any()
    assert not features["patches"].any()
    assert len(session.gaze()) == 3
    [note] = [n for n in session.report if n.startswith("features")]
    assert "of another version (field 'patches' has shape (2, 4, 4))" in note


def test_T11_clock_jumps_are_reported_as_segments(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header) as writer:
        writer.gaze(gaze_rows(np.array([74_700, 74_701, 34, 35]) * S))
    session = Session.open(writer.path)
    assert session.gaze()["time_ns"].tolist() == [74_700 * S, 74_701 * S, 34 * S, 35 * S]
    assert session.stamps.segments() == [slice(0, 2), slice(2, 4)]
    assert session.report == [
        "the clock leapt by -74667.000 s at row 2",
        "2 segments: nothing joins them",
    ]


def test_what_was_recorded_cannot_be_changed_by_a_reader(recorded):
    session = Session.open(recorded)
    with pytest.raises(ValueError, match="read-only"):
        session.gaze()["x_px"] = 0
    assert session.gaze() is session.gaze()


def test_R12_links_are_not_followed(recorded, tmp_path):
    other = tmp_path / "elsewhere"
    shutil.copytree(recorded, other)
    (tmp_path / "sessions" / "link").symlink_to(other)
    with pytest.raises(SessionError, match="a link"):
        Session.open(tmp_path / "sessions" / "link")
    for name in ("gaze.bin", "markers.jsonl"):
        (recorded / name).unlink()
        (recorded / name).symlink_to(other / name)
    session = Session.open(recorded)
    with pytest.raises(SessionError, match=r"gaze\.bin: not a plain file"):
        session.gaze()
    with pytest.raises(SessionError, match=r"markers\.jsonl: not a plain file"):
        session.markers()


def test_R12_a_linked_folder_of_pictures_is_not_followed(recorded, tmp_path):
    shutil.rmtree(recorded / "stimuli", ignore_errors=True)
    (tmp_path / "pictures").mkdir()
    (recorded / "stimuli").symlink_to(tmp_path / "pictures")
    with pytest.raises(SessionError, match="stimuli: a link"):
        Session.open(recorded).stimulus("0" * 64)


@pytest.mark.parametrize("name", ["../../session", "..", "A" * 64, "", "0" * 63])
def test_R12_a_picture_is_named_by_its_hash_only(recorded, name):
    with pytest.raises(SessionError, match="no picture's sha256"):
        Session.open(recorded).stimulus(name)


def test_a_picture_that_was_changed_is_told(recorded):
    session = Session.open(recorded)
    sha256 = session.trials()[0].picture_sha256
    file = recorded / "stimuli" / f"{sha256}.png"
    assert session.stimulus(sha256).sha256 == sha256
    file.write_bytes(b"no picture")
    with pytest.raises(SessionError, match="not a picture"):
        session.stimulus(sha256)
    file.write_bytes(encode_png(picture(5).rgb))
    with pytest.raises(SessionError, match="pixels have changed"):
        session.stimulus(sha256)
    file.unlink()
    with pytest.raises(SessionError, match="missing"):
        session.stimulus(sha256)


def test_files_over_the_limits_are_refused(recorded, monkeypatch):
    monkeypatch.setattr(reader, "MAX_STREAM_BYTES", 100)
    with pytest.raises(SessionError, match=r"gaze\.bin: .*over the limit"):
        Session.open(recorded).gaze()
    monkeypatch.setattr(reader, "MAX_HEADER_BYTES", 100)
    with pytest.raises(SessionError, match=r"session\.json: .*over the limit"):
        Session.open(recorded)


def test_a_session_can_be_read_while_it_is_recorded(tmp_path, header):
    with SessionWriter.create(tmp_path, "s1", header, flush_s=3600) as writer:
        writer.gaze(gaze_rows([1, 2]))
        writer._streams.drain()
        assert Session.open(writer.path).gaze()["time_ns"].tolist() == [1, 2]
        assert not Session.open(writer.path).header.closed


def test_G17_nothing_is_unpickled():
    for file in Path(reader.__file__).parent.glob("*.py"):
        text = file.read_text("utf-8")
        assert "pickle" not in text.replace("allow_pickle=False", ""), file
        assert "joblib" not in text, file
