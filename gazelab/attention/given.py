"""Doors to what only a checkpoint can do: read a given answer, and tell what a patch looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gazelab.attention.base import AttentionModel
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

if TYPE_CHECKING:
    from gazelab.attention.huggingface import HuggingFaceModel
    from gazelab.attention.vision import VisionLook


def given_answer(model: AttentionModel, picture: Picture, question: str, answer: str) -> AttentionTrace:
    """Put an answer into a checkpoint's mouth and keep the look of each of its tokens (teacher forcing).

    Parameters
    ----------
    model : AttentionModel
    picture : Picture
    question, answer : str
        The answer is read exactly as it is: a leading space counts.

    Raises
    ------
    AttentionError
        The answer is empty, or the model is no checkpoint.
    """
    from gazelab.attention.forced import forced_trace

    return forced_trace(_checkpoint(model, "given an answer"), picture, question, answer)


def patch_look(model: AttentionModel, picture: Picture, question: str, row: int, col: int) -> VisionLook:
    """Tell what a patch of the main view looks at inside the vision encoder.

    Parameters
    ----------
    row, col : int
        Of the main view's grid.

    Raises
    ------
    AttentionError
        There is no such patch, the family's encoder cannot be read, or the model is no checkpoint.
    """
    from gazelab.attention.vision import vision_looks

    opened = _checkpoint(model, "asked what a patch looks at")
    parts = opened.checkpoint
    return vision_looks(parts.family, parts.model, opened.ask(picture, question), [(row, col)])[0]


def _checkpoint(model: AttentionModel, what: str) -> HuggingFaceModel:
    from gazelab.attention.huggingface import HuggingFaceModel

    if not isinstance(model, HuggingFaceModel):
        raise AttentionError(
            f"only a checkpoint can be {what}.", where=model.model_id, todo="Open one with --model."
        )
    return model
