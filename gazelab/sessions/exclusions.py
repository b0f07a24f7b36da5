"""What a person decided about a trial, against the limits: written down with a reason, never taken out again.

`exclusions.jsonl` in the session's folder only grows: a decision is undone by a later line, so that it can be
read who decided what and when. The samples are not touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.sessions.appending import append_line, locked
from gazelab.sessions.files import read_file, write_fault
from gazelab.sessions.markers import parse_lines
from gazelab.sessions.trials import Trial

FILE_NAME = "exclusions.jsonl"
MAX_BYTES = 16 * 1024 * 1024
MAX_REASON = 2000
VERDICTS = ("keep", "review", "exclude")


@dataclass(frozen=True, slots=True)
class Decision:
    """One line of the file.

    Attributes
    ----------
    trial : int
        Its place in the session, from 0.
    onset_ns : int
        When it began: a decision stands only for a trial that begins then.
    verdict : str or None
        "keep", "review" or "exclude"; None takes an earlier decision back.
    reason : str
        In words.
    judged : str
        What the limits said when it was decided.
    utc : str
        ISO 8601.
    """

    trial: int
    onset_ns: int
    verdict: str | None
    reason: str
    judged: str
    utc: str


def decide(folder: Path, trial: Trial, verdict: str | None, reason: str, judged: str) -> Decision:
    """Write a decision about a trial, or take the one in force back.

    Parameters
    ----------
    folder : Path
        The session's folder.
    trial : Trial
    verdict : str or None
    reason : str
        Needed for a verdict; whoever reads the data later has nothing else.
    judged : str
        What the limits said.

    Raises
    ------
    SessionError
        No such verdict, no reason, or the file cannot be read or written.
    """
    if verdict is not None and verdict not in VERDICTS:
        raise SessionError(f"there is no verdict {verdict!r}.", todo=f"Use {', '.join(VERDICTS)}.")
    reason = " ".join(reason.split())
    if verdict is not None and not reason:
        raise SessionError("a verdict against the limits needs a reason.", todo="Write why.")
    if len(reason) > MAX_REASON:
        raise SessionError(f"a reason of {len(reason)} characters.", todo=f"Use at most {MAX_REASON}.")
    utc = datetime.now(UTC).isoformat(timespec="seconds")
    made = Decision(trial.index, trial.onset_ns, verdict, reason, judged, utc)
    line = json.dumps(asdict(made), ensure_ascii=False).encode("utf-8", "backslashreplace")
    file = folder / FILE_NAME
    _content(folder)  # says what is wrong with a file that no one may write to
    try:
        with locked(file) as handle:
            append_line(handle, _content(folder), line, MAX_BYTES)
    except OSError as fault:
        raise write_fault(fault, file, "the decision was not stored") from fault
    return made


def decisions(folder: Path, trials: Sequence[Trial]) -> tuple[dict[int, Decision], list[str]]:
    """Read the decisions in force.

    Returns
    -------
    in_force : dict of int to Decision
        By the trial's place; the newest line counts.
    problems : list of str
        Lines that cannot be read, or that are of no trial of this session.
    """
    found, cut_bytes, broken = parse_lines(_content(folder))
    onsets = {trial.index: trial.onset_ns for trial in trials}
    in_force: dict[int, Decision] = {}
    strangers = 0
    for number, entry in found:
        made = _decision(entry)
        if made is None:
            broken.append(number)
        elif onsets.get(made.trial) != made.onset_ns:
            strangers += 1
        elif made.verdict is None:
            in_force.pop(made.trial, None)
        else:
            in_force[made.trial] = made
    problems = []
    if broken or cut_bytes:
        n = len(broken) + (cut_bytes > 0)
        problems.append(f"{n} unreadable line{'s' * (n != 1)} of {FILE_NAME} left out")
    if strangers:
        problems.append(f"{strangers} decision{'s' * (strangers != 1)} of no trial of this session left out")
    return in_force, problems


def _content(folder: Path) -> bytes:
    try:
        return read_file(folder / FILE_NAME, MAX_BYTES)
    except FileNotFoundError:
        return b""


def _decision(entry: dict[str, Any]) -> Decision | None:
    trial, onset_ns, verdict = entry.get("trial"), entry.get("onset_ns"), entry.get("verdict")
    if type(trial) is not int or type(onset_ns) is not int or verdict not in (None, *VERDICTS):
        return None
    reason, judged, utc = (str(entry.get(key, "")) for key in ("reason", "judged", "utc"))
    return Decision(trial, onset_ns, verdict, reason, judged, utc)
