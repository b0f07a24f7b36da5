"""Begin training with the weights of a file: what fits is taken, what is new starts fresh."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from gazelab.attention.chartreader.network import ChartReaderNetwork
from gazelab.attention.chartreader.spelled_embedding import SpelledEmbedding
from gazelab.attention.chartreader.spelling import SpellingTokenizer
from gazelab.attention.chartreader.training.checkpoint import part
from gazelab.core.errors import AttentionError

log = logging.getLogger(__name__)

HEADS = "heads."
"""Prefix, in a weight file, of the read-outs that only training uses."""
_TOKENS, _PLACES = "embedding.weight", "embedding.places"


@torch.no_grad()
def warm_start(
    network: ChartReaderNetwork, heads: nn.Module, tokenizer: SpellingTokenizer, path: Path
) -> tuple[str, ...]:
    """Copy into a network every tensor of a weight file that has the same name and shape.

    Vectors of tokens go by the token's name, so the vocabulary may have changed. A character that was a
    token of its own but has no vectors by place yet begins every place with that token's vector.

    Returns
    -------
    Names of the tensors that start fresh.

    Raises
    ------
    AttentionError
        The file, or the JSON beside it, is missing or broken.
    """
    try:
        tensors = {name: value.float() for name, value in load_file(path).items()}
        tokens = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["tokens"]
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as fault:
        raise AttentionError(
            f"these weights cannot be started from ({fault}).",
            where=path,
            todo="Give a weight file that gazelab wrote, with its JSON beside it.",
        ) from fault
    fresh = _copy(network, {n: v for n, v in tensors.items() if not n.startswith(HEADS)})
    fresh += [HEADS + name for name in _copy(heads, part(tensors, HEADS))]
    if _TOKENS in tensors and isinstance(network.embedding, SpelledEmbedding):
        _copy_tokens(network.embedding, tokenizer, tensors[_TOKENS], tokens, _PLACES in fresh)
    log.info("started from %s; fresh: %s", path, ", ".join(fresh) or "nothing")
    return tuple(fresh)


def _copy(module: nn.Module, tensors: Mapping[str, Tensor]) -> list[str]:
    fresh = []
    for name, own in module.state_dict().items():
        if name in tensors and tensors[name].shape == own.shape:
            own.copy_(tensors[name])
        else:
            fresh.append(name)
    return fresh


def _copy_tokens(
    embedding: SpelledEmbedding,
    tokenizer: SpellingTokenizer,
    vectors: Tensor,
    tokens: Sequence[str],
    places_are_fresh: bool,
) -> None:
    width = embedding.weight.shape[1]
    if vectors.ndim != 2 or vectors.shape != (len(tokens), width):
        return
    rows = {token: i for i, token in enumerate(tokens)}
    for i, token in enumerate(tokenizer.tokens):
        if token not in rows:
            continue
        embedding.weight[i] = vectors[rows[token]]
        if places_are_fresh and i < tokenizer.n_characters:
            embedding.places[:, i] = vectors[rows[token]]
