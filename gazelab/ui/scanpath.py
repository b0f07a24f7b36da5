"""Drawing of fixations and of the trail of raw samples, in device px.

Antialiased long lines are very slow in software, so the trail is one call of pre-drawn dots, and the scan
path is drawn once into a layer that the canvas keeps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PyQt6 import sip
from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QPainter, QPen, QPixmap

from gazelab.ui.colours import GAZE_RGB

Floats = NDArray[np.float64]

TRAIL_S = 1.0
REFERENCE_S = 0.25
REFERENCE_RADIUS = 11.0
RADIUS_RANGE = (7.0, 34.0)
_INK = QColor(*GAZE_RGB)


def radius(duration_s: float) -> float:
    """Radius in logical px of a fixation's circle: its area grows with the duration, within limits."""
    raw = REFERENCE_RADIUS * (max(duration_s, 0.0) / REFERENCE_S) ** 0.5
    return float(np.clip(raw, *RADIUS_RANGE))


def draw_fixations(
    painter: QPainter, x: Floats, y: Floats, durations_s: Floats, unit: float, font: QFont, first: int = 0
) -> None:
    """Draw numbered circles joined in order, from the `first` on.

    A link starts at the rim of the circle that it leaves, so that one that is drawn later does not cross it.

    Parameters
    ----------
    x, y : numpy.ndarray, shape (n,)
        Device px; a NaN position breaks the path.
    durations_s : numpy.ndarray, shape (n,)
        Seconds.
    unit : float
        Device px per px of the sizes given here.
    font : QFont
        For the numbers.
    first : int
        Those before it are there already.
    """
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    seen = np.isfinite(x) & np.isfinite(y)
    radii = np.array([radius(float(d)) * unit for d in durations_s])
    for width, colour in ((3.5, QColor(255, 255, 255, 190)), (1.6, _with_alpha(190))):
        painter.setPen(QPen(colour, width * unit, cap=Qt.PenCapStyle.RoundCap))
        for k in range(max(first, 1), len(x)):
            dx, dy = x[k] - x[k - 1], y[k] - y[k - 1]
            length = float(np.hypot(dx, dy))
            if length > radii[k - 1]:
                rim = radii[k - 1] / length
                start = QPointF(x[k - 1] + rim * dx, y[k - 1] + rim * dy)
                painter.drawLine(start, QPointF(x[k], y[k]))
    for k in range(first, len(x)):
        if seen[k]:
            _draw_circle(painter, QPointF(x[k], y[k]), float(radii[k]), k + 1, font)


def draw_trail(painter: QPainter, x: Floats, y: Floats, ages_s: Floats, dot: QPixmap, unit: float) -> None:
    """Draw raw samples as dots that fade with age, and a ring on the newest.

    Parameters
    ----------
    x, y : numpy.ndarray, shape (n,)
        Device px; lost samples are NaN and are not drawn.
    ages_s : numpy.ndarray, shape (n,)
        Seconds before now; older than `TRAIL_S` is left out.
    dot : QPixmap
        As `dot_pixmap` makes it; kept by the caller, since a pixmap must not outlive the application.
    unit : float
        Device px per px of the sizes given here.
    """
    use = np.isfinite(x) & np.isfinite(y) & (ages_s >= 0) & (ages_s <= TRAIL_S)
    if not use.any():
        return
    whole = QRectF(dot.rect())
    strength = 1 - 0.85 * ages_s[use] / TRAIL_S
    fragments: sip.array[QPainter.PixmapFragment | None]
    fragments = sip.array(QPainter.PixmapFragment, int(use.sum()))  # type: ignore[call-arg]  # stub lacks it
    for k, (px, py, alpha) in enumerate(zip(x[use], y[use], strength, strict=True)):
        fragments[k] = QPainter.PixmapFragment.create(
            QPointF(float(px), float(py)), whole, opacity=float(alpha)
        )
    painter.drawPixmapFragments(fragments, dot)
    if np.isfinite(x[-1]) and np.isfinite(y[-1]) and ages_s[-1] <= TRAIL_S:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        centre = QPointF(float(x[-1]), float(y[-1]))
        for width, colour in ((5.0, QColor(255, 255, 255, 220)), (2.5, _INK)):
            painter.setPen(QPen(colour, width * unit))
            painter.drawEllipse(centre, 13 * unit, 13 * unit)


def _with_alpha(alpha: int) -> QColor:
    return QColor(*GAZE_RGB, alpha)


def _draw_circle(painter: QPainter, centre: QPointF, r: float, number: int, font: QFont) -> None:
    painter.setPen(QPen(QColor(255, 255, 255, 230), max(1.5, r * 0.08)))
    painter.setBrush(_with_alpha(165))
    painter.drawEllipse(centre, r, r)
    text = QFont(font)
    text.setBold(True)
    text.setPixelSize(max(9, round(min(r * 1.05, r * 0.95 + 4))))
    painter.setFont(text)
    painter.setPen(QColor(255, 255, 255))
    painter.drawText(
        QRectF(centre.x() - r, centre.y() - r, 2 * r, 2 * r), Qt.AlignmentFlag.AlignCenter, str(number)
    )


def dot_pixmap(unit: float) -> QPixmap:
    """Draw the mark of one raw sample."""
    size = round(9 * unit)
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(255, 255, 255, 200), unit))
    painter.setBrush(_INK)
    painter.drawEllipse(QRectF(unit, unit, size - 2 * unit, size - 2 * unit))
    painter.end()
    return pixmap
