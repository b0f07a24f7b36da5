"""Shows one answer's look on a pair of charts and, where there is one, on the panel beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QObject, pyqtSignal

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.attention.methods import METHODS, Offer
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.picture import Picture
from gazelab.ui.look import ALL_TOKENS, FoundSinks, Look, Pick
from gazelab.ui.look_panel import LookPanel
from gazelab.ui.look_sums import StepSums
from gazelab.ui.model_canvas import Patch, rect_of
from gazelab.ui.pair_view import PairView

LONGEST_TITLE = 24
"""In characters: there must be room for the answer beside it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What the look is an answer to.

    Attributes
    ----------
    model : str
        As for `open_model`.
    picture : Picture
    question : str
    """

    model: str
    picture: Picture
    question: str


class Looking(QObject):
    """What is looked at, and everything that follows from it.

    Parameters
    ----------
    pair : PairView
    panel : LookPanel, optional
        Without one the mean over all layers and heads is shown.

    Attributes
    ----------
    pair : PairView
    look : Look or None
    asked : Asked or None
        What it answers; with both there is something that the model can be run on again.
    complete : bool
        Whether the answer has ended.

    Signals
    -------
    changed
        Another token, layer, head, view or method, a longer answer, or another look.
    """

    changed = pyqtSignal()

    def __init__(self, pair: PairView, panel: LookPanel | None = None) -> None:
        super().__init__(pair)
        self.pair, self._panel = pair, panel
        self.look: Look | None = None
        self.asked: Asked | None = None
        self.complete = False
        self._token = ALL_TOKENS
        self._follow = True
        self._made: dict[Pick, AttentionMap] = {}
        self._maps: list[AttentionMap] = []
        self._of: tuple[Pick, bool] | None = None
        self._shown: AttentionMap | None = None
        pair.token_chosen.connect(self._token_chosen)
        pair.model.marked.connect(lambda _patch: self._tell_patch())
        if panel is not None:
            panel.changed.connect(self.show)
            panel.measure_changed.connect(self._fill_matrix)

    @property
    def trace(self) -> AttentionTrace | None:
        """The trace so far; None while there is no token."""
        return self.look.trace if self.look is not None and self.look.n_tokens else None

    @property
    def pick(self) -> Pick:
        """What is looked at."""
        chosen = Pick() if self._panel is None else self._panel.pick()
        return replace(chosen, token=self._token)

    @property
    def shown(self) -> AttentionMap | None:
        """The map that lies on the chart."""
        return self._shown

    def made(self, pick: Pick) -> AttentionMap | None:
        """Give a map that was made with the model, if it was."""
        return self._made.get(pick)

    def clear(self) -> None:
        """Show no look."""
        self.look = self.asked = self._of = self._shown = None
        self.complete, self._token = False, ALL_TOKENS
        self._maps, self._made = [], {}
        self.pair.strip.clear()
        self.pair.set_map(None)
        self.pair.set_model_title("")
        self.pair.model.set_grid(None)
        self.pair.set_patch_note("")
        if self._panel is not None:
            self._panel.clear()
        self.changed.emit()

    def begin(self, asked: Asked | None, head: TraceHead) -> None:
        """Begin with an answer that has no token yet."""
        self.clear()
        self._follow = True
        self.asked, self.look = asked, Look.begin(head)
        self._take(self.look.trace)

    def add(self, step: TokenStep, sums: StepSums) -> None:
        """Show one more token; its map, too, unless another token was chosen meanwhile."""
        if self.look is None:
            return
        self.look.add(step, sums)
        self.pair.strip.append(step.text, step.top)
        if self._follow:
            self._token = self.look.n_tokens - 1
        self.pair.strip.choose(self._token)
        self.show()

    def finish(
        self, answer: str, sinks: FoundSinks | None, offers: tuple[Offer, ...] = (), *, whole: bool = False
    ) -> None:
        """Take what the tokens spell, what the sinks are, and which methods the model can do.

        Parameters
        ----------
        whole : bool
            Put all tokens together now, unless one was chosen meanwhile.
        """
        if self.look is None:
            return
        self.look.finish(answer, sinks)
        if whole and self._follow:
            self._token = ALL_TOKENS
            self.pair.strip.choose(ALL_TOKENS)
        self._end(offers)

    def set_look(self, asked: Asked, look: Look, offers: tuple[Offer, ...] = ()) -> None:
        """Show a complete answer, all tokens put together."""
        self.clear()
        self.asked, self.look = asked, look
        self._take(look.trace)
        self.pair.set_trace(look.trace)
        self._end(offers)

    def add_made(self, pick: Pick, made: AttentionMap) -> None:
        """Keep a map that was made with the model, and show it if it is what is looked at."""
        self._made[pick] = made
        self.show()

    def show(self) -> None:
        """Draw everything that follows from what is looked at."""
        look, pick = self.look, self.pick
        if look is None or not look.n_tokens:
            return
        fresh = self._reckon(look, pick)
        mean = look.map(pick) if pick.token == ALL_TOKENS else self._maps[pick.token]
        self._shown = self._made.get(pick, mean)
        self.pair.model.set_grid(mean.grid)
        self.pair.set_map(self._shown)
        self.pair.set_model_title(self._title(pick))
        self.pair.strip.set_maps(self._heat_of_token, fresh)
        if self._panel is not None:
            self._panel.tell(look, pick, mean, made=pick in self._made, may_run=self.complete)
            self._fill_matrix()
        self._tell_patch()
        self.changed.emit()

    def _end(self, offers: tuple[Offer, ...]) -> None:
        self.complete = True
        if self.look is not None:
            self.pair.strip.set_answer(self.look.trace.answer)
        if self._panel is not None:
            self._panel.controls.method.set_offers(offers)
        self.show()

    def _take(self, trace: AttentionTrace) -> None:
        self.pair.set_seen([view.grid for view in trace.views])
        self.pair.set_way_in(trace.note)
        if self._panel is not None:
            self._panel.set_trace(trace)

    def _token_chosen(self, token: int) -> None:
        self._token, self._follow = token, False
        self.show()

    def _reckon(self, look: Look, pick: Pick) -> list[int]:
        """Make each token's map by the picked layer and head, if it is not there yet; give which are new."""
        of = (replace(pick, token=ALL_TOKENS), look.sinks is None)
        if of != self._of:
            self._maps, self._of = [], of
        new = list(range(len(self._maps), look.n_tokens))
        self._maps += look.token_maps(pick, new)
        return [ALL_TOKENS, *new] if new else []

    def _heat_of_token(self, token: int) -> AttentionMap | None:
        if self.look is None or token >= len(self._maps):
            return None
        return (
            self.look.map(replace(self.pick, token=ALL_TOKENS)) if token == ALL_TOKENS else self._maps[token]
        )

    def _title(self, pick: Pick) -> str:
        entry = METHODS[pick.method]
        if not entry.needs_model or pick not in self._made:
            return ""
        return entry.label if len(entry.label) <= LONGEST_TITLE else entry.name

    def _fill_matrix(self) -> None:
        if self._panel is not None and self.look is not None and self.look.n_tokens:
            self._panel.fill(self.look, self.pick, self.pair.model.mark)

    def _tell_patch(self) -> None:
        """Show which tokens drew on the patch that is marked."""
        patch = self.pair.model.mark
        if patch is None or self.look is None or self._shown is None:
            self.pair.strip.set_shares(None)
            self.pair.set_patch_note("")
        else:
            self.pair.strip.set_shares([float(made.values[patch]) for made in self._maps])
            self.pair.set_patch_note(self._patch_words(patch, self._shown))
        if self._panel is not None and self._panel.asks_for_patch:
            self._fill_matrix()

    def _patch_words(self, patch: Patch, shown: AttentionMap) -> str:
        values: NDArray[np.float64] = shown.values
        if not np.isfinite(values).all():
            return self.tr("Nothing of this attention fell on the chart.")
        left, top, right, bottom = rect_of(shown.grid, patch)
        text = self.tr(
            "Row {row}, column {col}: {share:.1%} of the map, rank {rank} of {n}"
            " (x {left:.0f}–{right:.0f}, y {top:.0f}–{bottom:.0f} px)"
        )
        return text.format(
            row=patch[0], col=patch[1], left=left, right=right, top=top, bottom=bottom,
            share=float(values[patch]), rank=1 + int((values > values[patch]).sum()),
            n=int((shown.grid.inside() > 0).sum()),
        )  # fmt: skip
