"""One door to the looks into a model, whichever it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import AttentionModel
from gazelab.attention.embedded import EmbeddedChartReader
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.attention.study import cloud, positions, reader, text
from gazelab.attention.study.records import PositionPicture, TextStudy, TokenCloud
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


def text_study(model: AttentionModel, picture: Picture, trace: AttentionTrace) -> TextStudy:
    """Give the attention of the words of a question and its answer among themselves.

    Parameters
    ----------
    model : AttentionModel
        The one that the trace is of.
    picture : Picture
    trace : AttentionTrace

    Raises
    ------
    AttentionError
        The trace holds no answer, or the model cannot be looked into.
    """
    if isinstance(model, EmbeddedChartReader):
        return reader.reader_text_study(model.reader, picture, trace.prompt)
    return text.text_study(_opened(model), picture, trace.prompt, trace.token_ids)


def text_scores(
    model: AttentionModel, picture: Picture, trace: AttentionTrace, layer: int, head: int
) -> NDArray[np.float32]:
    """Give one head's scores q·k before the softmax, (query, key), in the order of `text_study`'s tokens."""
    if isinstance(model, EmbeddedChartReader):
        return reader.reader_text_scores(model.reader, picture, trace.prompt, layer, head)
    return text.text_scores(_opened(model), picture, trace.prompt, trace.token_ids, layer, head)


def token_cloud(
    model: AttentionModel,
    picture: Picture,
    trace: AttentionTrace,
    check: Callable[[], None] = lambda: None,
) -> TokenCloud:
    """Give the vectors of words and patches at each depth, in three dimensions; `check` may stop it."""
    if isinstance(model, EmbeddedChartReader):
        return reader.reader_cloud(model.reader, picture, trace.prompt, check)
    return cloud.token_cloud(_opened(model), picture, trace.prompt, trace.token_ids, check)


def position_picture(model: AttentionModel) -> PositionPicture:
    """Give a model's position encoding as a picture."""
    if isinstance(model, EmbeddedChartReader):
        return reader.reader_positions(model.reader)
    return positions.position_picture(_opened(model).checkpoint.model)


def _opened(model: AttentionModel) -> HuggingFaceModel:
    if not isinstance(model, HuggingFaceModel):
        raise AttentionError("this model cannot be looked into.", where=model.model_id)
    return model
