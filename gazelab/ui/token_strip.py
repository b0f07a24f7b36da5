"""The tokens of a model's answer, one button each; the chosen one's attention is shown."""

from __future__ import annotations

from collections.abc import Sequence

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QButtonGroup, QHBoxLayout, QScrollArea, QToolButton, QWidget

ALL_TOKENS = -1
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥", "": "∅"}


def readable(token: str) -> str:
    """Write a token so that blanks show and control or partial characters do no harm."""
    out = "".join(_VISIBLE.get(c, c if c.isprintable() else "\N{REPLACEMENT CHARACTER}") for c in token)
    return out or _VISIBLE[""]


class TokenStrip(QScrollArea):
    """Choose one token, or all of them.

    Signals
    -------
    chosen : int
        Index of the token; `ALL_TOKENS` for the whole answer.
    """

    chosen = pyqtSignal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFixedHeight(52)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Tokens of the model's answer"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._inner = QWidget()
        self._row = QHBoxLayout(self._inner)
        self._row.setContentsMargins(0, 4, 0, 4)
        self._row.setSpacing(6)
        self._row.addStretch(1)
        self.setWidget(self._inner)
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self._clicked)
        self._tokens: list[str] = []
        self._current = ALL_TOKENS

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens shown."""
        return tuple(self._tokens)

    @property
    def current(self) -> int:
        """The chosen token, or `ALL_TOKENS`."""
        return self._current

    def clear(self) -> None:
        """Show no tokens."""
        self.set_tokens(())

    def set_tokens(self, tokens: Sequence[str]) -> None:
        """Show a whole answer, all tokens chosen."""
        for old in self._group.buttons():
            self._group.removeButton(old)
            self._row.removeWidget(old)
            old.deleteLater()
        self._tokens = []
        self._current = ALL_TOKENS
        if tokens:
            self._add(ALL_TOKENS, self.tr("Whole answer"), self.tr("The mean over all tokens"))
        for token in tokens:
            self.append(token)
        self.choose(ALL_TOKENS)

    def append(self, token: str) -> None:
        """Add one more token, as it comes from the model."""
        if not self._tokens and not self._group.buttons():
            self._add(ALL_TOKENS, self.tr("Whole answer"), self.tr("The mean over all tokens"))
        number = len(self._tokens)
        self._tokens.append(token)
        tip = self.tr("Token {number}: attention of the step that produced it").format(number=number + 1)
        self._add(number, readable(token), tip)

    def choose(self, index: int) -> None:
        """Choose a token without telling anybody."""
        found = self._group.button(self._id(index))
        if found is not None:
            self._current = index
            found.setChecked(True)
            self.ensureWidgetVisible(found)

    def step(self, by: int) -> None:
        """Choose the next or previous token and tell it."""
        if self._tokens:
            index = min(max(self._current + by, ALL_TOKENS), len(self._tokens) - 1)
            self.choose(index)
            self.chosen.emit(index)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Left and Right step through the tokens."""
        if a0 is not None and a0.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.step(-1 if a0.key() == Qt.Key.Key_Left else 1)
        else:
            super().keyPressEvent(a0)

    def _add(self, index: int, text: str, tip: str) -> None:
        made = QToolButton()
        made.setText(text)
        made.setToolTip(tip)
        made.setCheckable(True)
        self._group.addButton(made, self._id(index))
        self._row.insertWidget(self._row.count() - 1, made)

    def _clicked(self, number: int) -> None:
        self._current = number - 1
        self.chosen.emit(self._current)

    @staticmethod
    def _id(index: int) -> int:
        """Button ids start at 0: -1 would ask Qt to number the button itself."""
        return index + 1
