"""Small pieces that every page is laid out with."""

from __future__ import annotations

from collections.abc import Callable

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from gazelab.core.errors import GazelabError

SPACE = 12
PAGE_MARGIN = 20


def label(text: str = "", role: str = "", wrap: bool = False) -> QLabel:
    """Make a label in one of the theme's roles: title, lead, heading, muted, good, warn, bad, notice."""
    out = QLabel(text)
    out.setTextFormat(Qt.TextFormat.PlainText)
    out.setWordWrap(wrap)
    if role:
        out.setProperty("role", role)
    return out


class NoteLabel(QLabel):
    """A muted line that is cut with an ellipsis where there is no room.

    Parameters
    ----------
    at_right : bool
        Where the line stands.
    """

    def __init__(self, *, at_right: bool = True) -> None:
        super().__init__()
        self.setProperty("role", "muted")
        side = Qt.AlignmentFlag.AlignRight if at_right else Qt.AlignmentFlag.AlignLeft
        self._place = side | Qt.AlignmentFlag.AlignVCenter
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = ""

    def setText(self, a0: str | None) -> None:
        """Show a text, all of it in the tool tip."""
        if a0 == self._whole:
            return
        self._whole = a0 or ""
        self.setToolTip(self._whole)
        self._cut()

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Cut anew."""
        super().resizeEvent(a0)
        self._cut()

    def _cut(self) -> None:
        super().setText(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, self.width()))
        self.setAlignment(self._place)


def sentence(fault: GazelabError) -> str:
    """Give a fault as a sentence that stands alone; a path or a name that it begins with stays as it is."""
    text = str(fault)
    return text if fault.where else text[:1].upper() + text[1:]


def set_role(widget: QWidget, role: str) -> None:
    """Change a widget's role and its looks with it."""
    if widget.property("role") == role:
        return
    widget.setProperty("role", role)
    style = widget.style()
    if style is not None:
        style.unpolish(widget)
        style.polish(widget)


def button(text: str, do: Callable[[], object], tip: str = "", primary: bool = False) -> QPushButton:
    """Make a push button; a primary one is the page's next step."""
    out = QPushButton(text)
    out.setToolTip(tip)
    out.setAutoDefault(False)
    if primary:
        out.setProperty("role", "primary")
    out.clicked.connect(lambda _checked=False: do())
    return out


class Card(QFrame):
    """A titled box; add widgets to `body`."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(16, 12, 16, 14)
        self.body.setSpacing(8)
        if title:
            self.body.addWidget(label(title, "heading"))


class Page(QWidget):
    """A page: title, one leading sentence, content in `body`, next steps in `foot`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(PAGE_MARGIN, 16, PAGE_MARGIN, 14)
        outer.setSpacing(SPACE)
        head = QVBoxLayout()
        head.setSpacing(2)
        self.title = label("", "title")
        self.lead = label("", "lead", wrap=True)
        self.lead.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        head.addWidget(self.title)
        head.addWidget(self.lead)
        outer.addLayout(head)
        self.body = QVBoxLayout()
        self.body.setSpacing(SPACE)
        outer.addLayout(self.body, 1)
        self.foot = QHBoxLayout()
        self.foot.setSpacing(SPACE)
        outer.addLayout(self.foot)

    def set_head(self, title: str, lead: str) -> None:
        """Say what the page is and what is done on it."""
        self.title.setText(title)
        self.lead.setText(lead)

    def enter(self) -> None:
        """Be shown: start what only runs while the page is on."""

    def leave(self) -> None:
        """Be hidden: stop it again."""


def row(*widgets: QWidget | int) -> QHBoxLayout:
    """Lay widgets side by side; a number is a stretch."""
    out = QHBoxLayout()
    out.setSpacing(8)
    for widget in widgets:
        if isinstance(widget, int):
            out.addStretch(widget)
        else:
            out.addWidget(widget)
    return out
