from __future__ import annotations

import io

import numpy as np
import pytest

from gazelab.core.errors import SessionError
from gazelab.sessions.derived import inputs_sha256, load_arrays, load_json, save_arrays, save_json

from .conftest import gaze_rows


def test_a_result_is_read_back_for_the_same_inputs_only(tmp_path):
    made_from = inputs_sha256(gaze_rows([1, 2]), {"sigma_deg": 1.0})
    later = inputs_sha256(gaze_rows([1, 2]), {"sigma_deg": 0.5})
    save_json(tmp_path / "derived", "scores", {"nss": 1.25, "text": "ä"}, made_from)
    save_arrays(tmp_path / "derived", "maps", {"map": np.eye(3), "n": np.int64(4)}, made_from)
    assert load_json(tmp_path / "derived", "scores", made_from) == {"nss": 1.25, "text": "ä"}
    found = load_arrays(tmp_path / "derived", "maps", made_from)
    assert sorted(found) == ["map", "n"]
    assert found["map"].tolist() == np.eye(3).tolist()
    assert load_json(tmp_path / "derived", "scores", later) is None
    assert load_arrays(tmp_path / "derived", "maps", later) is None


def test_the_hash_tells_inputs_apart():
    a, b = np.zeros(2, np.int64), np.zeros((2, 1), np.int64)
    hashes = {
        inputs_sha256(*inputs)
        for inputs in (
            [a],
            [b],
            [a.astype(float)],
            [a, a],
            [a.tobytes()],
            ["0"],
            [0],
            [None],
            [],
            ["a", "b"],
            ["ab"],
        )
    }
    assert len(hashes) == 11
    assert inputs_sha256({"a": 1, "b": 2}) == inputs_sha256({"b": 2, "a": 1})
    assert inputs_sha256(np.arange(6).reshape(2, 3).T) == inputs_sha256(
        np.ascontiguousarray(np.arange(6).reshape(2, 3).T)
    )


def test_a_newer_result_takes_the_place_of_the_older(tmp_path):
    for value in (1, 2):
        save_json(tmp_path, "r", value, "x")
        save_arrays(tmp_path, "r", {"v": np.array(value)}, "x")
    assert load_json(tmp_path, "r", "x") == 2
    assert load_arrays(tmp_path, "r", "x")["v"] == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.npz"]


def test_what_is_absent_or_broken_counts_as_absent(tmp_path):
    assert load_json(tmp_path / "none", "r", "x") is None
    assert load_arrays(tmp_path / "none", "r", "x") is None
    save_arrays(tmp_path, "r", {"v": np.arange(100)}, "x")
    whole = (tmp_path / "r.npz").read_bytes()
    for size in range(len(whole)):
        (tmp_path / "r.npz").write_bytes(whole[:size])
        assert load_arrays(tmp_path, "r", "x") is None
    for content in (b"", b"{", b"[]", b"[" * 100_000, b"\xff", b'{"inputs_sha256": "x"}'):
        (tmp_path / "r.json").write_bytes(content)
        assert load_json(tmp_path, "r", "x") is None


def test_G17_objects_are_neither_stored_nor_loaded(tmp_path):
    with pytest.raises(SessionError, match="objects"):
        save_arrays(tmp_path, "r", {"v": np.array([None])}, "x")
    buffer = io.BytesIO()
    np.savez(buffer, _inputs_sha256=np.array("x"), v=np.array([{}], object))
    (tmp_path / "r.npz").write_bytes(buffer.getvalue())
    assert load_arrays(tmp_path, "r", "x") is None


def test_nan_is_no_json(tmp_path):
    with pytest.raises(SessionError, match="cannot be stored"):
        save_json(tmp_path, "r", float("nan"), "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../r", "", "a/b", ".r", "r.json"])
def test_R12_results_stay_in_their_folder(tmp_path, name):
    with pytest.raises(SessionError, match="cannot name a result"):
        save_json(tmp_path, name, 1, "x")
    with pytest.raises(SessionError, match="cannot name a result"):
        load_arrays(tmp_path, name, "x")


def test_links_are_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "derived").symlink_to(tmp_path / "real")
    with pytest.raises(SessionError, match="a link"):
        save_json(tmp_path / "derived", "r", 1, "x")
