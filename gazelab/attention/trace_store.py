"""Attention traces on disk: safetensors, written token by token, and a JSON description beside it.

The safetensors file is whole in itself: its header's metadata hold the description, and every token has
tensors of its own (`weights.0`, `text_share.0`, …), so that a long answer is on disk while it is given. The
JSON file is a copy of the description for people and other programs. Neither can run code.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import secrets
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from gazelab.attention.base import TokenStep, TraceHead, trace_of
from gazelab.attention.foreign import BROKEN, said
from gazelab.attention.trace_parts import described, head_from, head_of, steps_of
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError

SCHEMA_VERSION = 2
_SHARES = ("text_share", "sink_share")
_TYPES = {"float16": "F16", "float32": "F32"}
_COPY_BYTES = 1 << 20


def trace_path(folder: Path, trace: AttentionTrace | TraceHead) -> Path:
    """Name the file of a trace; see `trace_path_of`."""
    return trace_path_of(folder, trace.model_id, trace.revision, trace.picture_sha256, trace.prompt)


def trace_path_of(folder: Path, model_id: str, revision: str, picture_sha256: str, prompt: str) -> Path:
    """Name the file of what a trace is about: readable model name, and a hash of all four.

    With it one can see whether a model's trace of a question is there before the model runs.
    """
    key = "\n".join((model_id, revision, picture_sha256, prompt))
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", model_id).strip("-.")[-60:] or "model"
    return folder / f"attention_{model}_{hashlib.sha256(key.encode()).hexdigest()[:16]}.safetensors"


class TraceWriter:
    """Write a trace while the model answers; memory does not grow with the answer.

    A context manager: left by a fault, it leaves an earlier trace of the same question as it was.

    Parameters
    ----------
    folder : Path
        Made if absent; a session's `derived/`, or an output folder.
    head : TraceHead

    Attributes
    ----------
    path : Path
        Of the safetensors file, which is there after `finish`; the JSON file lies beside it.
    """

    def __init__(self, folder: Path, head: TraceHead) -> None:
        self.path = trace_path(folder, head)
        self._head = head
        self._tensors: dict[str, dict[str, Any]] = {}
        self._steps: list[dict[str, Any]] = []
        self._data: IO[bytes] | None = None

    def __enter__(self) -> Self:
        with _written(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._data = tempfile.TemporaryFile(dir=self.path.parent, prefix=".attention-")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._data is not None:
            self._data.close()
            self._data = None

    def append(self, step: TokenStep) -> None:
        """Write one token's rows.

        Raises
        ------
        AttentionError
            They cannot be written.
        """
        number = len(self._steps)
        self._steps.append({"token": step.text, "id": step.token_id, "top": step.top})
        arrays = {"weights": step.weights, **{f"view{i}": w for i, w in enumerate(step.other_weights)}}
        if step.text_weights is not None:
            arrays["text_weights"] = step.text_weights
        with _written(self.path):
            for name, array in arrays.items():
                self._put(f"{name}.{number}", np.ascontiguousarray(array, np.float16))
            for name in _SHARES:
                self._put(f"{name}.{number}", np.ascontiguousarray(getattr(step, name), np.float32))

    def finish(self, answer: str) -> Path:
        """Put the trace in its place, in one step.

        Returns
        -------
        Path
            Of the safetensors file.

        Raises
        ------
        AttentionError
            It cannot be written.
        """
        whole = {
            "schema_version": SCHEMA_VERSION,
            **described(self._head),
            "answer": answer,
            "steps": self._steps,
        }
        text = json.dumps(whole, ensure_ascii=False, indent=1)
        with _written(self.path):
            with _replaced(self.path) as out:
                self._copy_to(out, text)
            with _replaced(self.path.with_suffix(".json")) as out:
                out.write(text.encode())
        return self.path

    def _put(self, name: str, array: NDArray[Any]) -> None:
        data = self._open_data()
        start = data.tell()
        data.write(array.tobytes())
        self._tensors[name] = {
            "dtype": _TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, data.tell()],
        }

    def _copy_to(self, out: IO[bytes], description: str) -> None:
        header = json.dumps({"__metadata__": {"trace": description}, **self._tensors}).encode()
        header += b" " * (-len(header) % 8)
        out.write(struct.pack("<Q", len(header)) + header)
        data = self._open_data()
        data.seek(0)
        shutil.copyfileobj(data, out, _COPY_BYTES)

    def _open_data(self) -> IO[bytes]:
        if self._data is None:
            raise ValueError("a trace is written inside the writer's `with` block")
        return self._data


def save_trace(folder: Path, trace: AttentionTrace) -> Path:
    """Write a whole trace into a folder, such as a session's `derived/`.

    An earlier trace of the same question is replaced.

    Returns
    -------
    Path
        Of the safetensors file; `safetensors.safe_open` reads it too.

    Raises
    ------
    AttentionError
        It cannot be written.
    """
    with TraceWriter(folder, head_of(trace)) as writer:
        for step in steps_of(trace):
            writer.append(step)
        return writer.finish(trace.answer)


def load_trace(path: Path) -> AttentionTrace:
    """Read a trace back.

    Raises
    ------
    AttentionError
        Missing, broken, or of a later version.
    """
    try:
        if not path.is_file():
            raise AttentionError("there is no such attention trace.", where=path)
        with safe_open(path, framework="np") as file:
            whole = json.loads((file.metadata() or {})["trace"])
            if whole["schema_version"] > SCHEMA_VERSION:
                raise AttentionError(
                    "written by a later gazelab.", where=path, todo="Update gazelab to read it."
                )
            steps = [_step(file, number, step) for number, step in enumerate(whole["steps"])]
            return trace_of(head_from(whole), steps, whole["answer"])
    except (*BROKEN, MemoryError) as fault:
        raise AttentionError(
            f"not an attention trace that can be read ({said(fault)}).",
            where=path,
            todo="Delete it and run the model again.",
        ) from fault


def _step(file: Any, number: int, step: dict[str, Any]) -> TokenStep:
    there = set(file.keys())
    views = itertools.takewhile(there.__contains__, (f"view{i}.{number}" for i in itertools.count()))
    text_key = f"text_weights.{number}"
    return TokenStep(
        step["token"],
        int(step["id"]),
        tuple((str(text), float(p)) for text, p in step["top"]),
        file.get_tensor(f"weights.{number}"),
        file.get_tensor(f"text_share.{number}"),
        file.get_tensor(f"sink_share.{number}"),
        tuple(file.get_tensor(name) for name in views),
        file.get_tensor(text_key) if text_key in there else None,
    )


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise AttentionError(
            f"the attention trace cannot be written ({fault.strerror or fault}).",
            where=path,
            todo="Free some space or choose another folder.",
        ) from fault


@contextmanager
def _replaced(path: Path) -> Iterator[IO[bytes]]:
    """Write beside a file and put it in its place at the end; a fault leaves the earlier one."""
    # Not `mkstemp`: its files are for their owner alone, and a laboratory shares its disk.
    part = path.with_name(f".attention-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
