"""Checkpoints of the model hub: what of them is on this computer, and what a download would fetch.

Nothing here asks another machine but `plan_download`, and that only when a user asked for it. Where the hub
is, and where its files are kept on this computer, `huggingface_hub` knows.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gazelab.core.errors import AttentionError

WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors")
"""The weight files that transformers reads; others beside them are other forms of the same weights."""
PICKLES = re.compile(r".*\.(bin|pt|pth|ckpt|pkl)")
_BESIDE = re.compile(r"[^/]+\.(json|jinja|txt|model)")
_REPO_ID = re.compile(r"[\w.-]+/[\w.-]+")
SPARE_BYTES = 500_000_000
"""Left free on the disk after a download."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a checkpoint at the hub.

    Attributes
    ----------
    name : str
    size_bytes : int
    blob : str
        The hub's name for the content: its SHA-256 for a weight file, git's own hash for a small one.
    """

    name: str
    size_bytes: int
    blob: str


@dataclass(frozen=True)
class DownloadPlan:
    """What a download would fetch.

    Attributes
    ----------
    name : str
        The checkpoint's id.
    revision : str
        As asked: a branch, a tag or a commit.
    commit : str
        What that is today.
    files : tuple of RemoteFile
        All that is needed, what is here already included.
    folder : Path
        The checkpoint's place in the hub's cache on this computer.
    """

    name: str
    revision: str
    commit: str
    files: tuple[RemoteFile, ...]
    folder: Path

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def here_bytes(self) -> int:
        """What of it is on this computer, begun files included."""
        return sum(min(self.bytes_here(file), file.size_bytes) for file in self.files)

    @property
    def left_bytes(self) -> int:
        """What there is still to fetch."""
        return self.total_bytes - self.here_bytes

    def blob_path(self, file: RemoteFile) -> Path:
        """Where the cache keeps a file's content."""
        return self.folder / "blobs" / file.blob

    def part_path(self, file: RemoteFile) -> Path:
        """Where a file lies while it is not whole; a name that the hub's own tools know to clean up."""
        return self.folder / "blobs" / f"{file.blob}.incomplete"

    def bytes_here(self, file: RemoteFile) -> int:
        """How much of a file is on this computer."""
        for path in (self.blob_path(file), self.part_path(file)):
            if path.is_file():
                return path.stat().st_size
        # Where links are not allowed, the cache keeps the file itself in the snapshot.
        copy = self.folder / "snapshots" / self.commit / file.name
        return copy.stat().st_size if copy.is_file() else 0

    def check_disk(self) -> None:
        """Refuse what does not fit the disk.

        Raises
        ------
        AttentionError
            There is not room enough.
        """
        at = next(path for path in (self.folder, *self.folder.parents) if path.exists())
        free = shutil.disk_usage(at).free
        if self.left_bytes + SPARE_BYTES > free:
            raise AttentionError(
                f"{size_text(self.left_bytes)} are still to be downloaded, and the disk has"
                f" {size_text(free)} free ({size_text(SPARE_BYTES)} of it are left alone).",
                where=at,
                todo="Make room, or set HF_HOME to a folder on a larger disk.",
            )


def size_text(n_bytes: float) -> str:
    """Write a size as people read it: decimal MB or GB."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def is_hub_name(name: str) -> bool:
    """Tell whether a name has the form of a checkpoint's id at the hub: owner/name."""
    return _REPO_ID.fullmatch(name) is not None


