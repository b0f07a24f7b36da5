"""One word of the quality report that is kept beside a session, as long as nothing changed since."""

from __future__ import annotations

import json
from pathlib import Path

from gazelab.core.errors import SessionError
from gazelab.sessions.files import read_file

REPORT = "quality.json"
WORDS = ("good", "review", "poor")
MAX_BYTES = 64 * 1024 * 1024
MADE_FROM = (
    "session.json",
    "gaze.bin",
    "features.bin",
    "markers.jsonl",
    "corrections.jsonl",
    "exclusions.jsonl",
)


def kept_quality(session: Path) -> str:
    """Give the word of `derived/quality.json`; "" if there is none, or if a file it was made from is newer.

    A list of sessions asks this: it compares times of files and reads no sample, so a change of the limits
    alone is not seen.
    """
    file = session / "derived" / REPORT
    try:
        written_ns = file.lstat().st_mtime_ns
        newest_ns = max(
            (session / name).lstat().st_mtime_ns for name in MADE_FROM if (session / name).exists()
        )
        found = json.loads(read_file(file, MAX_BYTES)) if written_ns >= newest_ns else {}
        word = found["data"]["summary"]["word"]
    except (OSError, SessionError, ValueError, RecursionError, KeyError, TypeError):
        return ""
    return word if word in WORDS else ""
