"""Tells a camera that stopped from one that goes on: repeated, missing and black pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gazelab.core.gaze import Frame, SourceState

FROZEN_NS = 500_000_000
"""The same picture for this long: the camera is gone although its driver goes on answering."""

SILENT_NS = 1_000_000_000
"""No picture for this long."""

SAME_GREY = 0.02
"""Mean difference (of 255) below which two pictures are one: a sensor's noise is 0.3 and more, a repeated
picture in a compressed video a few thousandths."""

BLACK_GREY, BLACK_SPREAD = 6.0, 3.0
"""Mean below the one and standard deviation below the other: a shut cover, or a camera that another program
holds."""

_THIN = 16
"""Every sixteenth pixel of every sixteenth row is looked at: of a small picture still three hundred."""


class FrameWatch:
    """Judges a stream by its frames' pixels and times; no clock of its own.

    Parameters
    ----------
    frozen_ns, silent_ns : int
        How long until a repeated or a missing picture means that the camera is lost.
    """

    def __init__(self, frozen_ns: int = FROZEN_NS, silent_ns: int = SILENT_NS) -> None:
        self._frozen_ns, self._silent_ns = frozen_ns, silent_ns
        self._thin: NDArray[np.uint8] | None = None
        self._fresh_ns: int | None = None
        self._frozen = self._silent = self._black = False
        self.repeated = False
        """Whether the last frame was the same picture as the one before: it measures nothing new."""

    @property
    def state(self) -> SourceState:
        """OK or LOST."""
        return SourceState.LOST if self._frozen or self._silent or self._black else SourceState.OK

    @property
    def reason(self) -> str:
        """What to tell the operator; empty while all is well."""
        if self._silent:
            return "The camera gives no more pictures. Is it still plugged in?"
        if self._black:
            return (
                "The camera gives black pictures. Open its cover, switch it on with its key,"
                " and close other programs that use it."
            )
        if self._frozen:
            return "The camera repeats the same picture. Plug it in again or restart it."
        return ""

    def see(self, frame: Frame) -> SourceState:
        """Take the next frame; its own time counts."""
        from gazelab.core.opencv import cv2

        thin = np.ascontiguousarray(frame.rgb[::_THIN, ::_THIN, 1])
        before, self._thin = self._thin, thin
        self.repeated = (
            before is not None
            and before.shape == thin.shape
            and cv2.norm(thin, before, cv2.NORM_L1) < SAME_GREY * thin.size
        )
        if not self.repeated or self._fresh_ns is None:
            self._fresh_ns = frame.time_ns
        self._silent = False
        self._frozen = self.repeated and frame.time_ns - self._fresh_ns >= self._frozen_ns
        mean, spread = cv2.meanStdDev(thin)
        self._black = bool(mean[0, 0] < BLACK_GREY and spread[0, 0] < BLACK_SPREAD)
        return self.state

    def miss(self, now_ns: int) -> SourceState:
        """Note that no frame has come by `now_ns`."""
        if self._fresh_ns is not None and now_ns - self._fresh_ns >= self._silent_ns:
            self._silent = True
        return self.state
