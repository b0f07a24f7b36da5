"""A model hub of one checkpoint on this machine's loopback: what a download asks of one."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def git_hash(data: bytes) -> str:
    """Git's own name for a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub:
    """What it holds, what it was asked, and how it misbehaves.

    Attributes
    ----------
    files : dict
        Name to content.
    asked : list of str
        "GET name first-byte" of each content that was fetched, and "LIST" for each look at its list.
    cut_after : dict
        Name to how many bytes a connection gives before it is cut.
    ranges : bool
        Whether it can begin in the middle.
    spoiled : set of str
        Files whose content arrives with one bit wrong.
    gated, files_gated : bool
        Whether it refuses everything, or the files' contents, until the user agrees to a licence.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file()}
        self.asked: list[str] = []
        self.cut_after: dict[str, int] = {}
        self.ranges = True
        self.spoiled: set[str] = set()
        self.gated = self.files_gated = False

    def blob(self, file: str) -> str:
        data = self.files[file]
        return hashlib.sha256(data).hexdigest() if file.endswith(".safetensors") else git_hash(data)

    def listing(self) -> dict:
        siblings = []
        for file, data in self.files.items():
            entry = {"rfilename": file, "size": len(data), "blobId": git_hash(data)}
            if file.endswith(".safetensors"):
                entry["lfs"] = {"size": len(data), "sha256": self.blob(file), "pointerSize": 1}
            siblings.append(entry)
        return {"id": self.name, "modelId": self.name, "sha": COMMIT, "siblings": siblings, "tags": []}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, body: bool) -> None:
        hub, path = self.hub, self.path.split("?")[0].strip("/")
        if hub.gated or (hub.files_gated and "/resolve/" in path):
            self._send(403, b"{}", body, {"X-Error-Code": "GatedRepo"})
        elif path.startswith(f"api/models/{hub.name}"):
            revision = path.removeprefix(f"api/models/{hub.name}").removeprefix("/revision/")
            hub.asked.append("LIST")
            if revision in ("", "main", COMMIT):
                self._send(200, json.dumps(hub.listing()).encode(), body)
            else:
                self._send(404, b"{}", body, {"X-Error-Code": "RevisionNotFound"})
        elif path.startswith(f"{hub.name}/resolve/"):
            self._file(path.split("/", 4)[-1], body)
        else:
            self._send(404, b"{}", body, {"X-Error-Code": "RepoNotFound"})

    def _file(self, file: str, body: bool) -> None:
        hub = self.hub
        if file not in hub.files:
            self._send(404, b"", body, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        data = hub.files[file]
        begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        begin = begin if hub.ranges else 0
        if body:
            hub.asked.append(f"GET {file} {begin}")
        sent = data[begin:]
        if file in hub.spoiled:
            sent = sent[:-1] + bytes([sent[-1] ^ 1])
        headers = {"ETag": f'"{hub.blob(file)}"', "X-Repo-Commit": COMMIT}
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        self._send(206 if begin else 200, sent, body, headers, hub.cut_after.pop(file, None))

    def _send(
        self, status: int, data: bytes, body: bool, headers: dict | None = None, cut: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data[:cut])
        if body and cut is not None:
            self.close_connection = True


@contextmanager
def serving(hub: Hub) -> Iterator[str]:
    """Serve a hub while the block runs; yields its address."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def use(monkeypatch: Any, address: str, cache: Path) -> None:
    """Let the hub's library, which read its settings at import, ask this hub and keep files in a folder."""
    import huggingface_hub.hf_api
    from huggingface_hub import constants

    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
