"""Put a question to a model again with its answer given: what it expects of each token, and how it looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

if TYPE_CHECKING:
    from gazelab.attention.methods.recorded import Recorded

Check = Callable[[], None]
"""Called often; whatever it raises stops the run."""


def never() -> None:
    """Stop nothing."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What a model expects while a given answer is put into its mouth.

    Attributes
    ----------
    log_probs : numpy.ndarray, shape (token,), float64
        Natural logarithm of the probability of each token, given those before it.
    unchanged : bool
        Whether the model, left alone, would say exactly this answer.
    """

    log_probs: NDArray[np.float64]
    unchanged: bool


class Rerun(Protocol):
    """A model that can be run on an answer that it gave."""

    def answer(self, picture: Picture, question: str, max_tokens: int, check: Check = never) -> list[int]:
        """Answer greedily; token ids without the end mark."""

    def text(self, ids: Sequence[int]) -> str:
        """Give the answer that the tokens spell."""

    def expect(
        self, picture: Picture, question: str, ids: Sequence[int], max_tokens: int, check: Check = never
    ) -> Expected:
        """Put the answer into the model's mouth; `max_tokens` is where it would have been cut off."""

    def record(
        self,
        picture: Picture,
        question: str,
        ids: Sequence[int],
        *,
        gradients: bool = False,
        check: Check = never,
    ) -> Recorded:
        """Put the answer into the model's mouth and keep every layer's queries, keys and values."""

    def told(self) -> AbstractContextManager[None]:
        """Give a context in which memory that runs out is told in words."""

    def refuse(self, needs: str) -> str:
        """Say why something cannot be had of this model ("values", "gradients", …); "" if it can."""


def rerun_of(model: AttentionModel | Any) -> Rerun:
    """Find how a model is run again.

    Raises
    ------
    AttentionError
        It is of neither kind that gazelab opens.
    """
    from gazelab.attention.embedded import EmbeddedChartReader
    from gazelab.attention.huggingface import HuggingFaceModel

    if isinstance(model, EmbeddedChartReader):
        from gazelab.attention.methods.rerun_embedded import RerunEmbedded

        return RerunEmbedded(model)
    if isinstance(model, HuggingFaceModel):
        from gazelab.attention.methods.rerun_huggingface import RerunHuggingFace

        return RerunHuggingFace(model)
    raise AttentionError(
        "it cannot be run again on its own answer, only looked at.",
        where=str(getattr(model, "model_id", type(model).__name__)),
        todo="Use mean, max, raw or relative.",
    )
