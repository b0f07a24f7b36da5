import dataclasses
import json
import os
import struct
import sys

import numpy as np
import pytest
import traces
from safetensors.numpy import load_file, save_file

from gazelab.attention import trace_store
from gazelab.attention.trace_parts import head_of, steps_of
from gazelab.attention.trace_store import TraceWriter, load_trace, save_trace, trace_path
from gazelab.core.attention import AttentionTrace, LookView
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid


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


def several_views():
    """A trace with text weights, and two further views beside the main one."""
    views = [
        LookView(name, PatchGrid.stretched(rows, 2, 100, 60), np.full((2, 3, 4, rows, 2), 1 / 64, np.float16))
        for rows, name in enumerate(("global", "thumbnail"), 1)
    ]
    text = np.zeros((2, 3, 4, 4), np.float16)
    text[..., :3] = 1 / 32
    text[1, ..., 3] = 1 / 16  # the second token sees the first one too
    return a_trace(
        view="tiles",
        other_views=tuple(views),
        prompt_tokens=("<s>", "How", "?"),
        picture_at=1,
        text_weights=text,
        token_ids=(7, 9),
    )


def assert_same_grid(a, b):
    np.testing.assert_array_equal(a.x_edges_px, b.x_edges_px)
    np.testing.assert_array_equal(a.y_edges_px, b.y_edges_px)
    assert (a.picture_width_px, a.picture_height_px) == (b.picture_width_px, b.picture_height_px)


def assert_same(one, two):
    for name in (f.name for f in dataclasses.fields(AttentionTrace)):
        a, b = getattr(one, name), getattr(two, name)
        if name == "grid":
            assert_same_grid(a, b)
        elif name == "other_views":
            assert [v.name for v in a] == [v.name for v in b]
            for one_view, two_view in zip(a, b, strict=True):
                assert_same_grid(one_view.grid, two_view.grid)
                np.testing.assert_array_equal(one_view.weights, two_view.weights)
        elif isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b, name


@pytest.mark.parametrize("kind", ["one view", "several views", "no tokens"])
def test_what_is_read_is_what_was_written(tmp_path, kind):
    made = {"one view": a_trace, "several views": several_views}
    trace = made[kind]() if kind in made else traces.trace(np.zeros((0, 3, 4, 3, 5)))
    trace = dataclasses.replace(trace, token_ids=trace.token_ids or (-1,) * len(trace.tokens))
    path = save_trace(tmp_path / "derived", trace)
    assert_same(load_trace(path), trace)
    assert sorted(p.name for p in path.parent.iterdir()) == [path.with_suffix(".json").name, path.name]


def test_other_programs_read_the_tensors_and_the_description(tmp_path):
    trace = several_views()
    path = save_trace(tmp_path, trace)
    tensors = load_file(path)
    np.testing.assert_array_equal(tensors["weights.1"], trace.weights[1])
    np.testing.assert_array_equal(tensors["view0.0"], trace.other_views[0].weights[0])
    np.testing.assert_array_equal(tensors["text_weights.0"], trace.text_weights[0])
    described = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert described["answer"] == "t0 t1"
    assert [step["token"] for step in described["steps"]] == [" t0", " t1"]
    assert [view["name"] for view in described["views"]] == ["tiles", "global", "thumbnail"]


def test_a_token_is_on_disk_before_the_answer_ends(tmp_path):
    trace = a_trace()
    first, second = steps_of(trace)
    with TraceWriter(tmp_path, head_of(trace)) as writer:
        writer.append(first)
        assert not writer.path.exists()
        writer.append(second)
        path = writer.finish("t0 t1")
    np.testing.assert_array_equal(load_trace(path).weights, trace.weights)


def test_an_answer_that_was_cut_off_leaves_the_earlier_trace(tmp_path):
    path = save_trace(tmp_path, a_trace())
    with TraceWriter(tmp_path, head_of(a_trace())) as writer:
        writer.append(next(steps_of(a_trace())))
    assert load_trace(path).answer == "t0 t1"
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".safetensors"]


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

    monkeypatch.setattr(trace_store.shutil, "copyfileobj", full_disk)
    with pytest.raises(AttentionError, match="No space left on device"):
        save_trace(tmp_path, a_trace(answer="other"))
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".safetensors"]
    assert load_trace(path).answer == "t0 t1"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(AttentionError, match=r"none\.safetensors: there is no such attention trace"):
        load_trace(tmp_path / "none.safetensors")


@pytest.mark.parametrize("keep", [0, 10, 400])
def test_a_cut_file_is_named(tmp_path, keep):
    path = save_trace(tmp_path, a_trace())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(AttentionError, match="not an attention trace that can be read"):
        load_trace(path)


def rewritten(path, **changes):
    """The same file with another description in its header."""
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    described = {**json.loads(header["__metadata__"]["trace"]), **changes}
    header["__metadata__"]["trace"] = json.dumps(described)
    new = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(new)) + new + data[8 + n :])
    return path


def test_a_later_version_and_weights_that_do_not_fit_are_refused(tmp_path):
    path = save_trace(tmp_path, a_trace())
    with pytest.raises(AttentionError, match="later gazelab"):
        load_trace(rewritten(path, schema_version=99))
    path = save_trace(tmp_path, a_trace())
    with pytest.raises(AttentionError, match="not an attention trace"):
        load_trace(rewritten(path, layers=[1]))


@pytest.mark.parametrize(
    "changes",
    [
        {"picture_width_px": float("inf")},
        {"n_heads": 10**15},
        {"steps": 5},
        {"views": "x"},
        {"prompt_tokens": None},
        {"steps": [{"token": "a", "id": 0, "top": None}]},
    ],
)
def test_a_description_that_cannot_be_is_refused(tmp_path, changes):
    path = rewritten(save_trace(tmp_path, a_trace()), **changes)
    with pytest.raises(AttentionError, match="not an attention trace that can be read"):
        load_trace(path)


def test_a_safetensors_file_that_is_no_trace_is_refused(tmp_path):
    save_file({"a": np.zeros(3, np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(AttentionError, match="not an attention trace"):
        load_trace(tmp_path / "other.safetensors")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_others_who_share_the_disk_may_read_a_trace(tmp_path):
    before = os.umask(0o022)
    try:
        path = save_trace(tmp_path, a_trace())
    finally:
        os.umask(before)
    assert [oct(p.stat().st_mode & 0o777) for p in (path, path.with_suffix(".json"))] == ["0o644"] * 2
