"""The tokens of a model's answer, one tile each; the chosen one's attention is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from PyQt6.QtCore import QSize, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QImage, QKeyEvent, QResizeEvent, QShowEvent, QWheelEvent
from PyQt6.QtWidgets import QButtonGroup, QHBoxLayout, QScrollArea, QWidget

from gazelab.core.attention import AttentionMap
from gazelab.core.picture import Picture
from gazelab.ui.canvas import Heat, heat_of
from gazelab.ui.look import ALL_TOKENS
from gazelab.ui.thumbnail import Thumbnails
from gazelab.ui.token_tile import HEIGHT_PX, THUMBNAIL, TokenTile

Top = tuple[tuple[str, float], ...]
MapOf = Callable[[int], AttentionMap | None]

_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥", "": "∅"}
_SCROLL_BAR_PX = 10


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
        self.setFixedHeight(HEIGHT_PX + _SCROLL_BAR_PX)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Tokens of the model's answer"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._inner = QWidget()
        self._row = QHBoxLayout(self._inner)
        self._row.setContentsMargins(0, 0, 0, _SCROLL_BAR_PX)
        self._row.setSpacing(6)
        self._row.addStretch(1)
        self.setWidget(self._inner)
        self._group = QButtonGroup(self)
        self._group.idClicked.connect(self._clicked)
        self._tokens: list[str] = []
        self._current = ALL_TOKENS
        self._thumbnails: Thumbnails | None = None
        self._map_of: MapOf | None = None
        self._stale: set[int] = set()
        bar = self.horizontalScrollBar()
        if bar is not None:
            bar.valueChanged.connect(lambda _value: self._draw_in_sight())

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens shown."""
        return tuple(self._tokens)

    @property
    def current(self) -> int:
        """The chosen token, or `ALL_TOKENS`."""
        return self._current

    def tile(self, index: int) -> TokenTile | None:
        """Give a token's tile, or that of `ALL_TOKENS`."""
        found = self._group.button(self._id(index))
        return found if isinstance(found, TokenTile) else None

    def set_picture(self, picture: Picture | None) -> None:
        """Take the chart that the small maps lie on, without tokens."""
        self.clear()
        ratio = self.devicePixelRatioF()
        box = QSize(round(THUMBNAIL.width() * ratio), round(THUMBNAIL.height() * ratio))
        self._thumbnails = None if picture is None else Thumbnails(picture, box)

    def clear(self) -> None:
        """Show no tokens."""
        self.set_tokens(())

    def set_tokens(self, tokens: Sequence[str], top: Sequence[Top] = ()) -> None:
        """Show a whole answer, all tokens chosen.

        Parameters
        ----------
        tokens : sequence of str
        top : sequence, one entry a token
            The next-token distribution's head.
        """
        for old in self._group.buttons():
            self._group.removeButton(old)
            self._row.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._tokens, self._stale = [], set()
        self._current = ALL_TOKENS
        for k, token in enumerate(tokens):
            self._append(token, top[k] if k < len(top) else ())
        self._make_room()
        self.choose(ALL_TOKENS)

    def append(self, token: str, top: Top = ()) -> None:
        """Add one more token, as it comes from the model."""
        self._append(token, top)
        self._make_room()

    def _append(self, token: str, top: Top) -> None:
        if not self._tokens:
            tip = self.tr("All tokens put together")
            self._add(ALL_TOKENS, self.tr("All"), self.tr("whole answer"), tip)
        number = len(self._tokens)
        self._tokens.append(token)
        p = probability(token, top)
        below = "" if math.isnan(p) else self.tr("p = {p:.2f}").format(p=p)
        self._add(number, readable(token), below, self._tip(number, top))

    def set_answer(self, answer: str) -> None:
        """Write what the tokens spell on the tile of the whole answer."""
        tile = self.tile(ALL_TOKENS)
        if tile is not None and answer.strip():
            tile.set_below(" ".join(answer.split()))
            tile.setToolTip(self.tr("All tokens put together: {answer}").format(answer=answer))
            self._make_room()

    def set_maps(self, map_of: MapOf, changed: Iterable[int]) -> None:
        """Take where small maps come from; those that changed are drawn as soon as they are in sight.

        Parameters
        ----------
        map_of : callable
            Gives the map of a token or of `ALL_TOKENS`.
        changed : iterable of int
        """
        self._map_of = map_of
        self._stale.update(changed)
        if self._stale:
            self._draw_in_sight()
            # A tile that was just added has no place yet.
            QTimer.singleShot(0, self._draw_in_sight)

    def set_shares(self, shares: Sequence[float] | None) -> None:
        """Show how much of each token's attention on the chart fell on one patch; None takes it away."""
        for k in range(len(self._tokens)):
            tile = self.tile(k)
            if tile is not None:
                tile.set_share(math.nan if shares is None else float(shares[k]))

    def choose(self, index: int) -> None:
        """Choose a token without telling anybody."""
        found = self._group.button(self._id(index))
        if found is not None:
            self._current = index
            found.setChecked(True)
            # A tile that was just added has no place yet.
            QTimer.singleShot(0, self._show_current)

    def step(self, by: int) -> None:
        """Choose the next or previous token and tell it."""
        if self._tokens:
            index = min(max(self._current + by, ALL_TOKENS), len(self._tokens) - 1)
            had_focus = isinstance(self.focusWidget(), TokenTile)
            self.choose(index)
            tile = self.tile(index)
            if had_focus and tile is not None:
                tile.setFocus()
            self.chosen.emit(index)

    def keyPressEvent(self, a0: QKeyEvent | None) -> None:
        """Left and Right step through the tokens; Home is the whole answer, End the last token."""
        match a0.key() if a0 is not None else None:
            case Qt.Key.Key_Left:
                self.step(-1)
            case Qt.Key.Key_Right:
                self.step(1)
            case Qt.Key.Key_Home:
                self.step(-len(self._tokens) - 1)
            case Qt.Key.Key_End:
                self.step(len(self._tokens) + 1)
            case _:
                super().keyPressEvent(a0)

    def resizeEvent(self, a0: QResizeEvent | None) -> None:
        """Draw what came in sight."""
        super().resizeEvent(a0)
        QTimer.singleShot(0, self._draw_in_sight)

    def showEvent(self, a0: QShowEvent | None) -> None:
        """Draw what came in sight."""
        super().showEvent(a0)
        QTimer.singleShot(0, self._draw_in_sight)

    def wheelEvent(self, a0: QWheelEvent | None) -> None:
        """Scroll sideways with a plain wheel, too."""
        bar = self.horizontalScrollBar()
        if a0 is not None and bar is not None and not a0.angleDelta().x():
            bar.setValue(bar.value() - a0.angleDelta().y())
            a0.accept()
        else:
            super().wheelEvent(a0)

    def _add(self, index: int, text: str, below: str, tip: str) -> None:
        made = TokenTile(text, below)
        made.setToolTip(tip)
        named = self.tr("Token {number}: {text}").format(number=index + 1, text=text)
        made.setAccessibleName(self.tr("Whole answer") if index == ALL_TOKENS else f"{named} {below}".strip())
        made.set_map(self._small(None))
        self._group.addButton(made, self._id(index))
        self._row.insertWidget(self._row.count() - 1, made)

    def _make_room(self) -> None:
        """Lay the tiles out now: until Qt does, a new one would squeeze the others for a moment."""
        view = self.viewport()
        if view is not None:
            wide = self._row.minimumSize().width()
            self._inner.resize(max(view.width(), wide), self._inner.height())
            self._row.activate()

    def _draw_in_sight(self) -> None:
        for index in sorted(self._stale):
            tile = self.tile(index)
            if tile is None:
                self._stale.discard(index)
            elif self._map_of is not None and not tile.visibleRegion().isEmpty():
                made = self._map_of(index)
                tile.set_map(self._small(None if made is None else heat_of(made)))
                self._stale.discard(index)

    def _small(self, heat: Heat | None) -> QImage | None:
        if self._thumbnails is None:
            return None
        image = self._thumbnails.of(heat)
        image.setDevicePixelRatio(self.devicePixelRatioF())
        return image

    def _tip(self, number: int, top: Top) -> str:
        text = self.tr("Token {number}: attention of the step that produced it").format(number=number + 1)
        likely = [f"{readable(word)}   {p:.1%}" for word, p in top]
        return "\n".join([text, self.tr("Most probable:"), *likely]) if likely else text

    def _show_current(self) -> None:
        tile = self.tile(self._current)
        if tile is not None:
            self.ensureWidgetVisible(tile)

    def _clicked(self, number: int) -> None:
        self._current = number - 1
        self.chosen.emit(self._current)

    @staticmethod
    def _id(index: int) -> int:
        """Button ids start at 0: -1 would ask Qt to number the button itself."""
        return index + 1


def probability(token: str, top: Top) -> float:
    """Give the probability of a token that was produced; NaN if it is not among the most probable.

    Alone, some tokens are spelt without the blank that they begin with.
    """
    same = [p for text, p in top if text == token] or [p for text, p in top if text.strip() == token.strip()]
    return same[0] if same else math.nan
