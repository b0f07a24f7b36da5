"""A window that belongs to one monitor, full screen, and learns when that monitor changes or is gone."""

from __future__ import annotations

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication, QScreen
from PyQt6.QtWidgets import QWidget


class MonitorWindow(QWidget):
    """Frameless, drawn whole by its owner.

    Parameters
    ----------
    monitor : QScreen
    title : str
    """

    def __init__(self, monitor: QScreen, title: str) -> None:
        super().__init__(None, Qt.WindowType.Window | Qt.WindowType.FramelessWindowHint)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._monitor = monitor
        self._watched = True
        monitor.geometryChanged.connect(self._geometry_changed)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.screenRemoved.connect(self._screen_removed)

    def monitor_changed(self, why: str) -> None:
        """Be told that the monitor is not what it was: "resolution changed" or "monitor unplugged"."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Learn nothing more of monitors: the window is about to close."""
        if self._watched:
            self._watched = False
            app = QGuiApplication.instance()
            if isinstance(app, QGuiApplication):
                app.screenRemoved.disconnect(self._screen_removed)

    def _geometry_changed(self) -> None:
        if self._watched:
            self.monitor_changed("resolution changed")

    def _screen_removed(self, gone: QScreen | None) -> None:
        if self._watched and (gone is None or gone is self._monitor):
            self.monitor_changed("monitor unplugged")
