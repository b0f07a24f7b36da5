"""How a calibration target looks: a dot in a shrinking disc, or a star with a face for children.

Whatever moves, moves about the middle: the small dot that is to be looked at has one place and one size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from PyQt6.QtCore import QPointF, QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPainterPath, QPen

from gazelab.core.geometry import Screen

SHARE_OF_HEIGHT_PER_DEG = 0.025
"""Used where the millimetres are unknown: about right for a laptop."""
DOT_DEG, LEAST_DOT_PX = 0.16, 3.0
HALO, CHILD_HALO = 2.4, 1.8
INK, PAPER = QColor(24, 28, 34), QColor(255, 255, 255)
_DONE = QColor(20, 110, 60)
_YELLOW, _AMBER, _CHEEK = QColor(255, 205, 60), QColor(190, 115, 0), QColor(240, 140, 110)

N_RAYS, RAY_DEPTH = 9, 0.80
WIGGLE_DEG, WIGGLE_S, LOOK_S = 9.0, 1.4, 2.1


class TargetStyle(StrEnum):
    """What is shown at each place."""

    DOT = "dot"
    CHILD = "child"


SIZES_DEG = {TargetStyle.DOT: (1.2, 0.5), TargetStyle.CHILD: (2.8, 1.2)}
"""Diameter at a target's onset and when enough has been collected."""


@dataclass(frozen=True, slots=True)
class Looks:
    """One moment of a target.

    Attributes
    ----------
    style : TargetStyle
    progress : float
        0..1; the target shrinks with it.
    seconds : float
        Time, for what wiggles.
    room_px : float
        The largest diameter that is wholly on the screen; see `room_px`.
    """

    style: TargetStyle = TargetStyle.DOT
    progress: float = 0.0
    seconds: float = 0.0
    room_px: float = math.inf


def px_per_deg(screen: Screen) -> float:
    """Give px of one degree; a guess where the screen's size is unknown."""
    known = screen.px_per_deg()
    if math.isfinite(known):
        return known
    return SHARE_OF_HEIGHT_PER_DEG * min(screen.width_px, screen.height_px)


def room_px(centre: QPointF, ground: QRectF) -> float:
    """Diameter of the largest disc about a place that is wholly on the ground; 0 outside it."""
    gaps = (
        centre.x() - ground.left(),
        ground.right() - centre.x(),
        centre.y() - ground.top(),
        ground.bottom() - centre.y(),
    )
    return 2 * max(0.0, min(gaps))


def target_diameter_px(
    screen: Screen, progress: float, style: TargetStyle = TargetStyle.DOT, room: float = math.inf
) -> float:
    """Diameter in physical px: it shrinks as samples come in, from what there is room for (px)."""
    first, last = (min(size * px_per_deg(screen), room) for size in SIZES_DEG[style])
    share = min(max(progress, 0.0), 1.0)
    return float(first + (last - first) * share)


def draw_target(painter: QPainter, centre: QPointF, screen: Screen, looks: Looks) -> None:
    """Draw a target; the painter works in physical px."""
    painter.setPen(Qt.PenStyle.NoPen)
    diameter = target_diameter_px(screen, looks.progress, looks.style, looks.room_px)
    if looks.style is TargetStyle.CHILD:
        _draw_star(painter, centre, diameter / 2, looks.seconds)
    else:
        painter.setBrush(INK)
        painter.drawEllipse(centre, diameter / 2, diameter / 2)
    dot = max(DOT_DEG * px_per_deg(screen), LEAST_DOT_PX)
    halo = CHILD_HALO if looks.style is TargetStyle.CHILD else HALO
    for colour, size in ((PAPER, halo * dot), (INK, dot)):
        painter.setBrush(colour)
        painter.drawEllipse(centre, size / 2, size / 2)


def draw_done(painter: QPainter, centre: QPointF, screen: Screen, share: float, style: TargetStyle) -> None:
    """Draw the short sign that a target is done: a ring, or sparks, that grow and fade.

    Parameters
    ----------
    share : float
        Of the sign's time, 0..1.
    """
    unit = px_per_deg(screen)
    colour = QColor(_AMBER if style is TargetStyle.CHILD else _DONE)
    colour.setAlphaF(max(0.0, 1.0 - share))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(colour, 0.09 * unit, cap=Qt.PenCapStyle.RoundCap))
    radius = unit * (0.3 + 0.4 * share)
    if style is TargetStyle.DOT:
        painter.drawEllipse(centre, radius, radius)
        return
    for k in range(N_RAYS):
        angle = 2 * math.pi * k / N_RAYS
        way = QPointF(math.cos(angle), math.sin(angle))
        painter.drawLine(centre + way * radius, centre + way * (radius + 0.25 * unit))


def _draw_star(painter: QPainter, centre: QPointF, radius: float, seconds: float) -> None:
    """Draw a round star that rocks about its middle; its nose is the dot to look at."""
    painter.save()
    painter.translate(centre)
    painter.rotate(WIGGLE_DEG * math.sin(2 * math.pi * seconds / WIGGLE_S))
    painter.setPen(QPen(_AMBER, 0.05 * radius, join=Qt.PenJoinStyle.RoundJoin))
    painter.setBrush(_YELLOW)
    painter.drawPath(_star(radius * 0.97))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_CHEEK)
    for side in (-1, 1):
        painter.drawEllipse(QPointF(side * 0.48 * radius, 0.20 * radius), 0.12 * radius, 0.09 * radius)
    turn = 2 * math.pi * seconds / LOOK_S
    look = QPointF(0.05 * radius * math.cos(turn), 0.05 * radius * math.sin(turn))
    for side in (-1, 1):
        eye = QPointF(side * 0.30 * radius, -0.26 * radius)
        painter.setBrush(PAPER)
        painter.drawEllipse(eye, 0.17 * radius, 0.19 * radius)
        painter.setBrush(INK)
        painter.drawEllipse(eye + look, 0.085 * radius, 0.10 * radius)
    painter.setPen(QPen(INK, 0.06 * radius, cap=Qt.PenCapStyle.RoundCap))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    mouth = QRectF(-0.30 * radius, 0.02 * radius, 0.60 * radius, 0.46 * radius)
    painter.drawArc(mouth, 200 * 16, 140 * 16)
    painter.restore()
    painter.setPen(Qt.PenStyle.NoPen)


def _star(radius: float) -> QPainterPath:
    """Make a closed outline with soft rays, symmetric about the origin."""
    path = QPainterPath()
    steps = 8 * N_RAYS
    for k in range(steps + 1):
        angle = 2 * math.pi * k / steps - math.pi / 2
        wave = 0.5 + 0.5 * math.cos(N_RAYS * (angle + math.pi / 2))
        reach = radius * (RAY_DEPTH + (1 - RAY_DEPTH) * wave)
        point = QPointF(reach * math.cos(angle), reach * math.sin(angle))
        if k:
            path.lineTo(point)
        else:
            path.moveTo(point)
    path.closeSubpath()
    return path
