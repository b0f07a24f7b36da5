"""What blanking patches did to an answer, in numbers and in a sentence that says no more than they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gazelab.attention.causal.blanking import Fill

INTERVAL = (2.5, 97.5)
"""Percentiles of the draws between which 95 % of them lie."""
TOP_SHARE = 0.03
"""Share of the patches that is blanked by default."""


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """How much is tried.

    Attributes
    ----------
    n_patches : int, optional
        How many of the most attended patches are blanked; `TOP_SHARE` of those on the picture by default.
    draws : int
        How often as many others are drawn.
    curves : bool
        Blank and restore the patches step by step, too.
    curve_draws : int
        Random orders for the curves.
    shares : tuple of float
        Shares of the patches at which the curves are measured, between 0 and 1, which are always measured.
    fill : {"background", "median", "blur"}
        What stands where a patch was.
    seed : int
        Of every draw.
    """

    n_patches: int | None = None
    draws: int = 10
    curves: bool = True
    curve_draws: int = 5
    shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75)
    fill: Fill = "background"
    seed: int = 0

    @classmethod
    def quick(cls, fill: Fill = "background") -> CheckPlan:
        """Try little: five draws and no curves, for a model that takes many seconds a picture."""
        return cls(draws=5, curves=False, fill=fill)

    @property
    def n_passes(self) -> int:
        """Give the most times that the model goes over a picture."""
        single = 4 + self.draws  # the answer, what is expected of it, the attended, and what is said instead
        steps = 2 * len(self.shares) * (1 + self.curve_draws)
        return single + (steps + 1 if self.curves else 0)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a model makes of the answer that it gave to the whole picture.

    Attributes
    ----------
    probability : float
        Of the answer, all its tokens.
    token_probability : float
        Geometric mean over its tokens: exp of the mean log-probability.
    first_probability : float
        Of its first token.
    unchanged : bool
        Whether the model still gives exactly this answer.
    """

    probability: float
    token_probability: float
    first_probability: float
    unchanged: bool

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Curve:
    """The answer's probability while patches go, or come back, in one order.

    Attributes
    ----------
    shares : tuple of float
        Share of the patches that are blanked (deletion) or shown (insertion), from 0 to 1.
    probability : tuple of float
        Of the answer.
    """

    shares: tuple[float, ...]
    probability: tuple[float, ...]

    @property
    def auc(self) -> float:
        """Area under the curve by trapezoids, 0..1 (Petsiuk et al. 2018)."""
        return float(np.trapezoid(self.probability, self.shares))


