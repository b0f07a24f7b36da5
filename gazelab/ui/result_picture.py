"""The one drawing of a calibration's result: error by region, targets, arrows, and the scale below.

Colours are fixed, whatever the theme: a picture that is saved looks the same on every desk. Cells go from
light to dark, so that their order survives colour blindness and grey printing, and each says its number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PyQt6.QtGui import QBrush, QColor, QPainter, QPen

from gazelab.calibration.overview import Overview, ShownTarget
from gazelab.core.geometry import Placement, Screen
from gazelab.ui.colours import GAZE_RGB, NEUTRAL_RGB
from gazelab.ui.error_scale import CLASS_RGB, SMALL_PX, TEXT_PX, class_of, draw_scale, set_size
from gazelab.ui.target_art import INK, PAPER, px_per_deg

NONE = -1
LEGEND_PX = 58.0
BAD = QColor(150, 30, 15)
ARROW, LIGHTER = QColor(*GAZE_RGB), QColor(70, 76, 86)
MARGIN_PX = 10.0
GAZE_DOT, TARGET_RING, CHOSEN_RING = 4.0, 7.0, 13.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are drawn in an area: the screen as a placement, the legend below.

    Attributes
    ----------
    screen : Placement
        Of the screen's px in the area's.
    legend : QRectF
    """

    screen: Placement
    legend: QRectF

    @classmethod
    def of(cls, screen: Screen, area: QRectF) -> Layout:
        """Fit the screen into an area above its legend."""
        room = (area.left() + 2, area.top() + 2, area.width() - 4, area.height() - LEGEND_PX - 4)
        placed = Placement.fit(
            screen.width_px, screen.height_px, (*room[:2], max(room[2], 1), max(room[3], 1))
        )
        below = QRectF(area.left(), placed.top_px + placed.height_px + 4, area.width(), LEGEND_PX - 4)
        return cls(placed, below)

    def place(self, x_px: float, y_px: float) -> QPointF:
        """Tell where a place of the screen is drawn."""
        return QPointF(*(float(v) for v in self.screen.to_screen(x_px, y_px)))


def draw_result(
    painter: QPainter, area: QRectF, shown: Overview, chosen: int = NONE, words: QColor = INK
) -> None:
    """Draw all of it.

    Parameters
    ----------
    painter : QPainter
    area : QRectF
    shown : Overview
    chosen : int
        The calibration target that is ringed.
    words : QColor
        Of the words below the picture, which lie on the ground of whoever draws it.
    """
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    layout = Layout.of(shown.screen, area)
    has_errors = shown.validation is not None
    if has_errors:
        _draw_regions(painter, layout, shown)
        for target in shown.targets:
            _draw_left_out(painter, layout, target)
        _draw_numbers(painter, layout, shown)
    else:
        painter.fillRect(_whole(layout), QColor(*NEUTRAL_RGB))
    for target in shown.targets:
        _draw_target(painter, layout, target, chosen)
    if shown.validation is not None:
        for seen in shown.validation.targets:
            start, end = layout.place(seen.x_px, seen.y_px), layout.place(seen.gaze_x_px, seen.gaze_y_px)
            has_data = math.isfinite(seen.gaze_x_px) and math.isfinite(seen.gaze_y_px)
            if has_data:
                _draw_arrow(painter, start, end)
            above = not has_data or end.y() >= start.y()
            _draw_validation_target(painter, start, seen.index, has_data=has_data, name_above=above)
    if has_errors:
        draw_scale(painter, layout.legend, shown.screen, words)


def _whole(layout: Layout) -> QRectF:
    s = layout.screen
    return QRectF(s.left_px, s.top_px, s.width_px, s.height_px)


def _cell(layout: Layout, shape: tuple[int, ...], row: int, col: int) -> QRectF:
    whole, (rows, cols) = _whole(layout), shape
    width, height = whole.width() / cols, whole.height() / rows
    return QRectF(whole.left() + col * width, whole.top() + row * height, width, height)


