"""What stands beside the charts: one tab a subject."""

from __future__ import annotations

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QKeySequence
from PyQt6.QtWidgets import QFrame, QPushButton, QScrollArea, QTabWidget, QVBoxLayout, QWidget

PANEL_WIDTH = 404


class SideTabs(QTabWidget):
    """Tabs of a fixed width; `addTab(widget, title)` adds a subject.

    Parameters
    ----------
    width_px : int
        Logical px.
    """

    def __init__(self, width_px: int = PANEL_WIDTH, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(width_px)
        self.setDocumentMode(True)
        bar = self.tabBar()
        if bar is not None:
            bar.setDrawBase(False)
            bar.setUsesScrollButtons(True)
        self.setAccessibleName(self.tr("Beside the charts"))

    def toggle(self) -> QPushButton:
        """Make a button that shows and hides the tabs, so that the charts have more room."""
        out = QPushButton(self.tr("Details"))
        out.setCheckable(True)
        out.setChecked(True)
        out.setAutoDefault(False)
        out.setShortcut(QKeySequence("F2"))
        out.setToolTip(self.tr("Show or hide what stands beside the charts (F2)"))
        out.toggled.connect(self.setVisible)
        return out


def scrolled(*widgets: QWidget, stretch: int = -1) -> QScrollArea:
    """Stack widgets in an area that scrolls down where there is too little height.

    Parameters
    ----------
    *widgets : QWidget
    stretch : int
        Which of them takes the height that is left.
    """
    inner = QWidget()
    lines = QVBoxLayout(inner)
    lines.setContentsMargins(0, 8, 0, 0)
    lines.setSpacing(10)
    for index, widget in enumerate(widgets):
        lines.addWidget(widget, int(index == stretch))
    if stretch < 0:
        lines.addStretch(1)
    out = QScrollArea()
    out.setWidget(inner)
    out.setWidgetResizable(True)
    out.setFrameShape(QFrame.Shape.NoFrame)
    out.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    out.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return out
