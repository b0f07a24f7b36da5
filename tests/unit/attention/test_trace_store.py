import dataclasses
import io
import json
import zipfile

import numpy as np
import pytest
import traces

from gazelab.attention.trace_store import load_trace, save_trace, trace_path
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError


def a_trace(**changes):
    weights = np.random.default_rng(3).dirichlet(np.ones(15), (2, 3, 4)).reshape(2, 3, 4, 3, 5) / 2
    top = (((" t0", 0.75), ("�", 0.125)), ((" t1", 0.5),))
    values = {
        "top": top,
        "answer": "t0 t1",
        "note": "stretched",
        "made_with": {"torch": "2"},
        "layers": (1, 3, 5),
    }
    return traces.trace(weights, **{**values, **changes})


def assert_same(one, two):
    for name in (f.name for f in dataclasses.fields(AttentionTrace)):
        a, b = getattr(one, name), getattr(two, name)
        if name == "grid":
            np.testing.assert_array_equal(a.x_edges_px, b.x_edges_px)
            np.testing.assert_array_equal(a.y_edges_px, b.y_edges_px)
            assert (a.picture_width_px, a.picture_height_px) == (b.picture_width_px, b.picture_height_px)
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b, name


@pytest.mark.parametrize("tokens", [2, 0])
def test_what_is_read_is_what_was_written(tmp_path, tokens):
    trace = a_trace()
    if not tokens:
        trace = traces.trace(np.zeros((0, 3, 4, 3, 5)))
    path = save_trace(tmp_path / "derived", trace)
    assert_same(load_trace(path), trace)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_numpy_opens_the_arrays_without_pickle(tmp_path):
    trace = a_trace()
    with np.load(save_trace(tmp_path, trace), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["weights"], trace.weights)


def test_a_name_tells_question_picture_and_model_apart(tmp_path):
    changed = [{}, {"prompt": "other?"}, {"picture_sha256": "1" * 64}, {"model_id": "b"}, {"revision": "c"}]
    assert len({trace_path(tmp_path, a_trace(**c)) for c in changed}) == 5
    assert trace_path(tmp_path, a_trace(model_id="../../etc/pässwd")).parent == tmp_path


def test_an_earlier_trace_of_the_same_question_is_replaced(tmp_path):
    first = save_trace(tmp_path, a_trace())
    second = save_trace(tmp_path, a_trace(answer="other"))
    assert first == second
    assert load_trace(second).answer == "other"


def test_a_fault_while_writing_leaves_the_earlier_file_and_no_other(tmp_path, monkeypatch):
    path = save_trace(tmp_path, a_trace())

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full_disk)
    with pytest.raises(AttentionError, match="No space left on device"):
        save_trace(tmp_path, a_trace(answer="other"))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert load_trace(path).answer == "t0 t1"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(AttentionError, match=r"none\.npz: there is no such attention trace"):
        load_trace(tmp_path / "none.npz")


@pytest.mark.parametrize("keep", [0, 10, 400])
def test_a_cut_file_is_named(tmp_path, keep):
    path = save_trace(tmp_path, a_trace())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(AttentionError, match="not an attention trace that can be read"):
        load_trace(path)


def rewritten(path, member, content):
    """The same zip file with one member's content exchanged."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, data in {**members, member: content}.items():
            file.writestr(name, data)
    return path


def test_a_pickled_array_is_refused(tmp_path):
    evil = io.BytesIO()
    np.lib.format.write_array(evil, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    path = rewritten(save_trace(tmp_path, a_trace()), "weights.npy", evil.getvalue())
    with pytest.raises(AttentionError, match="not an attention trace"):
        load_trace(path)


def test_a_later_version_and_weights_that_do_not_fit_are_refused(tmp_path):
    path = save_trace(tmp_path, a_trace())
    with zipfile.ZipFile(path) as file:
        described = json.loads(file.read("trace.json"))
    rewritten(path, "trace.json", json.dumps({**described, "schema_version": 99}))
    with pytest.raises(AttentionError, match="later gazelab"):
        load_trace(path)
    rewritten(path, "trace.json", json.dumps({**described, "tokens": ["one"]}))
    with pytest.raises(AttentionError, match="not an attention trace"):
        load_trace(path)