def cached_folder(name: str, revision: str | None = None) -> Path | None:
    """Find a checkpoint in the hub's cache on this computer; asks nobody.

    Returns
    -------
    Path or None
        A folder with a config.json; its weights may be missing or begun.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    if not is_hub_name(name):
        return None
    try:
        found = try_to_load_from_cache(name, "config.json", revision=revision)
    except (HFValidationError, OSError):
        return None
    return Path(found).parent if isinstance(found, str) else None


def commit_of(folder: Path) -> str | None:
    """Give the hub's commit of a folder in its cache; None for a folder of the user's own."""
    commit = folder.name
    return commit if folder.parent.name == "snapshots" and re.fullmatch("[0-9a-f]{40}", commit) else None


def plan_download(name: str, revision: str | None = None) -> DownloadPlan:
    """Ask the hub what a checkpoint consists of; fetches the list only.

    Raises
    ------
    AttentionError
        There is no such checkpoint, it holds no safetensors, or the hub cannot be reached.
    """
    from huggingface_hub import HfApi, constants
    from huggingface_hub.file_download import repo_folder_name

    with hub_faults(name):
        found = HfApi().model_info(name, revision=revision, files_metadata=True)
    wanted = [_remote_file(sibling) for sibling in found.siblings or [] if _wanted(sibling.rfilename)]
    # The weights last: where they are, the rest is.
    files = tuple(sorted(wanted, key=lambda file: (WEIGHTS.fullmatch(file.name) is not None, file.name)))
    names = [sibling.rfilename for sibling in found.siblings or []]
    check_listing(names, name)
    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=found.id, repo_type="model")
    return DownloadPlan(found.id, revision or "main", str(found.sha), files, folder)


def check_listing(names: list[str], where: str | Path) -> None:
    """Refuse a list of files that is no checkpoint which can be read safely.

    Raises
    ------
    AttentionError
        No config.json, or no weights in safetensors form.
    """
    if "config.json" not in names:
        raise AttentionError(_no_config(names), where=where, todo="Give the model's own checkpoint.")
    if any(WEIGHTS.fullmatch(file) for file in names):
        return
    pickles = sorted(file for file in names if PICKLES.fullmatch(file))
    if pickles:
        raise AttentionError(
            f"its weights are in {pickles[0]}, a pickle, which can run code when it is read; there is no"
            " model.safetensors.",
            where=where,
            todo="Take a revision or a copy with safetensors (some checkpoints have one as --revision"
            " refs/pr/NUMBER), or convert it where you trust it: transformers'"
            " from_pretrained(FOLDER, use_safetensors=False), then save_pretrained(NEW_FOLDER).",
        )
    gguf = sorted(file for file in names if file.endswith(".gguf"))
    raise AttentionError(
        f"its weights are in {gguf[0]}, a form of llama.cpp's."
        if gguf
        else "it holds no *.safetensors file that transformers would read.",
        where=where,
        todo="Give the checkpoint with config.json and model.safetensors.",
    )


def _no_config(names: list[str]) -> str:
    if "adapter_config.json" in names:
        return "it holds an adapter (adapter_config.json) and no model: merge it into its base model first."
    if "model_index.json" in names:
        return "it holds an image generator (model_index.json) and no vision-language model."
    return "it holds no config.json, so it is no checkpoint."


def _wanted(name: str) -> bool:
    return "/" not in name and (WEIGHTS.fullmatch(name) or _BESIDE.fullmatch(name)) is not None


def _remote_file(sibling: Any) -> RemoteFile:
    blob = sibling.lfs.sha256 if sibling.lfs is not None else sibling.blob_id
    return RemoteFile(sibling.rfilename, int(sibling.size or 0), str(blob))


@contextmanager
def hub_faults(name: str) -> Iterator[None]:
    """Say what went wrong at the hub in words of ours."""
    from huggingface_hub import errors

    try:
        yield
    except errors.HFValidationError as fault:
        raise AttentionError("no checkpoint can have such a name.", where=name) from fault
    except errors.OfflineModeIsEnabled as fault:
        raise AttentionError(
            "it is not on this computer, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids a download.",
            where=name,
            todo="Unset them, or give a folder.",
        ) from fault
    except errors.GatedRepoError as fault:
        raise AttentionError(
            "its owner asks for consent to a licence first.",
            where=name,
            todo="Agree on its page at the hub, then sign in here with: hf auth login",
        ) from fault
    except errors.RevisionNotFoundError as fault:
        raise AttentionError("the hub has no such revision of it.", where=name) from fault
    except errors.RepositoryNotFoundError as fault:
        raise AttentionError(
            "the hub has no such checkpoint, or it is private.",
            where=name,
            todo="Check the spelling (gazelab models lists some); for a private one: hf auth login",
        ) from fault
    except (errors.HfHubHTTPError, http_library().HTTPError) as fault:
        raise AttentionError(
            f"the hub cannot be reached ({_short(fault)}).",
            where=name,
            todo="Check the connection and ask again: what was fetched is kept.",
        ) from fault


def http_library() -> Any:
    """Give the HTTP library under the hub's own: releases differ in it, though not in its classes' names."""
    from huggingface_hub import errors

    return import_module(errors.HTTPError.__module__.partition(".")[0])  # type: ignore[attr-defined]


def _short(fault: Exception) -> str:
    said = str(fault).strip().splitlines()
    return (said[0] if said else type(fault).__name__)[:200]
