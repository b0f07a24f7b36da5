"""Areas of interest: which one each fixation fell on, and how long it was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Aoi:
    """A rectangle on the picture, half-open: [left, right) x [top, bottom), in picture px."""

    name: str
    left_px: float
    top_px: float
    right_px: float
    bottom_px: float

    def __post_init__(self) -> None:
        if not (self.left_px < self.right_px and self.top_px < self.bottom_px):
            raise ValueError(f"the area {self.name!r} is empty")

    def contains(self, x_px: ArrayLike, y_px: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points lie in the area; NaN does not."""
        x, y = np.asarray(x_px, float), np.asarray(y_px, float)
        out: NDArray[np.bool_] = (
            (x >= self.left_px) & (x < self.right_px) & (y >= self.top_px) & (y < self.bottom_px)
        )
        return out

    def padded(self, margin_px: float) -> Aoi:
        """Widen the area on every side, such as by the accuracy of the gaze."""
        return Aoi(
            self.name,
            self.left_px - margin_px,
            self.top_px - margin_px,
            self.right_px + margin_px,
            self.bottom_px + margin_px,
        )

    @property
    def area_px2(self) -> float:
        """Its area in square px."""
        return (self.right_px - self.left_px) * (self.bottom_px - self.top_px)


@dataclass(frozen=True, slots=True)
class Dwell:
    """How an area was looked at.

    Attributes
    ----------
    name : str
    n_fixations : int
    n_visits : int
        Runs of fixations on the area, with none elsewhere between.
    dwell_ns : int
        Summed duration of its fixations.
    first_ns : int or None
        Onset of the first fixation on it.
    """

    name: str
    n_fixations: int
    n_visits: int
    dwell_ns: int
    first_ns: int | None


def assign(x_px: ArrayLike, y_px: ArrayLike, areas: Sequence[Aoi]) -> NDArray[np.int64]:
    """Give each point the smallest area that holds it.

    Returns
    -------
    numpy.ndarray, shape (n,), int64
        Index into `areas`; -1 outside all of them.
    """
    out = np.full(np.shape(np.atleast_1d(np.asarray(x_px, float))), -1, np.int64)
    for index in sorted(range(len(areas)), key=lambda i: -areas[i].area_px2):
        out[np.atleast_1d(areas[index].contains(x_px, y_px))] = index
    return out


def dwells(
    onset_ns: ArrayLike, offset_ns: ArrayLike, x_px: ArrayLike, y_px: ArrayLike, areas: Sequence[Aoi]
) -> list[Dwell]:
    """Sum the fixations on each area.

    Parameters
    ----------
    onset_ns, offset_ns : array, shape (n,), int64
        Of the fixations, ascending.
    x_px, y_px : array, shape (n,)
        In picture px (`Placement.to_picture`).

    Returns
    -------
    list of Dwell
        One for each area, in their order.
    """
    onset, offset = np.asarray(onset_ns, np.int64), np.asarray(offset_ns, np.int64)
    where = assign(x_px, y_px, areas) if onset.size else np.zeros(0, np.int64)
    entered = np.diff(where, prepend=-2) != 0
    out = []
    for index, area in enumerate(areas):
        on = where == index
        out.append(
            Dwell(
                area.name,
                int(on.sum()),
                int((on & entered).sum()),
                int((offset - onset)[on].sum()),
                int(onset[on][0]) if on.any() else None,
            )
        )
    return out
