"""Which part of a session a correction is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.core.errors import SessionError
from gazelab.sessions.trials import Trial

_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a session: all of it, some trials, or from one time to another.

    Attributes
    ----------
    trials : (int, int) or None
        Indices of the first and the last trial, from 0: from the first one's onset until the last one's
        offset, what lies between them included.
    from_ns, until_ns : int or None
        On the session's clock: from_ns <= time < until_ns. None: from the start, until the end.
    """

    trials: tuple[int, int] | None = None
    from_ns: int | None = None
    until_ns: int | None = None

    def __post_init__(self) -> None:
        for number in (*(self.trials or ()), self.from_ns, self.until_ns):
            if number is not None and (type(number) is not int or abs(number) > _MAX_INT64):
                raise SessionError(f"{str(number)[:40]!r} in the section is no time or number of a trial.")
        if self.trials is not None:
            first, last = self.trials
            if not 0 <= first <= last or self.from_ns is not None or self.until_ns is not None:
                raise SessionError(
                    f"trials {first + 1} to {last + 1} are no section.",
                    todo="They are counted from 1, the first one first.",
                )
        elif self.from_ns is not None and self.until_ns is not None and self.from_ns >= self.until_ns:
            raise SessionError(f"{self.from_ns} to {self.until_ns} ns is no section.")

    def text(self) -> str:
        """Name it; trials are counted from 1 as everywhere on screen."""
        if self.trials is not None:
            first, last = (index + 1 for index in self.trials)
            return f"trial {first}" if first == last else f"trials {first} to {last}"
        if self.from_ns is None and self.until_ns is None:
            return "the whole session"
        start = "the start" if self.from_ns is None else f"{self.from_ns} ns"
        return f"from {start} to {'the end' if self.until_ns is None else f'{self.until_ns} ns'}"

    def rows(self, time_ns: NDArray[np.int64], trials: Sequence[Trial]) -> NDArray[np.bool_]:
        """Tell which samples are in it.

        Parameters
        ----------
        time_ns : numpy.ndarray, shape (n,), int64
        trials : sequence of Trial
            The session's.

        Raises
        ------
        SessionError
            It names a trial that the session has not.
        """
        start, end = self._ends_ns(trials)
        inside = np.ones(len(time_ns), bool)
        if start is not None:
            inside &= time_ns >= start
        if end is not None:
            inside &= time_ns < end
        return inside

    def span_ns(self, trials: Sequence[Trial]) -> tuple[int, int]:
        """Give its first time and the one at which it ends; an open end is beyond every time.

        Raises
        ------
        SessionError
            It names a trial that the session has not.
        """
        start, end = self._ends_ns(trials)
        return -_MAX_INT64 - 1 if start is None else start, _MAX_INT64 + 1 if end is None else end

    def _ends_ns(self, trials: Sequence[Trial]) -> tuple[int | None, int | None]:
        if self.trials is None:
            return self.from_ns, self.until_ns
        first, last = self.trials
        if last >= len(trials):
            raise SessionError(
                f"there is no trial {last + 1}: the session has {len(trials)}.",
                todo="Trials are counted from 1.",
            )
        return trials[first].onset_ns, trials[last].offset_ns

    def to_mapping(self) -> dict[str, Any]:
        """Give what an entry says of it; {} for the whole session."""
        values = {
            "trial_indices": self.trials and list(self.trials),
            "from_ns": self.from_ns,
            "until_ns": self.until_ns,
        }
        return {key: value for key, value in values.items() if value is not None}


def section_from_mapping(values: Any) -> Section:
    """Invert `Section.to_mapping`.

    Raises
    ------
    SessionError
        It is something else, or such a section cannot be.
    """
    if not isinstance(values, Mapping) or not set(values) <= {"trial_indices", "from_ns", "until_ns"}:
        raise SessionError("the section is none.")
    trials = values.get("trial_indices")
    times = [values.get("from_ns"), values.get("until_ns")]
    if trials is not None and not (isinstance(trials, list | tuple) and len(trials) == 2):
        raise SessionError("the section's trials are no first and last one.")
    return Section(None if trials is None else (trials[0], trials[1]), *times)
