"""Monitors as Qt sees them, and as `Screen` in physical px; which one the participant looks at."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import replace
from pathlib import Path

from PyQt6.QtCore import QPointF, QRectF, Qt, QTimer
from PyQt6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QScreen
from PyQt6.QtWidgets import QWidget

from gazelab.core.errors import ConfigError
from gazelab.core.geometry import Screen
from gazelab.ui.colours import NEUTRAL_RGB

log = logging.getLogger(__name__)

SIZES_FILE = "screens.json"
IDENTIFY_MS = 2000
ASPECT_CODES_MM = ((160, 90), (160, 100), (16, 9), (16, 10), (40, 30), (4, 3))
DPI_RANGE = (50.0, 600.0)


def monitors() -> list[QScreen]:
    """Give the monitors that are there now."""
    return [s for s in QGuiApplication.screens() if s is not None]


def find_monitor(name: str) -> QScreen | None:
    """Find a monitor by the name that a session keeps; None if it was unplugged."""
    return next((s for s in monitors() if s.name() == name), None)


def describe(monitor: QScreen, number: int) -> str:
    """Name a monitor for a list: number, model, physical px."""
    seen = screen_of(monitor)
    model = " ".join(part for part in (monitor.manufacturer(), monitor.model()) if part) or monitor.name()
    return f"{number}: {model}, {seen.width_px} x {seen.height_px}"


def screen_of(
    monitor: QScreen, sizes: dict[str, Screen] | None = None, distance_mm: float = math.nan
) -> Screen:
    """Describe a monitor in physical px, with millimetres from where they can be trusted.

    Parameters
    ----------
    monitor : QScreen
    sizes : dict of str to Screen, optional
        Measured before, by monitor name (`load_sizes`); used if the px are the same.
    distance_mm : float
        From the eyes to the screen; NaN if unknown.
    """
    dpr = monitor.devicePixelRatio()
    size = monitor.geometry().size()
    width, height = round(size.width() * dpr), round(size.height() * dpr)
    known = (sizes or {}).get(monitor.name())
    if known is not None and (known.width_px, known.height_px) == (width, height):
        return replace(known, distance_mm=distance_mm)
    told = monitor.physicalSize()
    width_mm, height_mm = trusted_mm(width, height, told.width(), told.height())
    source = "system" if math.isfinite(width_mm) else "unknown"
    return Screen(monitor.name(), width, height, width_mm, height_mm, distance_mm, source)


def trusted_mm(width_px: int, height_px: int, width_mm: float, height_mm: float) -> tuple[float, float]:
    """Take the system's millimetres only if a monitor can be like that; NaN otherwise.

    Systems tell 0, an aspect ratio in place of a size, the sides in the wrong order after a turn, or a fixed
    number of dots per inch.
    """
    nothing = (math.nan, math.nan)
    if width_mm <= 0 or height_mm <= 0 or (round(width_mm), round(height_mm)) in ASPECT_CODES_MM:
        return nothing
    if (width_mm > height_mm) != (width_px > height_px) and width_px != height_px:
        width_mm, height_mm = height_mm, width_mm
    dpi = width_px / width_mm * 25.4
    if not DPI_RANGE[0] <= dpi <= DPI_RANGE[1] or any(abs(dpi - guess) < 0.7 for guess in (72, 96)):
        return nothing
    try:
        Screen("?", width_px, height_px, width_mm, height_mm).check_plausible()
    except ConfigError:
        return nothing
    return width_mm, height_mm


def load_sizes(root: Path) -> dict[str, Screen]:
    """Read the sizes measured before, by monitor name; a broken file is like none."""
    path = root / SIZES_FILE
    try:
        entries = json.loads(path.read_text("utf-8"))
        return {name: Screen.from_mapping(entry) for name, entry in entries.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, ConfigError) as fault:
        log.warning("%s is left out: %s", path, fault)
        return {}


def save_size(root: Path, screen: Screen) -> None:
    """Keep a measured size for next time."""
    sizes = load_sizes(root) | {screen.name: replace(screen, distance_mm=math.nan)}
    root.mkdir(parents=True, exist_ok=True)
    text = json.dumps({name: s.to_mapping() for name, s in sizes.items()}, indent=1)
    (root / SIZES_FILE).write_text(text, "utf-8")


def cover(window: QWidget, monitor: QScreen) -> None:
    """Show a window full screen on one monitor."""
    window.setScreen(monitor)
    window.setGeometry(monitor.geometry())
    window.showFullScreen()


def device_corner(widget: QWidget, monitor: QScreen) -> QPointF:
    """Tell where a widget's upper-left corner lies on its monitor, in physical px."""
    corner = widget.mapToGlobal(QPointF(0, 0)) - QPointF(monitor.geometry().topLeft())
    return corner * widget.devicePixelRatioF()


class Numeral(QWidget):
    """A large number on one monitor for a moment, so that the user knows which is which."""

    def __init__(self, number: int, monitor: QScreen) -> None:
        super().__init__(None, Qt.WindowType.ToolTip | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._text = str(number)
        side = 240
        box = QRectF(0, 0, side, side)
        box.moveCenter(QRectF(monitor.geometry()).center())
        self.setGeometry(box.toRect())
        self.setScreen(monitor)
        QTimer.singleShot(IDENTIFY_MS, self.close)

    def paintEvent(self, a0: QPaintEvent | None) -> None:
        """Draw the number."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(*NEUTRAL_RGB))
        font = painter.font()
        font.setPixelSize(180)
        painter.setFont(font)
        painter.setPen(QColor(20, 20, 20))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._text)


def identify() -> list[Numeral]:
    """Show each monitor's number on it."""
    shown = [Numeral(k, monitor) for k, monitor in enumerate(monitors(), 1)]
    for window in shown:
        window.show()
    return shown
