"""What every model gives: an answer token by token, each token with its look at the picture.

Two kinds of model meet here. The embedded chart reader computes its cross-attention in its own code and hands
it over with each token (`gazelab.attention.embedded`). Hugging Face models are read through
`gazelab.attention.tap`, and a grid file lays their picture tokens over the picture
(`gazelab.attention.huggingface`). Importing this module loads neither torch nor transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.hub_download import Progress, silent
from gazelab.core.attention import AttentionTrace, LookView
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture

EMBEDDED = "chartreader"
"""The name under which the embedded model is opened."""
MAX_TOKENS = 32

LOOKING_HEAD = "looking_head"
"""Key of `made_with`: the head that a model's card names as the one that looks at what is asked."""

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
        Attention of the position that predicts this token, to each patch of the main view.
    text_share, sink_share : numpy.ndarray, shape (layer, head), float32
        What fell on text, and on the sequence's first token; with the share of all views they make 1.
    other_weights : tuple of numpy.ndarray, each (layer, head, row, col), float16
        The same to the patches of the other views, in the order of `TraceHead.other_grids`.
    text_weights : numpy.ndarray, shape (layer, head, text key), float16, or None
        To the prompt's tokens that are no patch, and then to the answer's tokens so far.
    """

    text: str
    token_id: int
    top: tuple[tuple[str, float], ...]
    weights: NDArray[np.float16]
    text_share: NDArray[np.float32]
    sink_share: NDArray[np.float32]
    other_weights: tuple[NDArray[np.float16], ...] = ()
    text_weights: NDArray[np.float16] | None = None


@dataclass(frozen=True, eq=False)
class TraceHead:
    """What is known of a look before the first token; the fields are `AttentionTrace`'s.

    Attributes
    ----------
    other_grids : tuple of (str, PatchGrid)
        Name and grid of each view beside the main one.
    """

    model_id: str
    revision: str
    picture_sha256: str
    prompt: str
    grid: PatchGrid
    layers: tuple[int, ...]
    n_heads: int
    kind: str = "self"
    note: str = ""
    made_with: dict[str, str] = field(default_factory=dict)
    view: str = "picture"
    other_grids: tuple[tuple[str, PatchGrid], ...] = ()
    prompt_tokens: tuple[str, ...] = ()
    picture_at: int = 0


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

    def head(self, picture: Picture, question: str) -> TraceHead:
        """Tell all that is known before the first token: the grid, what a reader must know, the software."""

    def stream(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> Iterator[TokenStep]:
        """Answer a question; each token as soon as it is known. Closing the iterator stops the model."""

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        """Give the answer that the steps spell."""

    def trace(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> AttentionTrace:
        """Answer a question and keep the whole look."""


def open_model(
    name: str,
    device: str = "cpu",
    *,
    dtype: str = "auto",
    online: bool = False,
    trust_remote_code: bool = False,
    grid_file: Path | None = None,
    revision: str | None = None,
    quant: str | None = None,
    progress: Progress = silent,
    check: Callable[[], None] = lambda: None,
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
    grid_file : Path, optional
        A Python file of the user's own that lays a family's tokens over the picture; see
        `gazelab.attention.grids`.
    revision : str, optional
        Of a checkpoint of the hub: a branch, a tag or a commit.
    quant : str, optional
        "4bit" or "8bit", where a library that can is installed.
    progress : callable
        Told of a download: (what, bytes done, bytes in all), first before anything is fetched.
    check : callable
        Called while a download runs; what it raises ends it, and the next one goes on from there.

    Returns
    -------
    AttentionModel

    Raises
    ------
    AttentionError
        There is no such model, it cannot be read, or its family has no grid file.
    """
    if name == EMBEDDED:
        _refuse_options(device, dtype=dtype, grid_file=grid_file, revision=revision, quant=quant)
        from gazelab.attention.embedded import EmbeddedChartReader

        return EmbeddedChartReader.open()
    from gazelab.attention.huggingface import HuggingFaceModel

    return HuggingFaceModel.open(
        name,
        device,
        dtype=dtype,
        online=online,
        trust_remote_code=trust_remote_code,
        grid_file=grid_file,
        revision=revision,
        quant=quant,
        progress=progress,
        check=check,
    )


def _refuse_options(device: str, **others: object) -> None:
    """Say what the embedded model has no use for, rather than do something else than was asked."""
    if device != "cpu":
        raise AttentionError(
            f"it runs on the CPU only, not on {device}.", where=EMBEDDED, todo="Leave the device out."
        )
    given = [name for name, value in others.items() if value not in (None, "auto", "float32")]
    if given:
        raise AttentionError(
            f"it is one file that ships with gazelab, and takes no {given[0].replace('_', ' ')}.",
            where=EMBEDDED,
            todo="Leave it out, or open a checkpoint.",
        )


def looking_head(made_with: Mapping[str, str]) -> tuple[int, int] | None:
    """Give the layer and head that a model's own card names, if it names one.

    Such a head was chosen on questions with known places, never on anybody's gaze.
    """
    told = made_with.get(LOOKING_HEAD, "").split(",")
    return (int(told[0]), int(told[1])) if len(told) == 2 else None


def trace_of(head: TraceHead, steps: Sequence[TokenStep], answer: str) -> AttentionTrace:
    """Put the steps of a `stream` together, so that a live answer need not be run again.

    Parameters
    ----------
    head : TraceHead
        Of the same picture and question.
    steps : sequence of TokenStep
        All so far.
    answer : str
        What they spell.
    """
    heads = (len(head.layers), head.n_heads)
    known = {f.name: getattr(head, f.name) for f in fields(head) if f.name not in ("n_heads", "other_grids")}
    others = [
        LookView(
            name,
            grid,
            _stacked([s.other_weights[i] for s in steps], (*heads, grid.rows, grid.cols), np.float16),
        )
        for i, (name, grid) in enumerate(head.other_grids)
    ]
    return AttentionTrace(
        tokens=tuple(step.text for step in steps),
        weights=_stacked([s.weights for s in steps], (*heads, head.grid.rows, head.grid.cols), np.float16),
        text_share=_stacked([s.text_share for s in steps], heads, np.float32),
        sink_share=_stacked([s.sink_share for s in steps], heads, np.float32),
        top=tuple(step.top for step in steps),
        answer=answer,
        other_views=tuple(others),
        text_weights=_text_weights(steps, heads),
        token_ids=tuple(step.token_id for step in steps),
        **known,
    )


def _stacked(parts: Sequence[NDArray[_T]], shape: tuple[int, ...], dtype: type[_T]) -> NDArray[_T]:
    out: NDArray[_T] = np.zeros((len(parts), *shape), dtype)
    for i, part in enumerate(parts):
        out[i] = part
    return out


def _text_weights(steps: Sequence[TokenStep], heads: tuple[int, int]) -> NDArray[np.float16] | None:
    """Stack rows that grow by one key a token; what was not there yet is 0."""
    rows = [step.text_weights for step in steps if step.text_weights is not None]
    if not rows or len(rows) < len(steps):
        return None
    out = np.zeros((len(rows), *heads, max(row.shape[-1] for row in rows)), np.float16)
    for i, row in enumerate(rows):
        out[i, ..., : row.shape[-1]] = row
    return out
