"""What every model gives: an answer token by token, each token with its look at the picture.

Two kinds of model meet here. The embedded chart reader computes its cross-attention in its own code and hands
it over with each token (`gazelab.attention.embedded`). Hugging Face models are read through
`gazelab.attention.tap`, and a grid file lays their picture tokens over the picture
(`gazelab.attention.huggingface`). Importing this module loads neither torch nor transformers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture

EMBEDDED = "chartreader"
"""The name under which the embedded model is opened."""
MAX_TOKENS = 32

_T = TypeVar("_T", np.float16, np.float32)


@dataclass(frozen=True, eq=False)
class TokenStep:
    """One produced token and the look that led to it.

    Attributes
    ----------
    text : str
        The token as text, leading space kept.
    token_id : int
    top : tuple of (str, float)
        The most probable next tokens with their probabilities, most probable first.
    weights : numpy.ndarray, shape (layer, head, row, col), float16
        Attention of the position that predicts this token, to each patch; the sum over the patches is the
        share that fell on the picture.
    text_share, sink_share : numpy.ndarray, shape (layer, head), float32
        What fell on text, and on the sequence's first token; with the picture's share they make 1.
    """

    text: str
    token_id: int
    top: tuple[tuple[str, float], ...]
    weights: NDArray[np.float16]
    text_share: NDArray[np.float32]
    sink_share: NDArray[np.float32]


class AttentionModel(Protocol):
    """A vision-language model whose attention can be watched while it answers.

    Attributes
    ----------
    model_id : str
        The checkpoint.
    about : str
        What a reader should know of it, in one sentence.
    kind : str
        "self" (decoder-only) or "cross" (encoder-decoder).
    layers : tuple of int
        Numbers of the layers in `TokenStep.weights`.
    n_heads : int
    """

    model_id: str
    about: str
    kind: str
    layers: tuple[int, ...]
    n_heads: int

    @property
    def revision(self) -> str:
        """The weights' hash or commit."""

    def grid(self, picture: Picture) -> PatchGrid:
        """Tell where the patches will lie on a picture."""

    def stream(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> Iterator[TokenStep]:
        """Answer a question; each token as soon as it is known. Closing the iterator stops the model."""

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        """Give the answer that the steps spell."""

    def trace(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> AttentionTrace:
        """Answer a question and keep the whole look."""

    def note(self, picture: Picture, question: str) -> tuple[str, dict[str, str]]:
        """Tell what a reader must know of the picture's and the question's way in, and the software."""


def open_model(
    name: str,
    device: str = "cpu",
    *,
    dtype: str = "auto",
    online: bool = False,
    trust_remote_code: bool = False,
) -> AttentionModel:
    """Open a model by name.

    Parameters
    ----------
    name : str
        "chartreader" for the embedded model, else a folder with a Hugging Face checkpoint or, with `online`
        or a filled cache, a checkpoint id.
    device : str
        As torch names it ("cpu", "cuda", "mps").
    dtype : str
        "auto" (as the checkpoint says), "bfloat16", "float32" or "float16".
    online : bool
        Allow a download. Off by default: nothing is fetched.
    trust_remote_code : bool
        Allow the checkpoint to run code of its own. Off by default.

    Returns
    -------
    AttentionModel

    Raises
    ------
    AttentionError
        There is no such model, it cannot be read, or its family has no grid file.
    """
    if name == EMBEDDED:
        if device != "cpu":
            raise AttentionError(
                f"it runs on the CPU only, not on {device}.", where=EMBEDDED, todo="Leave the device out."
            )
        from gazelab.attention.embedded import EmbeddedChartReader

        return EmbeddedChartReader.open()
    from gazelab.attention.huggingface import HuggingFaceModel

    return HuggingFaceModel.open(
        name, device, dtype=dtype, online=online, trust_remote_code=trust_remote_code
    )


def trace_of(
    model: AttentionModel, picture: Picture, question: str, steps: Sequence[TokenStep]
) -> AttentionTrace:
    """Put the steps of a finished `stream` together, so that a live answer need not be run again."""
    grid = model.grid(picture)
    note, made_with = model.note(picture, question)
    heads = (len(model.layers), model.n_heads)
    return AttentionTrace(
        model_id=model.model_id,
        revision=model.revision,
        picture_sha256=picture.sha256,
        prompt=question,
        tokens=tuple(step.text for step in steps),
        grid=grid,
        weights=_stacked([s.weights for s in steps], (*heads, grid.rows, grid.cols), np.float16),
        layers=model.layers,
        text_share=_stacked([s.text_share for s in steps], heads, np.float32),
        sink_share=_stacked([s.sink_share for s in steps], heads, np.float32),
        kind=model.kind,
        top=tuple(step.top for step in steps),
        answer=model.answer_text(steps),
        note=note,
        made_with=made_with,
    )


def _stacked(parts: Sequence[NDArray[_T]], shape: tuple[int, ...], dtype: type[_T]) -> NDArray[_T]:
    out: NDArray[_T] = np.zeros((len(parts), *shape), dtype)
    for i, part in enumerate(parts):
        out[i] = part
    return out