@dataclass(frozen=True, slots=True)
class Curves:
    """Deletion and insertion by the map's order, and by random orders.

    A random order takes the patches that show something first: a map that only finds ink is not better.
    """

    deletion: Curve
    insertion: Curve
    random_deletion: tuple[Curve, ...]
    random_insertion: tuple[Curve, ...]

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values, the areas beside those of the random orders."""
        out: dict[str, Any] = {}
        for name, ours, random in (
            ("deletion", self.deletion, self.random_deletion),
            ("insertion", self.insertion, self.random_insertion),
        ):
            spread = spread_of([curve.auc for curve in random])
            out[name] = {
                "shares": list(ours.shares),
                "probability": list(ours.probability),
                "auc": ours.auc,
                "random_auc": spread,
                "random": [list(curve.probability) for curve in random],
            }
        return out


def spread_of(values: list[float]) -> dict[str, float | int | None]:
    """Give mean and 95 % interval of some draws; None where there are none."""
    if not values:
        return {"mean": None, "low": None, "high": None, "n": 0}
    low, high = np.percentile(values, INTERVAL)
    return {"mean": float(np.mean(values)), "low": float(low), "high": float(high), "n": len(values)}


@dataclass(frozen=True, eq=False)
class CausalCheck:
    """What blanking does to an answer.

    Attributes
    ----------
    answer : str
        The model's own, to the whole picture.
    n_tokens : int
        Of the answer.
    whole, attended : Effect
        With the whole picture, and without the most attended patches.
    instead : str or None
        What the model answers without them; None if it is the same.
    others : tuple of Effect
        Without as many others that show something, one a draw.
    patches : tuple of (int, int)
        The most attended patches, (row, col), the most attended first.
    n_others : int
        How many patches each draw of others has: as many, or as many as there are.
    area_share, others_area_share : float
        Share of the picture's pixels that is blanked; of others the mean over draws.
    showing : int
        How many of the most attended patches show something.
    curves : Curves or None
    plan : CheckPlan
    how : dict
        How the map was made.
    model_id, question : str
    """

    answer: str
    n_tokens: int
    whole: Effect
    attended: Effect
    instead: str | None
    others: tuple[Effect, ...]
    patches: tuple[tuple[int, int], ...]
    n_others: int
    area_share: float
    others_area_share: float
    showing: int
    curves: Curves | None
    plan: CheckPlan
    how: dict[str, object] = field(default_factory=dict)
    model_id: str = ""
    question: str = ""

    @property
    def others_spread(self) -> dict[str, float | int | None]:
        """Mean and 95 % interval of the answer's probability without others."""
        return spread_of([effect.probability for effect in self.others])

    def to_json(self) -> dict[str, Any]:
        """Give JSON-ready values."""
        plan = self.plan
        return {
            "model": self.model_id,
            "question": self.question,
            "answer": self.answer,
            "answer_tokens": self.n_tokens,
            "whole": self.whole.to_json(),
            "attended": self.attended.to_json(),
            "instead": self.instead,
            "others": [effect.to_json() for effect in self.others],
            "others_probability": self.others_spread,
            "others_unchanged": sum(effect.unchanged for effect in self.others),
            "patches": [list(patch) for patch in self.patches],
            "n_others": self.n_others,
            "area_share": self.area_share,
            "others_area_share": self.others_area_share,
            "showing": self.showing,
            "curves": None if self.curves is None else self.curves.to_json(),
            "fill": plan.fill,
            "seed": plan.seed,
            "draws": plan.draws,
            "map": self.how,
            "sentence": self.sentence(),
        }

    def sentence(self) -> str:
        """Say what was found, and no more."""
        n, before, after = len(self.patches), self.whole.probability, self.attended.probability
        moved = "lowers" if after < before else "raises"
        change = (
            f"leaves the probability of “{self.answer}” at {_p(after)}"
            if _p(before) == _p(after)
            else f"{moved} the probability of “{self.answer}” from {_p(before)} to {_p(after)}"
        )
        said = "" if self.instead is None else f", and the model then answers “{self.instead}”"
        return f"Blanking the {_patches(n, 'most attended ')} {change}{said}; {self._beside()}"

    def _beside(self) -> str:
        """Say what as many others do, and how the two compare."""
        if not self.others:
            return "no other patches show anything, so there is nothing to compare it with."
        spread, n = self.others_spread, len(self.others)
        mean, low, high = (float(spread[key] or 0.0) for key in ("mean", "low", "high"))
        if n == 1:
            draws = ", one draw"
        elif _p(low) == _p(high):
            draws = f" in {n} draws"
        else:
            draws = f" (middle 95 % of {n} draws: {_p(low)} to {_p(high)})"
        changed = sum(not effect.unchanged for effect in self.others)
        if changed or self.instead is not None:
            draws += f", with another answer in {changed} of {n}"
        others = _patches(self.n_others, "others that show something", bare=True)
        return f"{others}: {_p(mean)}{draws}. {self._verdict(low, high)}"

    def _verdict(self, low: float, high: float) -> str:
        """Compare only where the draws tell something, and the digits shown do."""
        after, several = self.attended.probability, len(self.others) > 1
        if several and after < low and _p(after) != _p(low):
            verdict = "The answer hangs on the attended patches more than on others."
        elif several and after > high and _p(after) != _p(high):
            verdict = "The answer hangs on the attended patches less than on others."
        else:
            verdict = "The two are not clearly different."
        return verdict if self.showing else f"{verdict} None of the attended patches shows anything."


def _p(value: float) -> str:
    """Write a probability with two digits; what rounds to 0 or 1 but is not says so."""
    if 0 < value < 0.005:
        return "below .01"
    if 0.995 <= value < 1:
        return "above .99"
    text = f"{value:.2f}"
    return text if value >= 0.995 else text.removeprefix("0")


def _patches(n: int, what: str, bare: bool = False) -> str:
    if bare:
        return f"{n} {what}" if n != 1 else f"one {what.replace('others that show', 'other that shows')}"
    return f"{n} {what}patches" if n != 1 else f"{what}patch"
