"""Fetch a checkpoint: size first, progress by bytes, stoppable, and taken up again where it stopped.

The hub library's own download throws a begun file away when it ends early. So the contents are fetched here,
with its own transport, into begun files beside the finished ones, and only put in place by the library.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from gazelab.attention.hub import DownloadPlan, RemoteFile, http_library, hub_faults, size_text
from gazelab.core.errors import AttentionError

Progress = Callable[[str, int, int], None]
"""(what is done, bytes done, bytes in all); the first call comes before anything is fetched."""
TIMEOUT_S = 20.0
"""Without a byte for so long, a connection counts as cut."""
TELL_EVERY = 1_000_000
"""Bytes from one word of progress to the next."""
_BLOCK = 1 << 20


def silent(what: str, done_bytes: int, total_bytes: int) -> None:
    """Tell nobody."""


def download(
    plan: DownloadPlan, progress: Progress = silent, check: Callable[[], None] = lambda: None
) -> Path:
    """Fetch what is missing.

    Parameters
    ----------
    plan : DownloadPlan
    progress : callable
        Told the size before anything is fetched, then every MB.
    check : callable
        Called with each piece that arrives; what it raises ends the download. What was fetched is kept, and
        the next call goes on from there.

    Returns
    -------
    Path
        The checkpoint's folder in the hub's cache.

    Raises
    ------
    AttentionError
        No room, no connection, or what arrived is not what the hub said.
    """
    plan.check_disk()
    state = _State(plan, progress, check)
    state.tell()
    folder = plan.folder
    try:
        (plan.folder / "blobs").mkdir(parents=True, exist_ok=True)
        for file in plan.files:
            with hub_faults(plan.name):
                _fetch(plan, file, state)
                folder = _put_in_place(plan, file)
    except OSError as fault:
        raise AttentionError(
            "the disk is full." if fault.errno == errno.ENOSPC else f"it cannot be written ({fault}).",
            where=plan.folder,
            todo="Make room and ask again: what was fetched is kept.",
        ) from fault
    state.done_bytes = plan.total_bytes  # files of the same content are fetched once
    state.tell()
    return folder


class _State:
    """Counts the bytes of all files together."""

    def __init__(self, plan: DownloadPlan, progress: Progress, check: Callable[[], None]) -> None:
        self._plan, self._progress, self._check = plan, progress, check
        self.done_bytes = self._told = plan.here_bytes

    def add(self, n_bytes: int) -> None:
        self.done_bytes += n_bytes
        self._check()
        if self.done_bytes - self._told >= TELL_EVERY or self.done_bytes >= self._plan.total_bytes:
            self.tell()

    def tell(self) -> None:
        self._told = self.done_bytes
        self._progress(f"downloading {self._plan.name}", self.done_bytes, self._plan.total_bytes)


def _fetch(plan: DownloadPlan, file: RemoteFile, state: _State) -> None:
    """Bring one file's content into the cache, from where an earlier try stopped."""
    blob, part = plan.blob_path(file), plan.part_path(file)
    if blob.is_file() or (plan.folder / "snapshots" / plan.commit / file.name).is_file():
        return
    with part.open("ab"):
        pass  # there is one from here on
    with part.open("r+b") as out:
        begun = out.seek(0, os.SEEK_END)
        if begun > file.size_bytes:  # of another try that went wrong
            begun = _start_anew(out, state, 0)
        while begun < file.size_bytes:
            before, begun = begun, _receive(plan, file, out, begun, state)
            if begun == before:
                raise AttentionError(
                    f"the hub sends no more of {file.name}.", where=plan.name, todo="Ask again later."
                )
    if not is_content(part, file.blob):
        state.done_bytes -= part.stat().st_size
        part.unlink()
        raise AttentionError(
            f"what arrived as {file.name} is not what the hub announced"
            f" ({size_text(file.size_bytes)}, hash {file.blob[:12]}).",
            where=plan.name,
            todo="Ask again; that file is fetched anew.",
        )
    part.replace(blob)


def _receive(plan: DownloadPlan, file: RemoteFile, out: BinaryIO, begun: int, state: _State) -> int:
    """Take what one connection gives, and return where the file ends now; a broken one is no fault."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import (  # type: ignore[attr-defined]  # it lists them for itself only
        build_hf_headers,
        hf_raise_for_status,
        http_stream_backoff,
    )

    http = http_library()
    url = hf_hub_url(plan.name, file.name, revision=plan.commit)
    # Unpacked on the way, a range would count other bytes than the file's.
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    if begun:
        headers["Range"] = f"bytes={begun}-"
    try:
        with http_stream_backoff(
            "GET", url, retry_on_exceptions=(), headers=headers, timeout=TIMEOUT_S
        ) as answer:
            hf_raise_for_status(answer)
            if begun and answer.status_code != HTTPStatus.PARTIAL_CONTENT:
                begun = _start_anew(out, state, begun)
            for piece in answer.iter_bytes():
                out.write(piece)
                begun += len(piece)
                state.add(len(piece))
    except (http.RemoteProtocolError, http.ReadError, http.ReadTimeout):
        pass  # cut off: the caller goes on from here, if anything came
    return begun


def _start_anew(out: BinaryIO, state: _State, begun: int) -> int:
    """Drop what was begun, where the server gives no ranges."""
    out.seek(0)
    out.truncate()
    state.done_bytes -= begun
    return 0


def _put_in_place(plan: DownloadPlan, file: RemoteFile) -> Path:
    """Let the library link the content where every program looks for it."""
    from huggingface_hub import hf_hub_download

    placed = Path(hf_hub_download(plan.name, file.name, revision=plan.revision))
    if not placed.is_symlink():  # a system without links: the library has made a copy
        plan.blob_path(file).unlink(missing_ok=True)
    return placed.parent


def is_content(path: Path, blob: str) -> bool:
    """Compare a file with the hub's name for its content: SHA-256 (64 digits), or git's SHA-1 of a blob.

    The second is git's own `hash-object`: SHA-1 of "blob", the size, a zero byte and the content.
    """
    if len(blob) == 64:
        digest = hashlib.sha256()
    else:
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest() == blob
