"""What has become of each correction: in force, undone, or replaced by a recalibration after it.

A recalibration that counts begins its section anew: there the drift checks' corrections and the entries
before it count no longer, wherever else they still do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gazelab.core.errors import SessionError
from gazelab.processing.shifts import Shift
from gazelab.sessions.correction_entries import Correction, RecalibrateEntry, UndoEntry
from gazelab.sessions.corrections import CorrectionLog
from gazelab.sessions.trials import Trial

IN_FORCE = "in force"
UNDONE = "undone"

Span = tuple[int, int]
"""From this time on, until before that one: ns on the session's clock."""


def states(log: CorrectionLog, trials: Sequence[Trial]) -> dict[int, str]:
    """Tell the state of each entry, by its number.

    Returns
    -------
    dict of int to str
        "in force", "undone", "replaced by N" or, where only a part was, "replaced by N in trials a–b".
    """
    renewals = _renewals(log, trials)
    found: dict[int, str] = {}
    for entry in log.entries:
        span = _span(entry, trials)
        if not entry.in_force:
            found[entry.number] = UNDONE
        elif span is None:
            found[entry.number] = IN_FORCE
        else:
            later = {number: by for number, by in renewals.items() if number > entry.number}
            found[entry.number] = _state(span, later, trials)
    return found


def live_states(shifts: Sequence[Shift], log: CorrectionLog, trials: Sequence[Trial]) -> list[str]:
    """Tell the state of each drift check's correction, in the words of `states`."""
    renewals = _renewals(log, trials)
    return [_state(span, renewals, trials) for _, span in _live_spans(shifts)]


def counts(entry: Correction, state: str) -> bool:
    """Whether an entry in this state still counts in some part of its section."""
    wholly_replaced = state.startswith("replaced by ") and state.removeprefix("replaced by ").isdecimal()
    return entry.in_force and not wholly_replaced


def touching(
    trial: Trial, shifts: Sequence[Shift], in_force: Sequence[Correction], trials: Sequence[Trial]
) -> tuple[list[Shift], list[Correction]]:
    """Find the corrections that count in some of a trial's gaze.

    Parameters
    ----------
    trial : Trial
    shifts : sequence of Shift
        The drift checks'; one by nothing corrects nothing.
    in_force : sequence of Correction
        Shifts and recalibrations that are not undone, in their order.
    trials : sequence of Trial
        The session's.

    Raises
    ------
    SessionError
        An entry names a trial that the session has not.
    """
    own = (trial.onset_ns, trial.offset_ns)
    live = [s for s, span in _live_spans(shifts) if (s.dx_px or s.dy_px) and _common(own, span)]
    entries: list[Correction] = []
    for entry in in_force:
        if isinstance(entry.change, UndoEntry):
            continue
        span = entry.change.section.span_ns(trials)
        if isinstance(entry.change, RecalibrateEntry) and _common(own, span) == own:
            live, entries = [], []
        if _common(own, span):
            entries.append(entry)
    return live, entries


def _live_spans(shifts: Sequence[Shift]) -> Iterator[tuple[Shift, Span]]:
    for index, shift in enumerate(shifts):
        ends = [later.from_ns for later in shifts[index + 1 :]]
        yield shift, (shift.from_ns, min(ends, default=2**63))


def _renewals(log: CorrectionLog, trials: Sequence[Trial]) -> dict[int, Span]:
    of_them = [e for e in log.in_force if isinstance(e.change, RecalibrateEntry)]
    return {e.number: span for e in of_them if (span := _span(e, trials)) is not None}


def _span(entry: Correction, trials: Sequence[Trial]) -> Span | None:
    """Give the times of an entry's section; None for an undo, or where the session has no such trial."""
    if isinstance(entry.change, UndoEntry):
        return None
    try:
        return entry.change.section.span_ns(trials)
    except SessionError:
        return None  # whoever asks for the gaze is told; the list is where such an entry is found and undone


def _state(span: Span, renewals: dict[int, Span], trials: Sequence[Trial]) -> str:
    parts: list[str] = []
    for number, by in renewals.items():
        common = _common(span, by)
        if common == span:
            return f"replaced by {number}"
        if common is not None:
            parts.append(f"by {number} {_where(common, span, trials)}")
    return f"replaced {', '.join(parts)}" if parts else IN_FORCE


def _where(common: Span, span: Span, trials: Sequence[Trial]) -> str:
    whole: list[int] = []
    part: list[int] = []
    for trial in trials:
        own = _common(span, (trial.onset_ns, trial.offset_ns))
        both = own and _common(own, common)
        if both:
            (whole if both == own else part).append(trial.index + 1)
    named = [_trials(whole)] if whole else []
    named += [f"part of trial {number}" for number in part]
    return f"in {', '.join(named)}" if named else "outside the trials"


def _trials(numbers: list[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return f"trial {first}" if first == last else f"trials {first}–{last}"


def _common(a: Span, b: Span) -> Span | None:
    start, end = max(a[0], b[0]), min(a[1], b[1])
    return (start, end) if start < end else None
