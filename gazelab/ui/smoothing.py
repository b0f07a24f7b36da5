"""Smooths live gaze for the eye of the beholder; nothing that is stored or measured passes through here."""

from __future__ import annotations

from dataclasses import replace

from gazelab.core.gaze import GazeView
from gazelab.core.geometry import Screen
from gazelab.processing.filters import DisplayFilter


class LiveSmoother:
    """Feeds each new sample once through the display filter and remembers the tail.

    Parameters
    ----------
    screen : Screen
        With millimetres: the filter works in degrees.
    """

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._filter = DisplayFilter(screen)
        self._known: dict[int, tuple[float, float]] = {}
        self._newest_ns = -1

    def smooth(self, view: GazeView) -> GazeView:
        """Give the same view with smoothed places.

        Parameters
        ----------
        view : GazeView
            The next moment of the same live source; a step back in time starts afresh.
        """
        samples = view.samples.copy()
        if len(samples) and int(samples["time_ns"][-1]) < self._newest_ns:
            self._filter.reset()
            self._known, self._newest_ns = {}, -1
        kept: dict[int, tuple[float, float]] = {}
        for sample in samples:
            time_ns = int(sample["time_ns"])
            if time_ns > self._newest_ns:
                place = (float(sample["x_px"]), float(sample["y_px"]))
                kept[time_ns] = self._filter(time_ns, *place)
                self._newest_ns = time_ns
            elif time_ns in self._known:
                kept[time_ns] = self._known[time_ns]
            sample["x_px"], sample["y_px"] = kept.get(time_ns, (sample["x_px"], sample["y_px"]))
        self._known = kept
        return replace(view, samples=samples)
