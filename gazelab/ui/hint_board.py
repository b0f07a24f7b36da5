"""Hints side by side, each with a mark before it, so that colour isn't all that tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from gazelab.ui.hints import Hint
from gazelab.ui.parts import label, set_role

MARKS = {"good": "✓ ", "warn": "! ", "bad": "✕ "}
PLACES = 6


class HintBoard(QWidget):
    """Shows up to six hints.

    Parameters
    ----------
    columns : int
        How many stand side by side.
    """

    def __init__(self, columns: int = 3, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(4)
        self._places = [label("", "muted", wrap=True) for _ in range(PLACES)]
        for k, place in enumerate(self._places):
            grid.addWidget(place, k // columns, k % columns, Qt.AlignmentFlag.AlignTop)
        for column in range(columns):
            grid.setColumnStretch(column, 1)

    @property
    def texts(self) -> list[str]:
        """What is shown, with marks."""
        return [place.text() for place in self._places if place.text()]

    def show_hints(self, said: Sequence[Hint]) -> None:
        """Show these; their order stays, so that a sentence keeps its place."""
        for k, place in enumerate(self._places):
            hint = said[k] if k < len(said) else None
            text = "" if hint is None else MARKS.get(hint.role, "") + hint.text
            if place.text() != text:
                place.setText(text)
            set_role(place, "muted" if hint is None else hint.role)
        self._keep_room()

    def _keep_room(self) -> None:
        """Grow for sentences that wrap, and never shrink: the picture above must not jump with each hint."""
        layout = self.layout()
        if layout is not None and self.width() > 0:
            self.setMinimumHeight(max(self.minimumHeight(), layout.totalHeightForWidth(self.width())))
