"""The picture of a calibration that lies beside it on disk: made by the app and by the command line alike."""

from __future__ import annotations

from pathlib import Path

from PyQt6.QtCore import QCoreApplication, QRectF, Qt
from PyQt6.QtGui import QColor, QGuiApplication, QImage, QPainter, QPen

from gazelab.calibration.overview import Overview
from gazelab.calibration.profile import Profile
from gazelab.core.errors import CalibrationError
from gazelab.ui.error_scale import SMALL_PX, set_size
from gazelab.ui.fonts import install_fallback
from gazelab.ui.result_picture import draw_result
from gazelab.ui.result_table import table_head, table_rows
from gazelab.ui.target_art import INK

PICTURE_NAME = "validation.png"
WIDTH, HEIGHT, EDGE = 1200, 1000, 28
TITLE_PX, ROW_PX = 22, 24
_GREY = QColor(81, 92, 105)


def save_picture(folder: Path, profile: Profile) -> Path:
    """Draw a profile's validation into its folder.

    Parameters
    ----------
    folder : Path
        The profile's.
    profile : Profile

    Returns
    -------
    Path
        The PNG.

    Raises
    ------
    CalibrationError
        It cannot be written.
    """
    path = folder / PICTURE_NAME
    app = _application()  # held until the picture is drawn
    drawn = picture_of(profile).save(str(path), "PNG")
    del app
    if not drawn:
        raise CalibrationError(
            "the picture of the validation can't be written.", where=path, todo="Free some space."
        )
    return path


def picture_of(profile: Profile) -> QImage:
    """Draw who and when, the error map with its arrows, the numbers, and what is of concern."""
    shown = Overview.of_profile(profile)
    rows = table_rows(profile.validation)
    table_height = ROW_PX * (len(rows) + 1)
    lines = [
        *shown.concerns,
        *([_tr("Accepted because: {note}").format(note=shown.note)] if shown.note else []),
    ]
    foot_height = 22 * len(lines)
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(QColor(255, 255, 255))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    room = WIDTH - 2 * EDGE
    _draw_head(painter, QRectF(EDGE, EDGE - 6, room, 54), profile)
    map_height = HEIGHT - 2 * EDGE - 60 - table_height - foot_height - 24
    draw_result(painter, QRectF(EDGE, EDGE + 56, room, map_height), shown)
    top = EDGE + 56 + map_height + 12
    _draw_table(painter, QRectF(EDGE, top, room, table_height), [table_head(), *rows])
    set_size(painter, SMALL_PX + 2)
    painter.setPen(INK)
    painter.drawText(QRectF(EDGE, top + table_height + 8, room, foot_height), 0, "\n".join(lines))
    painter.end()
    return image


def _draw_head(painter: QPainter, box: QRectF, profile: Profile) -> None:
    set_size(painter, TITLE_PX, bold=True)
    painter.setPen(INK)
    title = _tr("Calibration of {code}").format(code=profile.participant)
    painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, title)
    set_size(painter, SMALL_PX + 2)
    painter.setPen(_GREY)
    screen = profile.screen
    about = (
        f"{profile.created_utc}   ·   {profile.source.name}   ·   {screen.width_px} x {screen.height_px} px"
    )
    if screen.has_degrees:
        about += f", {screen.width_mm:.0f} x {screen.height_mm:.0f} mm, {screen.distance_mm:.0f} mm"
    painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, about)


def _draw_table(painter: QPainter, box: QRectF, rows: list[list[str]]) -> None:
    width = box.width() / len(rows[0])
    for k, texts in enumerate(rows):
        top = box.top() + k * ROW_PX
        set_size(painter, SMALL_PX + 2, bold=k == len(rows) - 1)
        painter.setPen(_GREY if k == 0 else INK)
        for col, text in enumerate(texts):
            cell = QRectF(box.left() + col * width, top, width, ROW_PX)
            painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, text)
        painter.setPen(QPen(QColor(213, 219, 226), 1))
        painter.drawLine(cell.bottomRight(), QRectF(box.left(), top, 1, ROW_PX).bottomLeft())


def _application() -> QCoreApplication:
    """Give the application object that fonts need; without one, one that needs no display."""
    there = QGuiApplication.instance()
    if there is not None:
        return there
    app = QGuiApplication(["gazelab", "-platform", "offscreen"])
    install_fallback()
    return app


def _tr(text: str) -> str:
    return QCoreApplication.translate("ResultPicture", text)
