"""What the participant is asked to do beside looking, in words and as a small picture, near the target."""

from __future__ import annotations

from enum import StrEnum

from PyQt6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PyQt6.QtGui import QPainter, QPen

from gazelab.calibration.targets import Target, TargetKind
from gazelab.ui.target_art import INK, PAPER

TEXT_PX, PICTURE_PX, WIDEST_PX = 22, 84.0, 640.0
_BLACK = QPen(INK, 3.0, cap=Qt.PenCapStyle.RoundCap, join=Qt.PenJoinStyle.RoundJoin)


class Move(StrEnum):
    """How the head is to move; in the order of `head_phase.STEPS`."""

    TURN = "turn"
    NOD = "nod"
    CLOSER = "closer"
    LEAN = "lean"


def move_of(target: Target | None) -> Move | None:
    """Give the movement that goes with a target; None where the head rests."""
    moves = tuple(Move)
    if target is None or target.kind is not TargetKind.HEAD or target.index >= len(moves):
        return None
    return moves[target.index]


def in_words(instruction: str) -> str:
    """Translate what the procedure asks for."""
    return QCoreApplication.translate("Procedure", instruction) if instruction else ""


def draw_asked(
    painter: QPainter, room: QRectF, target: QPointF, gap: float, text: str, move: Move | None
) -> QRectF:
    """Draw words and picture below a target, or above one that stands low.

    Parameters
    ----------
    painter : QPainter
    room : QRectF
        What may be drawn on.
    target : QPointF
    gap : float
        Kept free round the target.
    text : str
    move : Move or None

    Returns
    -------
    QRectF
        What was covered; empty without a text.
    """
    if not text:
        return QRectF()
    font = painter.font()
    font.setPixelSize(TEXT_PX)
    painter.setFont(font)
    aside = 0.0 if move is None else PICTURE_PX + 20
    width = min(WIDEST_PX, room.width() - 40 - aside)
    flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
    words = painter.boundingRect(QRectF(0, 0, width, 400), flags.value, text)
    block = QRectF(0, 0, words.width() + aside, max(words.height(), PICTURE_PX if move else 0.0))
    below = target.y() + gap + block.height() < room.bottom() - 20
    top = target.y() + gap if below else target.y() - gap - block.height()
    left = min(max(target.x() - block.width() / 2, room.left() + 20), room.right() - 20 - block.width())
    block.moveTo(left, top)
    if move is not None:
        draw_move(
            painter, QRectF(block.left(), block.center().y() - PICTURE_PX / 2, PICTURE_PX, PICTURE_PX), move
        )
    painter.setPen(INK)
    painter.drawText(block.adjusted(aside, 0, 1, 0), flags.value, text)
    return block


def draw_move(painter: QPainter, box: QRectF, move: Move) -> None:
    """Draw a head and the way that it goes."""
    painter.save()
    painter.translate(box.center())
    unit = box.width() / 100
    painter.scale(unit, unit)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if move is Move.LEAN:
        for degrees in (-32.0, 32.0):
            _head(painter, tilt_deg=degrees, faint=True)
        _head(painter)
        _arrow(painter, QPointF(-14, -40), QPointF(-36, -32))
        _arrow(painter, QPointF(14, -40), QPointF(36, -32))
    elif move is Move.CLOSER:
        _head(painter, size=1.35, faint=True)
        _head(painter, size=0.8)
        for x, y in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
            _arrow(painter, QPointF(x * 17, y * 22), QPointF(x * 33, y * 40))
    else:
        _head(painter)
        along = QPointF(1, 0) if move is Move.TURN else QPointF(0, 1)
        reach = 24 if move is Move.TURN else 32
        for sign in (-1, 1):
            _arrow(painter, along * (sign * reach), along * (sign * (reach + 17)))
    painter.restore()


def _head(painter: QPainter, size: float = 1.0, tilt_deg: float = 0.0, *, faint: bool = False) -> None:
    painter.save()
    painter.translate(0, 40)  # heads lean about the neck
    painter.rotate(tilt_deg)
    painter.translate(0, -40)
    painter.setPen(QPen(INK, 2.0, Qt.PenStyle.DotLine) if faint else _BLACK)
    painter.setBrush(Qt.BrushStyle.NoBrush if faint else PAPER)
    painter.drawEllipse(QPointF(0, 0), 20 * size, 27 * size)
    if not faint:
        painter.setBrush(INK)
        for side in (-1, 1):
            painter.drawEllipse(QPointF(side * 7 * size, -5 * size), 1.5 * size, 1.5 * size)
    painter.restore()


def _arrow(painter: QPainter, start: QPointF, end: QPointF) -> None:
    painter.setPen(_BLACK)
    painter.drawLine(start, end)
    way = end - start
    length = max((way.x() ** 2 + way.y() ** 2) ** 0.5, 1e-6)
    back = way / length * -8
    side = QPointF(-back.y(), back.x()) * 0.7
    painter.drawLine(end, end + back + side)
    painter.drawLine(end, end + back - side)
