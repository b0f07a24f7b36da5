"""A recorded session as a live source: the same samples at the same pace."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gazelab.calibration.head_box import HeadBox
from gazelab.core.errors import SessionError
from gazelab.core.gaze import GazeArray, SourceState, empty_gaze
from gazelab.core.geometry import Screen
from gazelab.sessions.reader import Session
from gazelab.sources.base import Clock, OpenInWith, Reading, SourceInfo
from gazelab.sources.camera_gaze import Predicts, put_gaze

CHUNK = 2000
"""Frames predicted at once: their features laid out take some 10 MB."""


class Recorded(OpenInWith):
    """A `GazeSource` that plays a session.

    Samples come in the order of recording with every number as recorded, without drift checks and later
    corrections; only the times are moved, all by the same amount, so that the first sample is at the time of
    `open`. Stamps that went back stay so.

    Parameters
    ----------
    session : Session, Path or str
    mapping : Predicts, optional
        Calibrates the session anew: the gaze of every frame is predicted from its recorded features, and a
        frame without features has none.
    head_box : HeadBox, optional
        Of the mapping's profile, to flag samples outside it.
    paced : bool
        Give each sample when its time has come; otherwise as fast as they are asked for, one a call.
    clock, wait : callable
        Session time in ns; a sleep of so many seconds.
    """

    def __init__(
        self,
        session: Session | Path | str,
        paced: bool = True,
        *,
        mapping: Predicts | None = None,
        head_box: HeadBox | None = None,
        clock: Clock = time.perf_counter_ns,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._session = session if isinstance(session, Session) else Session.open(session)
        self._mapping, self._head_box = mapping, head_box
        self._paced, self._clock, self._wait = paced, clock, wait
        self._state = SourceState.IDLE
        self._next = self._shift_ns = 0
        header = self._session.header
        first = header.source.detail  # of a session that is itself a copy: what the first one was made with
        detail = [
            ("recorded_with", first.get("recorded_with", header.source.name)),
            ("recorded_device", first.get("recorded_device", header.source.device)),
        ]
        detail += sorted(header.model_files.items())
        if header.feature_version:
            detail.append(("feature_version", header.feature_version))
        self.info = SourceInfo(
            "recorded",
            self._session.session_id,
            has_features=bool(header.feature_version),
            latency_ns=0,
            detail=tuple(detail),
        )
        if mapping is not None and not self.info.has_features:
            raise SessionError(
                "the session holds no eye features, so it cannot be calibrated anew.",
                where=self._session.path,
                todo="Replay it as it was recorded: leave out --profile.",
            )

    @property
    def screen(self) -> Screen:
        """What the samples' px are on."""
        return self._session.header.screen

    @property
    def state(self) -> SourceState:
        """OK while samples are left, then ENDED."""
        return self._state

    def open(self) -> None:
        """Read the session's samples and start at the first.

        Raises
        ------
        SessionError
            The session's files cannot be read.
        """
        self._gaze = self._session.gaze()
        self._features = self._session.features()
        if self._mapping is not None:
            self._gaze = predicted_gaze(self._gaze, self._features, self._mapping, self._head_box)
        self._feature_of = _by_frame(self._features)
        self._next = 0
        self._shift_ns = self._clock() - int(self._gaze["time_ns"][0]) if len(self._gaze) else 0
        self._state = SourceState.OK if len(self._gaze) else SourceState.ENDED

    def read(self, timeout_s: float = 0.0) -> list[Reading]:
        """Give what is due by the clock (`paced`), or the next sample."""
        if self._state is not SourceState.OK:
            return []
        if not self._paced:
            return self._take(self._next + 1)
        early_s = (self._due_ns(self._next) - self._clock()) / 1e9
        if early_s > 0 and timeout_s > 0:
            self._wait(min(early_s, timeout_s))
        now, end = self._clock(), self._next
        while end < len(self._gaze) and self._due_ns(end) <= now:
            end += 1
        return self._take(end)

    def close(self) -> None:
        """Stop; may be called twice."""
        self._state = SourceState.IDLE

    def _due_ns(self, k: int) -> int:
        return int(self._gaze["time_ns"][k]) + self._shift_ns

    def _take(self, end: int) -> list[Reading]:
        readings = [self._reading(k) for k in range(self._next, end)]
        self._next = end
        if end >= len(self._gaze):
            self._state = SourceState.ENDED
        return readings

    def _reading(self, k: int) -> Reading:
        sample = self._gaze[k].copy()
        at = self._feature_of.get((int(sample["frame_index"]), int(sample["time_ns"])))
        features = None if at is None else self._features[at].copy()
        sample["time_ns"] += self._shift_ns
        sample["arrival_ns"] += self._shift_ns
        if features is not None:
            features["time_ns"] += self._shift_ns
        return Reading(sample, features)


def predicted_gaze(
    gaze: GazeArray, features: NDArray[np.void], mapping: Predicts, head_box: HeadBox | None = None
) -> GazeArray:
    """Predict recorded gaze anew from the features of the same frames.

    Parameters
    ----------
    gaze : numpy.ndarray, shape (n,), GAZE_DTYPE
        As recorded; never changed.
    features : numpy.ndarray, shape (m,), FEATURE_DTYPE
        A sample without features has no gaze afterwards.
    mapping : Predicts
    head_box : HeadBox, optional
        Of the same profile; without it no sample is flagged.

    Returns
    -------
    numpy.ndarray, shape (n,), GAZE_DTYPE
        Stamps, head and lids stay as recorded.
    """
    out = gaze.copy()
    lost = empty_gaze(1)[0]
    for name in ("left_x_px", "left_y_px", "right_x_px", "right_y_px", "x_px", "y_px", "confidence", "valid"):
        out[name] = lost[name]
    out["outside_head_box"] = False
    feature_of = _by_frame(features)
    keys = zip(gaze["frame_index"].tolist(), gaze["time_ns"].tolist(), strict=True)
    pairs = [(k, feature_of[key]) for k, key in enumerate(keys) if key in feature_of]
    pairs = [(k, at) for k, at in pairs if features["valid"][at]]
    for start in range(0, len(pairs), CHUNK):
        some = pairs[start : start + CHUNK]
        rows = features[[at for _, at in some]]
        known = _Known(mapping.predict(rows))
        for known.at, (k, _) in enumerate(some):
            put_gaze(out[k], rows[known.at], known, head_box)
    return out


class _Known:
    """A mapping that has predicted many frames at once and gives them one by one."""

    def __init__(self, predicted: Any) -> None:
        self._predicted = predicted
        self.at = 0

    def predict(self, features: NDArray[np.void]) -> _Known:
        """Give the frame at `at`."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predicted, name)[self.at : self.at + 1]


def _by_frame(features: NDArray[np.void]) -> dict[tuple[int, int], int]:
    """Row of each (frame, time)."""
    keys = zip(features["frame_index"].tolist(), features["time_ns"].tolist(), strict=True)
    return {key: k for k, key in enumerate(keys)}
