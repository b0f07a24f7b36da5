"""The two things that training asks for: read each cell, then answer.

From answers alone such a small model learns nothing for a long time; reading is a dense signal
(a dozen targets a chart, each at a known cell) and comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from gazelab.attention.chartreader.attention_layers import TokenEmbedding
from gazelab.attention.chartreader.training.data import EXTREMES, IGNORED, MAX_WORDS, Batch


class ReadingHeads(nn.Module):
    """Linear read-outs of number, colour and rank at a cell; words are read with the token embedding.

    Used in training only. That words share the token embedding is what lets a question's word find
    the cell that shows it.
    """

    def __init__(self, width: int, colours: int) -> None:
        super().__init__()
        self.tens = nn.Linear(width, 11)
        self.ones = nn.Linear(width, 10)
        self.colour = nn.Linear(width, colours)
        self.extreme = nn.Linear(width, len(EXTREMES))


@dataclass(frozen=True)
class Loss:
    """A loss to be minimised and the shares of right predictions behind it, by name."""

    total: Tensor
    right: dict[str, float]


def reading_loss(
    heads: ReadingHeads, embedding: TokenEmbedding, memory: Tensor, batch: Batch, fetched_weight: float = 1.0
) -> Loss:
    """Cross-entropy of word, tens, ones, colour and rank at the cells that have targets.

    What is drawn at the cell itself weighs 1; what must be fetched from other cells `fetched_weight`.
    """
    at_cells = memory.reshape(-1, memory.shape[-1])[batch.cells]
    weights = torch.where(batch.drawn, 1.0, fetched_weight)
    word_logits = embedding.logits(at_cells).float()
    # A cell may stand for several words (category, series, colour): each is asked of the same softmax.
    repeated = word_logits[:, None].expand(-1, MAX_WORDS, -1).reshape(-1, word_logits.shape[-1])
    total = _weighted(repeated, batch.words.reshape(-1), weights[:, 0].repeat_interleave(MAX_WORDS))
    known = (batch.words[:, 0] != IGNORED) & batch.drawn[:, 0]
    guess = word_logits.argmax(-1, keepdim=True)
    right = {"word": _mean((guess == batch.words).any(-1)[known])}
    for name, head, target, drawn in (
        ("tens", heads.tens, batch.tens, 1),
        ("ones", heads.ones, batch.ones, 1),
        ("colour", heads.colour, batch.colours, 2),
        ("extreme", heads.extreme, batch.extremes, 2),
    ):
        logits = head(at_cells).float()
        total = total + _weighted(logits, target, weights[:, drawn])
        hit, known = logits.argmax(-1) == target, target != IGNORED
        right[name] = _mean(hit[known & batch.drawn[:, drawn]])
        right[f"{name} fetched"] = _mean(hit[known & ~batch.drawn[:, drawn]])
    return Loss(total, right)


def _weighted(logits: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    each = functional.cross_entropy(logits, target, ignore_index=IGNORED, reduction="none")
    weight = weight * (target != IGNORED)
    return (each * weight).sum() / weight.sum().clamp(min=1e-6)


def answer_loss(logits: Tensor, batch: Batch) -> Loss:
    """Cross-entropy of the answer's tokens, and the share of texts right in every token."""
    logits = logits.float()
    total = functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED)
    exact = exact_answers(logits, batch)
    return Loss(total, {"answer": _mean(exact)})


def exact_answers(logits: Tensor, batch: Batch) -> Tensor:
    """(text,) bool: every token of the answer is the most probable one.

    Teacher-forced, this equals a right greedy answer: a first wrong token makes both wrong.
    """
    return ((logits.argmax(-1) == batch.targets) | (batch.targets == IGNORED)).all(-1)


def _mean(right: Tensor) -> float:
    return float(right.float().mean()) if right.numel() else float("nan")
