"""Every coordinate conversion: screen px, degrees of visual angle, picture px, a model's patches.

Screen px are continuous: the upper-left corner of the upper-left pixel is (0, 0), the screen is
[0, width) x [0, height). Degrees: straight ahead at the screen's centre is (0, 0), +x right, +y up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gazelab.core.errors import ConfigError
from gazelab.core.intervals import overlap_shares

Floats = NDArray[np.float64]

DISTANCE_RANGE_MM = (200.0, 1500.0)
WIDTH_RANGE_MM = (100.0, 3000.0)
MAX_SIDE_PX = 100_000


@dataclass(frozen=True, slots=True)
class Screen:
    """One named monitor, in physical pixels.

    Attributes
    ----------
    name : str
    width_px, height_px : int
        Physical (device) pixels.
    width_mm, height_mm : float
        Of the lit area; NaN if unknown, and then there are no degrees.
    distance_mm : float
        From the eyes to the screen's centre; NaN if unknown.
    size_source : str
        Where the millimetres come from: "card", "user", "system" or "unknown".
    """

    name: str
    width_px: int
    height_px: int
    width_mm: float = float("nan")
    height_mm: float = float("nan")
    distance_mm: float = float("nan")
    size_source: str = "unknown"

    @classmethod
    def from_mapping(cls, m: Mapping[str, Any]) -> Screen:
        """Make a screen from a mapping with this class's field names; others are ignored.

        Raises
        ------
        ConfigError
            A size in px is missing or not positive, or a length in mm is no number.
        """
        try:
            width, height = int(m["width_px"]), int(m["height_px"])
        except (KeyError, TypeError, ValueError) as fault:
            raise ConfigError(
                "a screen needs width_px and height_px.", todo="Give both in physical pixels."
            ) from fault
        if not 0 < width <= MAX_SIDE_PX or not 0 < height <= MAX_SIDE_PX:
            raise ConfigError(f"a screen of {width} x {height} px cannot be.")
        sizes = {}
        for key in ("width_mm", "height_mm", "distance_mm"):
            value = m.get(key)
            try:
                sizes[key] = float("nan") if value is None else float(value)
            except (TypeError, ValueError) as fault:
                raise ConfigError(
                    f"{key} = {value!r} is no length.", todo="Give millimetres as a number."
                ) from fault
        source = str(m.get("size_source", "unknown"))
        return cls(str(m.get("name", "screen")), width, height, **sizes, size_source=source)

    def to_mapping(self) -> dict[str, Any]:
        """Give the fields as JSON-ready values; an unknown length becomes None."""
        out: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in out.items()}

    @property
    def has_degrees(self) -> bool:
        """Whether sizes and distance are known, so that degrees mean something."""
        lengths = np.array([self.width_mm, self.height_mm, self.distance_mm])
        return bool((np.isfinite(lengths) & (lengths > 0)).all())

    def check_plausible(self) -> None:
        """Refuse sizes that look like another unit.

        Raises
        ------
        ConfigError
            No px, distance outside 20-150 cm, width outside 10-300 cm, no height, or pixels far from square.
        """
        if not 0 < min(self.width_px, self.height_px) <= max(self.width_px, self.height_px) <= MAX_SIDE_PX:
            raise ConfigError(f"a screen of {self.width_px} x {self.height_px} px cannot be.")
        for name, value, (low, high) in (
            ("distance_mm", self.distance_mm, DISTANCE_RANGE_MM),
            ("width_mm", self.width_mm, WIDTH_RANGE_MM),
        ):
            if np.isfinite(value) and not low <= value <= high:
                raise ConfigError(
                    f"{name} = {value:g} is outside {low:g} to {high:g} mm.",
                    where=self.name,
                    todo="Check the unit: gazelab counts in millimetres.",
                )
        tall = self.width_mm / self.width_px * self.height_px
        if np.isfinite([tall, self.height_mm]).all() and not 0.8 * tall <= self.height_mm <= 1.25 * tall:
            raise ConfigError(
                f"{self.width_mm:g} x {self.height_mm:g} mm does not fit"
                f" {self.width_px} x {self.height_px} px.",
                where=self.name,
                todo="Measure the lit area, width first.",
            )

    def to_deg(self, x_px: ArrayLike, y_px: ArrayLike) -> tuple[Floats, Floats]:
        """Convert screen px to degrees from the screen's centre (each axis by its own tangent).

        Returns
        -------
        x_deg, y_deg : numpy.ndarray
            +x right, +y up; NaN in gives NaN out, and all NaN where the screen's size is unknown.
        """
        x_mm = (np.asarray(x_px, float) - self.width_px / 2) * (self.width_mm / self.width_px)
        y_mm = (self.height_px / 2 - np.asarray(y_px, float)) * (self.height_mm / self.height_px)
        x_deg: Floats = np.degrees(np.arctan2(x_mm, self.distance_mm))
        y_deg: Floats = np.degrees(np.arctan2(y_mm, self.distance_mm))
        return x_deg, y_deg

    def to_px(self, x_deg: ArrayLike, y_deg: ArrayLike) -> tuple[Floats, Floats]:
        """Invert `to_deg`."""
        x_mm = np.tan(np.radians(np.asarray(x_deg, float))) * self.distance_mm
        y_mm = np.tan(np.radians(np.asarray(y_deg, float))) * self.distance_mm
        x_px: Floats = x_mm * (self.width_px / self.width_mm) + self.width_px / 2
        y_px: Floats = self.height_px / 2 - y_mm * (self.height_px / self.height_mm)
        return x_px, y_px

    def directions(
        self, x_px: ArrayLike, y_px: ArrayLike, eye_offset_mm: tuple[float, float] = (0.0, 0.0)
    ) -> Floats:
        """Give unit vectors from the eye to points on the screen.

        Parameters
        ----------
        eye_offset_mm : (float, float)
            Where the eye is off the screen's centre axis: + right, + up.

        Returns
        -------
        numpy.ndarray, shape (..., 3)
            x right, y up, z into the screen.
        """
        x_mm = (np.asarray(x_px, float) - self.width_px / 2) * (self.width_mm / self.width_px)
        y_mm = (self.height_px / 2 - np.asarray(y_px, float)) * (self.height_mm / self.height_px)
        x_mm, y_mm = x_mm - eye_offset_mm[0], y_mm - eye_offset_mm[1]
        v = np.stack(np.broadcast_arrays(x_mm, y_mm, np.float64(self.distance_mm)), -1)
        out: Floats = v / np.linalg.norm(v, axis=-1, keepdims=True)
        return out

    def angle_deg(self, x1_px: ArrayLike, y1_px: ArrayLike, x2_px: ArrayLike, y2_px: ArrayLike) -> Floats:
        """Visual angle between two points on the screen, as seen from the eye, in degrees."""
        a, b = self.directions(x1_px, y1_px), self.directions(x2_px, y2_px)
        sin = np.linalg.norm(np.cross(a, b), axis=-1)
        out: Floats = np.degrees(np.arctan2(sin, (a * b).sum(-1)))
        return out

    def px_per_deg(self) -> float:
        """How many px one degree covers at the screen's centre, along x (NaN if unknown)."""
        return float(np.tan(np.radians(1.0)) * self.distance_mm * self.width_px / self.width_mm)

    def contains(self, x_px: ArrayLike, y_px: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points lie on the screen, half-open: [0, width) x [0, height); NaN does not."""
        x, y = np.asarray(x_px, float), np.asarray(y_px, float)
        out: NDArray[np.bool_] = (x >= 0) & (x < self.width_px) & (y >= 0) & (y < self.height_px)
        return out


@dataclass(frozen=True, slots=True)
class Placement:
    """The rectangle (screen px) in which a whole picture is shown.

    Attributes
    ----------
    left_px, top_px, width_px, height_px : float
        On the screen.
    picture_width_px, picture_height_px : int
        The picture's own size.
    """

    left_px: float
    top_px: float
    width_px: float
    height_px: float
    picture_width_px: int
    picture_height_px: int

    @classmethod
    def fit(
        cls, picture_width_px: int, picture_height_px: int, area: tuple[float, float, float, float]
    ) -> Placement:
        """Place a picture as large as it goes in an area, centred, its shape kept.

        Parameters
        ----------
        area : (left, top, width, height)
            Screen px.
        """
        left, top, width, height = area
        scale = min(width / picture_width_px, height / picture_height_px)
        w, h = picture_width_px * scale, picture_height_px * scale
        return cls(left + (width - w) / 2, top + (height - h) / 2, w, h, picture_width_px, picture_height_px)

    def to_picture(self, x_px: ArrayLike, y_px: ArrayLike) -> tuple[Floats, Floats]:
        """Convert screen px to picture px; outside the picture stays outside, never clamped."""
        x: Floats = (np.asarray(x_px, float) - self.left_px) * (self.picture_width_px / self.width_px)
        y: Floats = (np.asarray(y_px, float) - self.top_px) * (self.picture_height_px / self.height_px)
        return x, y

    def to_screen(self, x_px: ArrayLike, y_px: ArrayLike) -> tuple[Floats, Floats]:
        """Convert picture px to screen px."""
        x: Floats = np.asarray(x_px, float) * (self.width_px / self.picture_width_px) + self.left_px
        y: Floats = np.asarray(y_px, float) * (self.height_px / self.picture_height_px) + self.top_px
        return x, y

    def contains(self, x_px: ArrayLike, y_px: ArrayLike) -> NDArray[np.bool_]:
        """Tell which screen points lie on the picture (half-open; NaN does not)."""
        x, y = self.to_picture(x_px, y_px)
        out: NDArray[np.bool_] = (
            (x >= 0) & (x < self.picture_width_px) & (y >= 0) & (y < self.picture_height_px)
        )
        return out


@dataclass(frozen=True, eq=False)
class PatchGrid:
    """A model's grid of patches laid over the picture, its own resize, crop and padding undone.

    Attributes
    ----------
    x_edges_px : numpy.ndarray, shape (cols + 1,)
        Ascending column edges in picture px; edges below 0 or above the width are padding.
    y_edges_px : numpy.ndarray, shape (rows + 1,)
        Ascending row edges in picture px.
    picture_width_px, picture_height_px : int
    """

    x_edges_px: Floats
    y_edges_px: Floats
    picture_width_px: int
    picture_height_px: int

    @classmethod
    def stretched(cls, rows: int, cols: int, picture_width_px: int, picture_height_px: int) -> PatchGrid:
        """Lay `rows` x `cols` equal cells over the whole picture (a model that squashes its input)."""
        return cls(
            np.linspace(0, picture_width_px, cols + 1),
            np.linspace(0, picture_height_px, rows + 1),
            picture_width_px,
            picture_height_px,
        )

    @property
    def rows(self) -> int:
        """How many rows of patches."""
        return len(self.y_edges_px) - 1

    @property
    def cols(self) -> int:
        """How many columns of patches."""
        return len(self.x_edges_px) - 1

    def inside(self) -> Floats:
        """Share of each patch that lies on the picture.

        Returns
        -------
        numpy.ndarray, shape (rows, cols)
            1 inside, 0 in the padding.
        """
        x = overlap_shares(self.x_edges_px, np.array([0.0, self.picture_width_px]))[0]
        y = overlap_shares(self.y_edges_px, np.array([0.0, self.picture_height_px]))[0]
        return np.outer(y, x)

    def paint(self, patch_map: ArrayLike, rows_px: int, cols_px: int) -> Floats:
        """Spread each patch's mass evenly over its exact rectangle.

        Parameters
        ----------
        patch_map : array, shape (rows, cols)
        rows_px, cols_px : int
            The raster laid over the whole picture; need not be the picture's own size.

        Returns
        -------
        numpy.ndarray, shape (rows_px, cols_px)
            Mass per raster cell; what lies in the padding is left out, the rest is preserved.
        """
        values = np.asarray(patch_map, float)
        if values.shape != (self.rows, self.cols):
            raise ValueError(f"a map of shape {values.shape} on a grid of {self.rows} x {self.cols}")
        x = overlap_shares(self.x_edges_px, np.linspace(0, self.picture_width_px, cols_px + 1))
        y = overlap_shares(self.y_edges_px, np.linspace(0, self.picture_height_px, rows_px + 1))
        out: Floats = y @ values @ x.T
        return out

    def locate(self, x_px: ArrayLike, y_px: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the patch of each picture point: (row, col), or -1 where there is none."""
        return _bin(y_px, self.y_edges_px), _bin(x_px, self.x_edges_px)


def _bin(values: ArrayLike, edges: Floats) -> NDArray[np.int64]:
    v = np.asarray(values, float)
    index = np.searchsorted(edges, v, side="right") - 1
    ok = np.isfinite(v) & (index >= 0) & (index < len(edges) - 1)
    return np.where(ok, index, -1).astype(np.int64)
