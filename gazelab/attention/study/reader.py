"""A look into the embedded chart reader: its own attention layers are listened to while it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from gazelab.attention.chartreader.model import ChartReader
from gazelab.attention.chartreader.tokenizer import SPECIAL
from gazelab.attention.embedded import LONGEST_ANSWER
from gazelab.attention.study.cloud import NOTE, cloud_of
from gazelab.attention.study.records import PositionPicture, TextStudy, TokenCloud
from gazelab.core.picture import Picture

Seen = dict[tuple[str, int], Any]


def reader_text_study(reader: ChartReader, picture: Picture, question: str) -> TextStudy:
    """Give the self-attention of the reader's words; the picture is in its cross-attention alone."""
    seen, texts, n_prompt = _answer(reader, picture, question)
    layers = range(len(reader.network.decoder.layers))
    weights = np.stack([seen["self", layer][2] for layer in layers]).astype(np.float16)
    return TextStudy(
        tuple(texts),
        n_prompt,
        0,
        tuple(layers),
        weights,
        np.zeros(weights.shape[:3], np.float32),
        "This model looks at the picture in a second step, its cross-attention; here its words are shown"
        " among themselves.",
    )


def reader_text_scores(
    reader: ChartReader, picture: Picture, question: str, layer: int, head: int
) -> NDArray[np.float32]:
    """Give one head's scores q·k before the softmax, (query, key); -inf where a token may not look."""
    seen, _, _ = _answer(reader, picture, question)
    query, key, _ = seen["self", layer]
    scores = query[head] @ key[head].T / np.sqrt(query.shape[-1])
    scores[np.triu_indices(len(scores), 1)] = -np.inf
    return np.asarray(scores, np.float32)


def reader_cloud(
    reader: ChartReader, picture: Picture, question: str, check: Callable[[], None] = lambda: None
) -> TokenCloud:
    """Lay out the vectors of the cells (in the encoder) and of the words (in the decoder)."""
    seen, texts, _ = _answer(reader, picture, question)
    config = reader.network.config
    n = config.rows * config.columns
    patch = np.full((n + len(texts), 2), -1, np.int64)
    patch[:n] = np.indices((config.rows, config.columns)).reshape(2, -1).T
    depths = min(len(reader.network.encoder.layers), len(reader.network.decoder.layers))
    vectors = (
        np.concatenate([_unit(seen["cells", depth]), _unit(seen["words", depth])])
        for depth in range(-1, depths)
    )
    note = f"{NOTE} The cells' vectors are the encoder's, the words' the decoder's."
    return cloud_of(vectors, ["", *[""] * (n - 1), *texts], patch, note, check)


def reader_positions(reader: ChartReader) -> PositionPicture:
    """Give the reader's learned position vectors of its words."""
    return PositionPicture(
        "learned",
        reader.network.positions.weight.detach().float().numpy(),
        "Each position has a learned vector, which is added to the word's vector.",
    )


def _answer(reader: ChartReader, picture: Picture, question: str) -> tuple[Seen, list[str], int]:
    """Answer, and keep what the last step saw: it reads the whole question and all of the answer but its end.

    Returns
    -------
    seen : dict
        ("self", layer) to query, key and weights, each (head, token, …); ("cells", depth) and
        ("words", depth) to vectors, (token, width), depth -1 being what goes into the first layer.
    texts : list of str
        Of the words that were read.
    n_prompt : int
        How many of them are the question's.
    """
    seen: Seen = {}
    with _listening(reader.network, seen):
        said = [step.token for step in reader.answer(picture.rgb, question, LONGEST_ANSWER)]
    texts = _texts(reader, question)
    return seen, [*texts, *said][: seen["self", 0][2].shape[-1]], len(texts)


def _texts(reader: ChartReader, question: str) -> list[str]:
    """Write the question's tokens as text; a spelled word by its letters."""
    names = reader.tokenizer.tokens
    rows = reader.tokenizer.question(question, reader.network.config.positions - LONGEST_ANSWER)
    texts = []
    for row in rows:
        first, *letters = row if isinstance(row, list) else [row]
        spelled = [names[letter] for letter in letters if names[letter] not in SPECIAL]
        texts.append("".join(spelled) or names[first])
    return texts


@contextmanager
def _listening(network: Any, seen: Seen) -> Iterator[None]:
    hooks = []

    def keep(name: str, depth: int) -> Callable[..., None]:
        def hook(module: nn.Module, given: tuple[Any, ...], out: Any) -> None:
            first = out[0] if isinstance(out, tuple) else out
            seen[name, depth] = first[0].float().numpy()
            if depth == 0:
                seen[name, -1] = given[0][0].float().numpy()

        return hook

    def keep_self(layer: int) -> Callable[..., None]:
        def hook(module: nn.Module, given: tuple[Tensor, ...], out: tuple[Tensor, Tensor]) -> None:
            seen["self", layer] = tuple(part[0].float().numpy() for part in (given[0], given[1], out[1]))

        return hook

    for depth, layer in enumerate(network.encoder.layers):
        hooks.append(layer.register_forward_hook(keep("cells", depth)))
    for depth, layer in enumerate(network.decoder.layers):
        hooks.append(layer.register_forward_hook(keep("words", depth)))
        hooks.append(layer.self_attention.attend.register_forward_hook(keep_self(depth)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.sqrt((vectors**2).mean(-1, keepdims=True) + 1e-12), np.float32)
