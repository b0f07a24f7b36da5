"""The copies of calibration profiles that a session keeps."""

from __future__ import annotations

import re
from pathlib import Path

from gazelab.core.errors import SessionError
from gazelab.sessions.files import AppendFile, read_file, write_fault

MAX_PROFILE_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


def copy_profile(profile: Path, into: Path) -> str:
    """Copy a profile's plain files to `<into>/<its name>`, under a new name if that is taken.

    Returns
    -------
    str
        The copy's place in the session: `calibration/<name>`.

    Raises
    ------
    SessionError
        No such folder, a link or a folder in it, a file too large, or a name that cannot be copied; or it
        cannot be written.
    """
    if profile.is_symlink():
        raise SessionError(
            "a link, not a calibration profile.", where=profile, todo="Name the folder that it points to."
        )
    if not profile.is_dir():
        raise SessionError("there is no such calibration profile.", where=profile, todo="Calibrate first.")
    files = sorted(profile.iterdir())
    if into.is_symlink():
        raise SessionError(
            "a link, not a folder: the profile was not copied.",
            where=into,
            todo="A session holds no links: put the folder itself there.",
        )
    if not all(_NAME.fullmatch(file.name) for file in [profile, *files]):
        raise SessionError(
            "the profile's name, or a file's in it, has other characters than letters, digits, . _ and -.",
            where=profile,
            todo="Calibrate again under a plain name.",
        )
    contents = {file.name: read_file(file, MAX_PROFILE_BYTES) for file in files}
    try:
        folder = _new_folder(into, profile.name)
        for name, content in contents.items():
            with AppendFile(folder / name) as copy:
                copy.append(content)
    except OSError as fault:
        raise write_fault(fault, into, "the profile was not copied") from fault
    return f"{into.name}/{folder.name}"


def _new_folder(into: Path, name: str) -> Path:
    into.mkdir(exist_ok=True)
    for n in range(1, 1000):
        folder = into / (name if n == 1 else f"{name}-{n}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise SessionError("a thousand copies of one profile.", where=into)
