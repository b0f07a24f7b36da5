"""Where a checkpoint lies: a folder, the hub's cache on this computer, or a download that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gazelab.attention.checkpoint_files import check_folder, check_weights
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.hub import cached_folder, is_hub_name, plan_download
from gazelab.attention.hub_download import Progress, download, silent
from gazelab.core.errors import AttentionError


def find_folder(
    name: str,
    options: ModelOptions = ModelOptions(),  # noqa: B008  (frozen)
    progress: Progress = silent,
    check: Callable[[], None] = lambda: None,
) -> Path:
    """Find a checkpoint's folder: a folder, else the hub's cache on this computer, else a download if asked.

    What is whole on this computer is taken as it is, asked or not: a newer one is had by its revision.

    Raises
    ------
    AttentionError
        There is none, or the download failed.
    """
    own = _own(name)
    if own is not None:
        if options.revision is not None:
            raise AttentionError("a folder has no revisions.", where=name, todo="Leave --revision out.")
        return own
    folder = cached_folder(name, options.revision)
    lacks = "" if folder is None else _lacks(folder)
    if folder is not None and not lacks:
        return folder
    if options.online and is_hub_name(name):
        return download(plan_download(name, options.revision), progress, check)
    if folder is not None:
        raise AttentionError(
            f"what is on this computer of it is not whole: {lacks}",
            where=name,
            todo="Finish the download with --download.",
        )
    version_of = f" in the revision {options.revision}" if options.revision else ""
    raise AttentionError(
        f"no such folder, and no such checkpoint on this machine{version_of}.",
        where=name,
        todo="Give the folder of a checkpoint, allow the download with --download, or use 'chartreader'."
        if is_hub_name(name)
        else "Give the folder of a checkpoint, an id such as owner/name, or 'chartreader'.",
    )


def _own(name: str) -> Path | None:
    """Give the user's own folder of that name, if there is one."""
    try:
        path = Path(name).expanduser()
        if path.is_file():
            raise AttentionError("that is a file.", where=name, todo="Give the folder that it lies in.")
        return path if name and path.is_dir() else None
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte, no such home
        return None


def _lacks(folder: Path) -> str:
    """Say what a folder in the hub's cache lacks; empty if it is whole."""
    try:
        check_folder(folder)
        check_weights(folder)
    except AttentionError as fault:
        return fault.what
    return ""
