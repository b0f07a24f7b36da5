"""The camera's picture, mirrored for the person who looks at it, with landmarks and both eyes enlarged.

Mirroring happens here, in painting, and nowhere else: what is measured is never mirrored.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PyQt6.QtWidgets import QSizePolicy, QWidget

from gazelab.core.gaze import Frame
from gazelab.sources.camera_gaze import ASSUMED_HORIZONTAL_FOV_DEG
from gazelab.ui.canvas import rgb_image
from gazelab.ui.colours import NEUTRAL_RGB
from gazelab.ui.hints import EYES_AT, IDEAL_MM

HEAD_MM = (155.0, 225.0)
"""Width and height of an adult's head, crown to chin; the eyes lie half-way up."""
IRIS_POINTS = slice(468, 478)
EYE_WIDTHS_SHOWN = 1.7
CROP_SHARE = 0.24
_MARK = QColor(120, 230, 255)
_INK = QColor(30, 34, 40)
_OUTLINE = {"good": QColor(90, 230, 130), "warn": QColor(255, 196, 60)}
_VEIL = QColor(20, 24, 30, 90)


class CameraPreview(QWidget):
    """Draws one frame with what was found in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumSize(320, 240)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Camera preview"))
        self.mirrored = True
        self._frame: Frame | None = None
        self._landmarks: NDArray[np.float32] | None = None
        self._features: np.void | None = None
        self._message = ""
        self._outline = ""

    def sizeHint(self) -> QSize:
        """Give the size that a layout starts from."""
        return QSize(640, 420)

    def set_message(self, text: str) -> None:
        """Say why there is no picture."""
        self._message = text
        self._frame = None
        self.update()

    def set_frame(
        self, frame: Frame, landmarks_px: NDArray[np.float32] | None, features: np.void | None
    ) -> None:
        """Show a frame; landmarks and features are of camera px, not mirrored."""
        self._frame, self._landmarks, self._features = frame, landmarks_px, features
        self.update()

    def set_outline(self, role: str) -> None:
        """Draw where the head should be: "good" where it is, "warn" where it isn't, "" for no outline."""
        self._outline = role
        self.update()

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the frame, the landmarks and the eyes."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(*NEUTRAL_RGB))
        if self._frame is None:
            painter.setPen(_INK)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(20, 20, -20, -20), flags, self._message)
            return
        height, width, _ = self._frame.rgb.shape
        scale = min(self.width() / width, self.height() / height)
        box = QRectF(0, 0, width * scale, height * scale)
        box.moveCenter(QRectF(self.rect()).center())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.save()
        painter.translate(box.topLeft())
        if self.mirrored:
            painter.translate(box.width(), 0)
            painter.scale(-1, 1)
        painter.drawImage(QRectF(0, 0, box.width(), box.height()), rgb_image(self._frame.rgb))
        if self._landmarks is not None:
            self._draw_landmarks(painter, self._landmarks * scale)
        painter.restore()
        if self._outline:
            _draw_outline(painter, box, _OUTLINE[self._outline], dashed=self._outline != "good")
        if self._features is not None and self._features["valid"]:
            self._draw_eyes(painter, box, self._frame, self._features)

    def _draw_landmarks(self, painter: QPainter, points: NDArray[np.float32]) -> None:
        for part, size, alpha in ((points, 1.6, 130), (points[IRIS_POINTS], 2.6, 255)):
            ink = QColor(_MARK.red(), _MARK.green(), _MARK.blue(), alpha)
            painter.setPen(QPen(ink, size, cap=Qt.PenCapStyle.RoundCap))
            painter.drawPoints(QPolygonF([QPointF(float(x), float(y)) for x, y in part[:, :2]]))

    def _draw_eyes(self, painter: QPainter, box: QRectF, frame: Frame, features: np.void) -> None:
        """Draw both eyes enlarged below; in a mirrored picture the subject's left eye is on the left."""
        width = box.width() * CROP_SHARE
        height = width / 2
        for eye, name in enumerate((self.tr("left eye"), self.tr("right eye"))):
            crop = _eye_crop(frame, features, eye)
            if crop is None:
                continue
            on_left = (eye == 0) == self.mirrored
            left = box.left() + 8 if on_left else box.right() - 8 - width
            place = QRectF(left, box.bottom() - 8 - height, width, height)
            image = rgb_image(crop).mirrored(self.mirrored, False)
            painter.drawImage(place, image)
            painter.setPen(QPen(QColor(255, 255, 255), 1.5))
            painter.drawRect(place)
            painter.fillRect(QRectF(place.left(), place.top() - 18, 66, 18), QColor(20, 24, 30, 190))
            painter.drawText(
                QRectF(place.left(), place.top() - 18, 66, 18), Qt.AlignmentFlag.AlignCenter, name
            )


def head_outline(box: QRectF) -> QRectF:
    """Tell where in a camera picture a head at a good place and distance lies.

    Parameters
    ----------
    box : QRectF
        Where the whole picture is drawn.
    """
    across_mm = 2 * IDEAL_MM * math.tan(math.radians(ASSUMED_HORIZONTAL_FOV_DEG / 2))
    width, height = (mm / across_mm * box.width() for mm in HEAD_MM)
    out = QRectF(0, 0, width, height)
    out.moveCenter(QPointF(box.left() + EYES_AT[0] * box.width(), box.top() + EYES_AT[1] * box.height()))
    return out


def _draw_outline(painter: QPainter, box: QRectF, colour: QColor, *, dashed: bool) -> None:
    """Veil what is round the head; solid or dashed tells the state without its colour."""
    head = head_outline(box)
    veil, hole = QPainterPath(), QPainterPath()
    veil.addRect(box)
    hole.addEllipse(head)
    painter.fillPath(veil - hole, _VEIL)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
    painter.setPen(QPen(_INK, 6))
    painter.drawEllipse(head)
    painter.setPen(QPen(colour, 3.5, style))
    painter.drawEllipse(head)


def _eye_crop(frame: Frame, features: np.void, eye: int) -> NDArray[np.uint8] | None:
    """Cut a 2:1 rectangle round one eye; None where it leaves the frame."""
    x, y = (float(v) for v in features["eye_centre_px"][eye])
    width = float(features["eye_width_px"][eye]) * EYE_WIDTHS_SHOWN
    if not np.isfinite([x, y, width]).all() or width < 4:
        return None
    top, left = round(y - width / 4), round(x - width / 2)
    bottom, right = round(y + width / 4), round(x + width / 2)
    if top < 0 or left < 0 or bottom > frame.rgb.shape[0] or right > frame.rgb.shape[1]:
        return None
    return frame.rgb[top:bottom, left:right]
