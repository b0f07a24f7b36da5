"""The sessions of a data folder: list them, describe one, delete one whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.printable import one_line
from gazelab.sessions.corrections import read_corrections
from gazelab.sessions.drift import live_shifts
from gazelab.sessions.kept_quality import kept_quality
from gazelab.sessions.names import check_session_id
from gazelab.sessions.reader import Session
from gazelab.sessions.schema import Summary


@dataclass(frozen=True, slots=True)
class SessionLine:
    """What a list says of one session.

    Attributes
    ----------
    session_id : str
    path : Path
    started_utc : str
        ISO 8601; "" if unknown.
    duration_s : float or None
        From the first to the last sample.
    participant, source : str
    n_trials, n_samples : int
    data_loss : float or None
        Share of samples without gaze, 0..1; None without samples.
    closed : bool
        False if the recording was cut off, or still runs.
    problem : str
        Why it cannot be read, or the fault that stopped it; "" if all is well.
    quality : str
        "good", "review" or "poor" by the report that `gazelab quality` keeps; "" if there is none that is
        newer than the session's files.
    """

    session_id: str
    path: Path
    started_utc: str = ""
    duration_s: float | None = None
    participant: str = ""
    source: str = ""
    n_trials: int = 0
    n_samples: int = 0
    data_loss: float | None = None
    closed: bool = False
    problem: str = ""
    quality: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON-ready values."""
        return {**asdict(self), "path": str(self.path)}

    def line(self) -> str:
        """Give one line of text for a list."""
        duration = "?" if self.duration_s is None else f"{self.duration_s:.1f} s"
        loss = "" if self.data_loss is None else f", {self.data_loss:.1%} lost"
        quality = f", quality {self.quality}" if self.quality else ""
        trials = "1 trial" if self.n_trials == 1 else f"{self.n_trials} trials"
        facts = f"{trials}, {self.n_samples} samples{loss}{quality}"
        remark = self.problem or ("" if self.closed else "cut off, or still recording")
        who, source = (one_line(text) or "?" for text in (self.participant, self.source))
        head = f"{one_line(self.session_id)}  {who}  {source}  {duration}  {facts}"
        return f"{head}  ({one_line(remark)})" if remark else head


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """What is told of one session: its line, its trials, how its gaze was corrected, and what is odd.

    `n_live_corrections` counts the drift checks that moved the live gaze, `n_corrections` what was corrected
    afterwards and is in force; None where the audit file cannot be followed.
    """

    summary: SessionLine
    screen: dict[str, Any]
    calibrated: bool
    for_dataset: bool
    trials: tuple[dict[str, Any], ...]
    report: tuple[str, ...]
    n_live_corrections: int = 0
    n_corrections: int | None = 0

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON-ready values."""
        return {
            **self.summary.to_json(),
            "screen": self.screen,
            "calibrated": self.calibrated,
            "for_dataset": self.for_dataset,
            "trials": list(self.trials),
            "n_live_corrections": self.n_live_corrections,
            "n_corrections": self.n_corrections,
            "report": list(self.report),
        }

    def text(self) -> str:
        """Give lines of text."""
        s = self.screen
        lines = [
            self.summary.line(),
            f"started {self.summary.started_utc or '?'}, {'' if self.calibrated else 'not '}calibrated"
            + ("" if self.for_dataset else ", not for datasets"),
            f"screen {one_line(s['name'])}: {s['width_px']} x {s['height_px']} px,"
            + (
                f" {s['width_mm']} x {s['height_mm']} mm at {s['distance_mm']} mm"
                if None not in (s["width_mm"], s["height_mm"], s["distance_mm"])
                else " size or distance unknown, so no degrees"
            ),
        ]
        for trial in self.trials:
            cut = "" if trial["complete"] else " (cut off)"
            given = "no answer" if trial["given"] is None else one_line(trial["given"])
            lines.append(
                f"{trial['index'] + 1:3d}. {one_line(trial['chart_id'])}  {trial['duration_s']:.1f} s{cut}  "
                f"{one_line(trial['question'])}  -> {given} (gold: {one_line(str(trial['answer']))})"
            )
        if self.n_live_corrections or self.n_corrections:
            lines.append(
                f"gaze corrected: by drift checks {self.n_live_corrections},"
                f" afterwards {self.n_corrections or 0} (gazelab sessions corrections);"
                " the samples are as measured"
            )
        return "\n".join(lines + [f"note: {one_line(remark)}" for remark in self.report])


def list_sessions(root: Path | str) -> list[SessionLine]:
    """List the sessions of a data root by id; a broken one is listed with what is wrong with it.

    A session that was closed is listed by its session.json alone; another one's samples are read.

    Parameters
    ----------
    root : path
        The data root; without a sessions folder there are none.
    """
    return [_line(folder) for folder in _session_folders(Path(root) / "sessions")]


def describe(folder: Path | str) -> SessionDetails:
    """Read a session whole and say what is in it.

    Raises
    ------
    SessionError
        No session there, or one whose header or samples cannot be read.
    """
    session = Session.open(folder)
    trials = tuple(
        {
            "index": trial.index,
            "chart_id": trial.chart_id,
            "question": trial.question,
            "answer": trial.answer,
            "given": trial.given,
            "duration_s": (trial.offset_ns - trial.onset_ns) / 1e9,
            "complete": trial.complete,
            "n_focus_lost": trial.n_focus_lost,
        }
        for trial in session.trials()
    )
    header = session.header
    try:
        n_corrections = len(read_corrections(session.path).in_force)
    except SessionError:
        n_corrections = None  # the report says why
    return SessionDetails(
        _line(session.path),
        header.screen.to_mapping(),
        header.calibrated,
        header.for_dataset,
        trials,
        tuple(session.report),
        len(live_shifts(session.markers())[0]),
        n_corrections,
    )


def delete_session(folder: Path | str) -> Path:
    """Delete a session whole, without asking; give the folder that is gone.

    Links are refused or removed, never followed.

    Raises
    ------
    SessionError
        No such folder, a name that no session has, a link, a folder that is no session, or something of it
        cannot be deleted.
    """
    path = Path(folder)
    check_session_id(path.name)
    if path.is_symlink():
        raise SessionError("a link, not a session.", where=path, todo="Delete the link by hand.")
    if not path.is_dir():
        raise SessionError(
            "there is no such session.", where=path, todo="List the sessions with: gazelab sessions list"
        )
    if not _is_session(path):
        raise SessionError(
            "not a session (neither session.json nor gaze.bin is in it): nothing was deleted.",
            where=path,
            todo="Delete the folder by hand if it is not needed.",
        )
    try:
        for part in path.iterdir():
            if part.name == "session.json":
                continue
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part)
            else:
                part.unlink()
        # Last, so that a deletion that was interrupted can be done again.
        (path / "session.json").unlink(missing_ok=True)
        path.rmdir()
    except OSError as fault:
        raise SessionError(
            f"could not be deleted whole ({fault.strerror}: {fault.filename}).",
            where=path,
            todo="Close the programs that use it and delete it again.",
        ) from fault
    return path


def _session_folders(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and _is_session(path):
                yield path


def _is_session(path: Path) -> bool:
    return any((path / name).is_file() for name in ("session.json", "gaze.bin"))


def _line(path: Path) -> SessionLine:
    try:
        session = Session.open(path)
        header = session.header
        n_samples, summary = _figures(session)
    except SessionError as fault:
        return SessionLine(path.name, path, problem=str(fault))
    span = (summary.first_ns, summary.last_ns)
    return SessionLine(
        path.name,
        path,
        started_utc="" if header.started is None else header.started.utc.isoformat(timespec="seconds"),
        duration_s=None if span[0] is None or span[1] is None else (span[1] - span[0]) / 1e9,
        participant=header.participant,
        source=header.source.name,
        n_trials=summary.n_trials,
        n_samples=n_samples,
        data_loss=1 - summary.n_valid / n_samples if n_samples else None,
        closed=header.closed,
        problem=header.fault,
        quality=kept_quality(path),
    )


def _figures(session: Session) -> tuple[int, Summary]:
    header = session.header
    if header.closed and header.summary is not None and "gaze" in header.totals:
        return header.totals["gaze"].n_out, header.summary
    gaze = session.gaze()
    times = gaze["time_ns"]
    first, last = (int(times.min()), int(times.max())) if len(gaze) else (None, None)
    return len(gaze), Summary(len(session.trials()), int(gaze["valid"].sum()), first, last)
