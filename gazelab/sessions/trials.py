"""Trials: which chart was on the screen when, with its question and the answer given."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gazelab.core.errors import SessionError
from gazelab.core.geometry import Placement
from gazelab.sessions.markers import Marker, MarkerKind, placement_from


@dataclass(frozen=True, slots=True)
class Trial:
    """One chart with its question.

    Attributes
    ----------
    index : int
        Place in the session, from 0.
    chart_id, question : str
    answer, given : str or None
        The gold answer; the participant's. None if there is none.
    placement : Placement
        Where the chart lay on the screen when it appeared.
    onset_ns, offset_ns : int
        From its appearing to its vanishing; to the next chart or the end of the data if it was cut off.
    picture_sha256 : str
    moves : tuple of (time_ns, Placement)
        Later places, after a resize.
    n_focus_lost : int
        How often another window took the keyboard in the trial.
    complete : bool
        False if the chart's vanishing was never written.
    skipped : bool
        Taken off without an answer by the operator or because the study was stopped.
    """

    index: int
    chart_id: str
    question: str
    answer: str | None
    given: str | None
    placement: Placement
    onset_ns: int
    offset_ns: int
    picture_sha256: str
    moves: tuple[tuple[int, Placement], ...] = ()
    n_focus_lost: int = 0
    complete: bool = True
    skipped: bool = False

    def placement_at(self, time_ns: int) -> Placement:
        """Where the chart lay at a time within the trial."""
        after = bisect_right([t for t, _ in self.moves], time_ns)
        return self.moves[after - 1][1] if after else self.placement


def build_trials(markers: Sequence[Marker], end_ns: int | None) -> tuple[list[Trial], list[str]]:
    """Pair each stimulus_on with what follows it.

    Markers count in the order of the file: a marker belongs to the latest stimulus_on before it.

    Parameters
    ----------
    markers : sequence of dict
    end_ns : int or None
        End of the data, beyond its last sample: offset of a trial that was cut off.

    Returns
    -------
    trials : list of Trial
    problems : list of str
        Of stimulus_on markers that say too little to be a trial.
    """
    drafts: list[_Draft] = []
    problems: list[str] = []
    current: _Draft | None = None
    for marker in markers:
        is_new = marker["kind"] == MarkerKind.STIMULUS_ON
        if is_new and current is not None:
            current.cut_ns = marker["time_ns"]
            current = None
        try:
            if is_new:
                current = _Draft.begin(marker)
                drafts.append(current)
            elif current is not None:
                current.take(marker)
        except SessionError as fault:
            problems.append(f"the {marker['kind']} marker at {marker['time_ns']} ns is left out: {fault}")
    return [draft.finish(index, end_ns) for index, draft in enumerate(drafts)], problems


@dataclass(slots=True)
class _Draft:
    onset_ns: int
    facts: dict[str, Any]
    placement: Placement
    offset_ns: int | None = None
    cut_ns: int | None = None
    given: str | None = None
    moves: list[tuple[int, Placement]] = field(default_factory=list)
    n_focus_lost: int = 0
    skipped: bool = False

    @classmethod
    def begin(cls, marker: Marker) -> _Draft:
        """Begin a trial with its stimulus_on."""
        return cls(marker["time_ns"], _facts(marker), placement_from(marker.get("placement")))

    def take(self, marker: Marker) -> None:
        """Take over what a later marker says of this trial."""
        kind, time_ns = marker["kind"], marker["time_ns"]
        if kind == MarkerKind.STIMULUS_OFF and self.offset_ns is None:
            self.offset_ns = time_ns
            self.skipped = marker.get("skipped") is True
        elif kind == MarkerKind.ANSWER:
            given = marker.get("given")
            self.given = None if given is None else str(given)
        elif kind == MarkerKind.STIMULUS_MOVED and self.offset_ns is None:
            self.moves.append((time_ns, placement_from(marker.get("placement"))))
        elif kind == MarkerKind.FOCUS_LOST and self.offset_ns is None:
            self.n_focus_lost += 1

    def finish(self, index: int, end_ns: int | None) -> Trial:
        """Close the trial: at its own offset, the next chart, or the end of the data."""
        ends = (self.offset_ns, self.cut_ns, end_ns, self.onset_ns)
        offset_ns = next(end for end in ends if end is not None)
        return Trial(
            index,
            placement=self.placement,
            onset_ns=self.onset_ns,
            offset_ns=max(offset_ns, self.onset_ns),
            given=self.given,
            moves=tuple(sorted(self.moves, key=lambda move: move[0])),
            n_focus_lost=self.n_focus_lost,
            complete=self.offset_ns is not None,
            skipped=self.skipped,
            **self.facts,
        )


def _facts(marker: Marker) -> dict[str, Any]:
    texts = {key: marker.get(key) for key in ("chart_id", "question", "picture_sha256")}
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise SessionError(f"{', '.join(wrong)} is missing.")
    answer = marker.get("answer")
    return {**texts, "answer": None if answer is None else str(answer)}
