"""Shows one answer's look on a pair of charts and, where there is one, on the panel beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PyQt6.QtCore import QObject, pyqtSignal

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.ui.look import ALL_TOKENS, Look, Pick, Shown
from gazelab.ui.look_panel import LookPanel
from gazelab.ui.look_sums import Floats, StepSums
from gazelab.ui.model_canvas import Patch, rect_of
from gazelab.ui.pair_view import PairView, heat_of


class Looking(QObject):
    """What is looked at, and everything that follows from it.

    Parameters
    ----------
    pair : PairView
    panel : LookPanel, optional
        Without one the mean over all layers and heads is shown.

    Signals
    -------
    changed
        Another token, layer, head, view or way to put them together, a longer answer, or another look; see
        `look`, `pick` and `trace`.
    """

    changed = pyqtSignal()

    def __init__(self, pair: PairView, panel: LookPanel | None = None) -> None:
        super().__init__(pair)
        self._pair, self._panel = pair, panel
        self.look: Look | None = None
        self._token = ALL_TOKENS
        self._follow = True
        self._token_maps: Floats | None = None
        self._drawn: tuple[Pick, int] | None = None
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

    def clear(self) -> None:
        """Show no look."""
        self.look, self._token, self._token_maps, self._drawn = None, ALL_TOKENS, None, None
        self._pair.strip.clear()
        self._pair.set_shown(None)
        self._pair.model.set_grid(None)
        self._pair.set_patch_note("")
        if self._panel is not None:
            self._panel.clear()
        self.changed.emit()

    def begin(self, head: TraceHead) -> None:
        """Begin with an answer that has no token yet."""
        self.clear()
        self._follow = True
        self.look = Look.begin(head)
        self._take(self.look.trace)

    def add(self, step: TokenStep, sums: StepSums) -> None:
        """Show one more token; its map, too, unless another token was chosen meanwhile."""
        if self.look is None:
            return
        self.look.add(step, sums)
        newest = self.look.n_tokens - 1
        self._pair.strip.append(step.text, step.top)
        if self._follow:
            self._token = newest
        self._pair.strip.choose(self._token)
        self.show()

    def finish(self, answer: str, sinks: NDArray[np.bool_] | None, *, whole: bool = False) -> None:
        """Take what the tokens spell and which patches are sinks.

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
            self._pair.strip.choose(ALL_TOKENS)
        self.show()

    def set_look(self, look: Look) -> None:
        """Show a complete answer, all tokens put together."""
        self.clear()
        self.look = look
        self._take(look.trace)
        self._pair.set_trace(look.trace)
        self.show()

    def show(self) -> None:
        """Draw everything that follows from what is looked at."""
        look = self.look
        if look is None or not look.n_tokens:
            return
        pick = self.pick
        shown = look.shown(pick)
        self._pair.model.set_grid(look.grid(pick))
        self._pair.set_shown(shown)
        self._draw_tiles(look, pick)
        self._token_maps = look.token_maps(pick)
        if self._panel is not None:
            self._panel.set_shares(shown.shares, look.text_tokens(pick))
            self._fill_matrix()
        self._tell_patch()
        self.changed.emit()

    def show_made(self, made: AttentionMap | None) -> None:
        """Lay a map over the chart that was made in another way; None shows the picked one again."""
        if made is None:
            self.show()
        elif self.look is not None:
            self._pair.set_shown(Shown(made.values, made.grid, self.look.shares(self.pick)))

    def _take(self, trace: AttentionTrace) -> None:
        self._pair.set_seen([view.grid for view in trace.views])
        self._pair.set_way_in(trace.note)
        if self._panel is not None:
            self._panel.set_trace(trace)

    def _token_chosen(self, token: int) -> None:
        self._token, self._follow = token, False
        self.show()

    def _draw_tiles(self, look: Look, pick: Pick) -> None:
        """Draw the small maps that changed: all of them if another head was picked, else the newest."""
        every = replace(pick, token=ALL_TOKENS)
        done = self._drawn[1] if self._drawn is not None and self._drawn[0] == every else 0
        if done == look.n_tokens:
            return
        for token in (ALL_TOKENS, *range(done, look.n_tokens)):
            self._pair.strip.set_heat(token, heat_of(look.shown(replace(pick, token=token))))
        self._drawn = (every, look.n_tokens)

    def _fill_matrix(self) -> None:
        if self._panel is not None and self.look is not None and self.look.n_tokens:
            self._panel.fill(self.look, self.pick, self._pair.model.mark)

    def _tell_patch(self) -> None:
        """Show which tokens drew on the patch that is marked."""
        patch, maps, look = self._pair.model.mark, self._token_maps, self.look
        if patch is None or maps is None or look is None:
            self._pair.strip.set_shares(None)
            self._pair.set_patch_note("")
        else:
            self._pair.strip.set_shares([float(v) for v in maps[:, patch[0], patch[1]]])
            self._pair.set_patch_note(self._patch_words(look, patch))
        if self._panel is not None and self._panel.asks_for_patch:
            self._fill_matrix()

    def _patch_words(self, look: Look, patch: Patch) -> str:
        row, col = patch
        values, grid = look.one_view(self.pick)
        left, top, right, bottom = rect_of(grid, patch)
        rank = 1 + int((values > values[row, col]).sum())
        text = self.tr(
            "Patch row {row}, column {col} (x {left:.0f}–{right:.0f}, y {top:.0f}–{bottom:.0f} px):"
            " {share:.1%} of the map, rank {rank} of {n}"
        )
        return text.format(
            row=row, col=col, left=left, right=right, top=top, bottom=bottom,
            share=float(values[row, col]), rank=rank, n=int((grid.inside() > 0).sum()),
        )  # fmt: skip
