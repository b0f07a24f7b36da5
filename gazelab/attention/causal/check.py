"""Blank the most attended patches, and as many others, and see what becomes of the answer.

A map of attention is no proof that the patches mattered (Jain and Wallace 2019, "Attention is not
explanation", arXiv:1902.10186). So the patches are taken out of the picture and the model is run again with
its own answer put into its mouth. Deletion and insertion curves are those of Petsiuk et al. 2018 ("RISE:
randomized input sampling for explanation of black-box models", arXiv:1806.07421), over patches in place of
pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import MAX_TOKENS, AttentionModel
from gazelab.attention.causal.blanking import blanked, filled, pixels_of, shows_something
from gazelab.attention.causal.result import TOP_SHARE, CausalCheck, CheckPlan, Curve, Curves, Effect
from gazelab.attention.methods.rerun import Check, Rerun, never, rerun_of
from gazelab.core.attention import AttentionMap
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

Mask = NDArray[np.bool_]
Progress = Callable[[int, int], None]


def causal_check(
    model: AttentionModel,
    picture: Picture,
    question: str,
    made: AttentionMap,
    plan: CheckPlan | None = None,
    *,
    max_tokens: int = MAX_TOKENS,
    progress: Progress = lambda done, total: None,
    check: Check = never,
) -> CausalCheck:
    """Tell what the patches that a map names do to the model's answer.

    Parameters
    ----------
    model : AttentionModel
        That the map is of.
    picture : Picture
    question : str
    made : AttentionMap
        Any map of the question on this picture, by any method.
    plan : CheckPlan, optional
        How much is tried, and so what it costs: `CheckPlan.n_passes` passes of the model over a picture.
    max_tokens : int
        Longest answer.
    progress : callable
        Called with (passes done, passes at most) after each.
    check : callable
        Called often; whatever it raises stops the check, and the model is as before.

    Raises
    ------
    AttentionError
        The map is empty or of another picture, the model gives no answer, or cannot be run again.
    """
    plan = plan or CheckPlan()
    _refuse(made, picture)
    run = _Run(rerun_of(model), picture, question, made, plan, max_tokens, progress, check)
    rng = np.random.default_rng(plan.seed)
    order = _order(made, rng)
    top = _most_attended(made, order, plan)
    mask = run.mask(top)
    whole, (attended, without) = run.expect(picture), run.without(mask)
    instead = None if attended.unchanged else run.answer(without)
    pool = np.flatnonzero((run.shown & ~mask).ravel())
    n_others = min(len(top), len(pool))
    draws = [rng.choice(pool, n_others, replace=False) for _ in range(plan.draws if n_others else 0)]
    others = [run.without(run.mask(draw))[0] for draw in draws]
    curves = _curves(run, order, whole, rng) if plan.curves else None
    run.finish()
    return CausalCheck(
        run.text,
        len(run.ids),
        whole,
        attended,
        instead,
        tuple(others),
        tuple((int(i) // made.grid.cols, int(i) % made.grid.cols) for i in top),
        n_others,
        run.area(mask),
        float(np.mean([run.area(run.mask(draw)) for draw in draws])) if draws else 0.0,
        int((run.shown & mask).sum()),
        curves,
        plan,
        dict(made.how),
        model.model_id,
        question,
    )


class _Run:
    """One question put to a model again and again, with edited pictures."""

    def __init__(
        self,
        rerun: Rerun,
        picture: Picture,
        question: str,
        made: AttentionMap,
        plan: CheckPlan,
        max_tokens: int,
        progress: Progress,
        check: Check,
    ) -> None:
        self._rerun, self._question, self._max_tokens = rerun, question, max_tokens
        self._progress, self._check = progress, check
        self._picture, self._grid = picture, made.grid
        self._done, self._total = 0, plan.n_passes
        self.plan = plan
        self._instead = filled(picture, made.grid, plan.fill)
        self.inside: Mask = made.grid.inside() > 0
        self.shown: Mask = shows_something(picture, made.grid) & self.inside
        self.ids = rerun.answer(picture, question, max_tokens, check)
        self._passed()
        if not self.ids:
            raise AttentionError("the model gives no answer to check.", todo="Ask another question.")
        self.text = rerun.text(self.ids)

    def mask(self, patches: Sequence[int] | NDArray[np.int64]) -> Mask:
        """Mark patches by their flat indices."""
        out = np.zeros(self.inside.size, bool)
        out[np.asarray(patches, np.int64)] = True
        return out.reshape(self.inside.shape)

    def area(self, mask: Mask) -> float:
        """Share of the picture's pixels that patches cover."""
        return float(pixels_of(self._grid, mask).mean())

    def expect(self, picture: Picture) -> Effect:
        """Put the answer into the model's mouth before a picture."""
        expected = self._rerun.expect(picture, self._question, self.ids, self._max_tokens, self._check)
        self._passed()
        logs = expected.log_probs
        return Effect(
            float(np.exp(logs.sum())),
            float(np.exp(logs.mean())),
            float(np.exp(logs[0])),
            bool(expected.unchanged),
        )

    def without(self, mask: Mask) -> tuple[Effect, Picture]:
        """Do so with some patches blanked."""
        edited = blanked(self._picture, self._grid, mask, self._instead)
        return self.expect(edited), edited

    def answer(self, picture: Picture) -> str:
        """Ask what the model says to an edited picture."""
        ids = self._rerun.answer(picture, self._question, self._max_tokens, self._check)
        self._passed()
        return self._rerun.text(ids)

    def finish(self) -> None:
        """Tell that no more passes come; there can be fewer than planned."""
        if self._done < self._total:
            self._progress(self._total, self._total)

    def _passed(self) -> None:
        self._check()
        self._done += 1
        self._progress(self._done, self._total)