def _draw_regions(painter: QPainter, layout: Layout, shown: Overview) -> None:
    made = shown.error_map()
    per_deg = px_per_deg(shown.screen)
    for row, col, n in _cells(made.n):
        cell = _cell(layout, made.n.shape, row, col)
        if n:
            deg = made.error_deg[row, col]
            error = deg if math.isfinite(deg) else made.error_px[row, col] / per_deg
            painter.fillRect(cell, QColor(*CLASS_RGB[class_of(error)]))
        else:
            painter.fillRect(cell, QColor(*NEUTRAL_RGB))
            painter.fillRect(cell, QBrush(QColor(120, 126, 136), Qt.BrushStyle.BDiagPattern))
        painter.setPen(QPen(PAPER, 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(cell)


def _draw_numbers(painter: QPainter, layout: Layout, shown: Overview) -> None:
    """Write each region's number on a ground of its own, where it covers no target."""
    made = shown.error_map()
    marks = [layout.place(x, y) for x, y in _marks(shown)]
    for row, col, n in _cells(made.n):
        cell = _cell(layout, made.n.shape, row, col)
        texts = _number(n, float(made.error_deg[row, col]), float(made.error_px[row, col]))
        if n and not made.held_out[row, col]:
            texts = (f"({texts[0]})", f"({texts[1]})")
        _draw_tag(painter, cell, texts, marks)


def _number(n: int, deg: float, px: float) -> tuple[str, str]:
    """Write an error at length and in short."""
    tr = QCoreApplication.translate
    if not n:
        return (tr("ResultPicture", "no data"),) * 2
    px_alone = tr("ResultPicture", "{px:.0f} px").format(px=px)
    if not math.isfinite(deg):
        return (px_alone,) * 2
    return tr("ResultPicture", "{deg:.1f}°  {px:.0f} px").format(deg=deg, px=px), f"{deg:.1f}°"


def _marks(shown: Overview) -> Iterator[tuple[float, float]]:
    """Give all that is drawn over the regions, as places of the screen."""
    for target in shown.targets:
        yield target.x_px, target.y_px
    for seen in () if shown.validation is None else shown.validation.targets:
        yield seen.x_px, seen.y_px
        if math.isfinite(seen.gaze_x_px) and math.isfinite(seen.gaze_y_px):
            yield seen.gaze_x_px, seen.gaze_y_px


def _cells(n: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    for (row, col), value in np.ndenumerate(n):
        yield row, col, int(value)


def _draw_tag(painter: QPainter, cell: QRectF, texts: tuple[str, str], marks: list[QPointF]) -> None:
    """Draw the longer text that fits, at that height of the cell which is farthest from any mark."""
    set_size(painter, TEXT_PX, bold=True)
    metrics = painter.fontMetrics()
    text = texts[0] if metrics.horizontalAdvance(texts[0]) + 16 < cell.width() else texts[1]
    box = QRectF(metrics.boundingRect(text)).adjusted(-6, -2, 6, 2)
    heights = (0.28, 0.5, 0.72, 0.15, 0.85)
    spots = [QPointF(cell.center().x(), cell.top() + share * cell.height()) for share in heights]
    box.moveCenter(max(spots, key=lambda spot: min((_apart(spot, m) for m in marks), default=0.0)))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(255, 255, 255, 225))
    painter.drawRoundedRect(box, 5, 5)
    painter.setPen(INK)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _apart(one: QPointF, other: QPointF) -> float:
    """Tell how far two places are apart; a tag is wide and low, so a step aside counts less."""
    return math.hypot((one.x() - other.x()) / 2.5, one.y() - other.y())


def _draw_left_out(painter: QPainter, layout: Layout, target: ShownTarget) -> None:
    """Draw, lighter than anything else, a circle as wide as a target's error when it is left out."""
    if not math.isfinite(target.left_out_px):
        return
    at = layout.place(target.x_px, target.y_px)
    reach = target.left_out_px * layout.screen.width_px / layout.screen.picture_width_px
    painter.save()
    painter.setClipRect(_whole(layout))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for colour, width in ((PAPER, 2.6), (LIGHTER, 1.2)):
        painter.setPen(QPen(colour, width, Qt.PenStyle.DashLine if width < 2 else Qt.PenStyle.SolidLine))
        painter.drawEllipse(at, reach, reach)
    painter.restore()


def _draw_target(painter: QPainter, layout: Layout, target: ShownTarget, chosen: int) -> None:
    """Draw a calibration target."""
    at = layout.place(target.x_px, target.y_px)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for colour, width in ((PAPER, 4.5), (BAD if target.redo else INK, 2.0)):
        painter.setPen(QPen(colour, width))
        painter.drawEllipse(at, TARGET_RING, TARGET_RING)
        if target.redo:
            painter.drawLine(at + QPointF(-5, -5), at + QPointF(5, 5))
            painter.drawLine(at + QPointF(-5, 5), at + QPointF(5, -5))
    if target.index == chosen:
        for colour, width in ((PAPER, 6.0), (ARROW, 3.0)):
            painter.setPen(QPen(colour, width))
            painter.drawEllipse(at, CHOSEN_RING, CHOSEN_RING)


def _draw_validation_target(
    painter: QPainter, at: QPointF, index: int, *, has_data: bool, name_above: bool
) -> None:
    painter.setPen(QPen(PAPER, 1.5))
    painter.setBrush(INK if has_data else BAD)
    painter.drawEllipse(at, GAZE_DOT + 1, GAZE_DOT + 1)
    set_size(painter, SMALL_PX, bold=True)
    name = QRectF(0, 0, 22, 14)
    name.moveCenter(at + QPointF(0, -13 if name_above else 13))
    for offset in (QPointF(1, 0), QPointF(-1, 0), QPointF(0, 1), QPointF(0, -1)):
        painter.setPen(PAPER)
        painter.drawText(name.translated(offset), Qt.AlignmentFlag.AlignCenter, f"V{index + 1}")
    painter.setPen(INK if has_data else BAD)
    painter.drawText(name, Qt.AlignmentFlag.AlignCenter, f"V{index + 1}")


def _draw_arrow(painter: QPainter, start: QPointF, end: QPointF) -> None:
    along = end - start
    length = math.hypot(along.x(), along.y())
    for colour, width in ((PAPER, 5.0), (ARROW, 2.5)):
        painter.setPen(QPen(colour, width, cap=Qt.PenCapStyle.RoundCap))
        painter.drawLine(start, end)
        if length > 1:
            back = along / length * -min(9.0, length)
            side = QPointF(-back.y(), back.x()) * 0.5
            painter.drawLine(end, end + back + side)
            painter.drawLine(end, end + back - side)