def _refuse(made: AttentionMap, picture: Picture) -> None:
    if not np.isfinite(made.values).all():
        raise AttentionError(f"there is no map to check: {made.how.get('empty', 'it is empty')}.")
    size = (made.grid.picture_width_px, made.grid.picture_height_px)
    if size != (picture.width_px, picture.height_px):
        raise AttentionError(
            f"a map of a picture of {size[0]} x {size[1]} px on one of"
            f" {picture.width_px} x {picture.height_px} px.",
            todo="Check a map with the picture that it was made of.",
        )


def _order(made: AttentionMap, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sort the patches on the picture, the most attended first; ties in a random order."""
    inside = np.flatnonzero(made.grid.inside().ravel() > 0)
    values = made.values.ravel()[inside]
    return inside[np.lexsort((rng.random(len(inside)), -values))]


def _most_attended(made: AttentionMap, order: NDArray[np.int64], plan: CheckPlan) -> NDArray[np.int64]:
    wanted = plan.n_patches if plan.n_patches is not None else max(1, round(TOP_SHARE * len(order)))
    if not 0 < wanted < len(order):
        raise AttentionError(
            f"{wanted} patches cannot be blanked of {len(order)}.", todo="Choose a number in between."
        )
    return order[: min(wanted, int((made.values > 0).sum()))]


def _curves(run: _Run, order: NDArray[np.int64], whole: Effect, rng: np.random.Generator) -> Curves:
    """Measure the answer while patches go, and while they come back, by the map and by random orders."""
    nothing = run.without(run.inside)[0].probability
    deletion, insertion = _both(run, order, whole.probability, nothing)
    random = [
        _both(run, _random_order(run, rng), whole.probability, nothing) for _ in range(run.plan.curve_draws)
    ]
    return Curves(deletion, insertion, tuple(d for d, _ in random), tuple(i for _, i in random))


def _random_order(run: _Run, rng: np.random.Generator) -> NDArray[np.int64]:
    """Those that show something first, each kind in a random order."""
    showing = np.flatnonzero(run.shown.ravel())
    blank = np.flatnonzero((run.inside & ~run.shown).ravel())
    return np.concatenate([rng.permutation(showing), rng.permutation(blank)])


def _both(run: _Run, order: NDArray[np.int64], whole: float, nothing: float) -> tuple[Curve, Curve]:
    counts = [round(share * len(order)) for share in run.plan.shares]
    gone = [run.without(run.mask(order[:n]))[0].probability for n in counts]
    left = [run.without(run.mask(order[n:]))[0].probability for n in counts]
    shares = (0.0, *(n / len(order) for n in counts), 1.0)
    return Curve(shares, (whole, *gone, nothing)), Curve(shares, (nothing, *left, whole))
