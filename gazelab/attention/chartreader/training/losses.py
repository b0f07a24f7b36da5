"""What training asks for: read each letter and each cell, then answer, and look where the answer is.

From answers alone such a small model learns nothing for a long time; reading is a dense signal
(every letter and a dozen cells a chart, each at a known place) and comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from gazelab.attention.chartreader.encoder import Line
from gazelab.attention.chartreader.network import NetworkConfig
from gazelab.attention.chartreader.spelled_embedding import SpelledEmbedding
from gazelab.attention.chartreader.spelling import SLOTS
from gazelab.attention.chartreader.training.data import EXTREMES, IGNORED, Batch, Reading

LOOKING_LAYER, LOOKING_HEAD = 1, 1
"""The one head that is told where to look, counted from 0; all others are free."""


class ReadingHeads(nn.Module):
    """Read-outs that are used in training only.

    A cell's label is read with the token embedding itself: that is what lets a question's word find the
    cell that shows it. Its series and its number are read the same way after a turn of the vector, so that
    the three do not overlay each other; colour and rank have linear read-outs.
    """

    def __init__(self, config: NetworkConfig, colours: int) -> None:
        super().__init__()
        width = config.width
        self.line_character = nn.Linear(config.line_channels, config.characters)
        self.line_place = nn.Linear(config.line_channels, SLOTS)
        self.series = nn.Linear(width, width, bias=False)
        self.number = nn.Linear(width, width, bias=False)
        self.colour = nn.Linear(width, colours)
        self.extreme = nn.Linear(width, len(EXTREMES))
        self.sharpness = nn.Parameter(torch.tensor(2.0))
        nn.init.eye_(self.series.weight)

    def spelled(self, name: str, embedding: SpelledEmbedding, x: Tensor) -> Tensor:
        """(target, width) to logits (target, place, character)."""
        turned = x if name == "label" else (self.series if name == "series" else self.number)(x)
        return embedding.letters(turned).float() * self.sharpness


@dataclass(frozen=True)
class Loss:
    """A loss to be minimised and the shares of right predictions behind it, by name."""

    total: Tensor
    right: dict[str, float]


def line_loss(
    heads: ReadingHeads, embedding: SpelledEmbedding, line: Line, cells: Tensor, batch: Batch
) -> Loss:
    """Cross-entropy of each letter and its place at its column, and of each word at its cell.

    Also of which columns belong to the word. `line` and `cells` are the stem's.
    """
    picture, row, column, place = batch.glyphs.unbind(1)
    at = line.columns[picture, :, row, column]
    characters, places = heads.line_character(at).float(), heads.line_place(at).float()
    placed = embedding.letters(line.letters[picture, :, row, column])[torch.arange(len(place)), place]
    words = heads.spelled("label", embedding, cells.flatten(0, 1)[batch.word_cells])
    gates = line.gates.flatten(2).transpose(1, 2).flatten(0, 1)[batch.word_cells].float()
    total = (
        functional.cross_entropy(characters, batch.characters)
        + functional.cross_entropy(places, place)
        + functional.cross_entropy(placed.float() * heads.sharpness, batch.characters)
        + functional.cross_entropy(words.flatten(0, 1), batch.words.flatten(), ignore_index=IGNORED)
        + functional.binary_cross_entropy_with_logits(gates, batch.word_gates)
    )
    right = {
        "letter": _mean(characters.argmax(-1) == batch.characters),
        "place": _mean(places.argmax(-1) == place),
        "letter in place": _mean(placed.argmax(-1) == batch.characters),
        "word": _mean(((words.argmax(-1) == batch.words) | (batch.words == IGNORED)).all(-1)),
        "gate": _mean((gates > 0) == (batch.word_gates > 0.5)),
    }
    return Loss(total, right)


def reading_loss(
    heads: ReadingHeads,
    embedding: SpelledEmbedding,
    memory: Tensor,
    reading: Reading,
    colours: Sequence[int],
    fetched_weight: float = 1.0,
) -> Loss:
    """Cross-entropy of label, series, number, colour and rank at the cells that have targets.

    What is drawn at the cell itself weighs 1; what must be fetched from other cells `fetched_weight`.
    `colours` are the tokens that name the colour classes.
    """
    at_cells = memory.flatten(0, 1)[reading.cells]
    total = memory.new_zeros((), dtype=torch.float32)
    right: dict[str, float] = {}
    for name, letters in reading.spelled.items():
        drawn = reading.drawn[name]
        logits = heads.spelled(name, embedding, at_cells)
        weight = torch.where(drawn, 1.0, fetched_weight)[:, None].expand_as(letters)
        total = total + _weighted(logits.flatten(0, 1), letters.flatten(), weight.flatten())
        hit = ((logits.argmax(-1) == letters) | (letters == IGNORED)).all(-1)
        known = letters[:, 0] != IGNORED
        right |= {name: _mean(hit[known & drawn]), f"{name} fetched": _mean(hit[known & ~drawn])}
    drawn = reading.drawn["colour"]
    weight = torch.where(drawn, 1.0, fetched_weight)
    # The colour's word too: a question's "red" finds a red mark by likeness.
    named = functional.linear(at_cells, embedding.weight[list(colours)]).float() * heads.sharpness
    total = total + _weighted(named, reading.colours, weight)
    for name, logits, target in (
        ("colour", heads.colour(at_cells).float(), reading.colours),
        ("extreme", heads.extreme(at_cells).float(), reading.extremes),
    ):
        total = total + _weighted(logits, target, weight)
        right[name] = _mean((logits.argmax(-1) == target)[target != IGNORED])
    return Loss(total, right)


def _weighted(logits: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    each = functional.cross_entropy(logits, target, ignore_index=IGNORED, reduction="none")
    weight = weight * (target != IGNORED)
    return (each * weight).sum() / weight.sum().clamp(min=1e-6)


def answer_loss(logits: Tensor, batch: Batch) -> Loss:
    """Cross-entropy of the answer's characters, and the share of texts right in every one."""
    logits = logits.float()
    total = functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED)
    exact = exact_answers(logits, batch)
    return Loss(total, {"answer": _mean(exact)})


def look_loss(weights: Sequence[Tensor], batch: Batch) -> Loss:
    """-log of the share that the looking head gives to the cells that hold the answer.

    `weights` are the decoder's, (picture, head, text * token, cell) of each layer.
    """
    per_picture = len(batch.kinds) // len(batch.pictures)
    text, token = batch.looks.unbind(1)
    row = (text % per_picture) * batch.ids.shape[1] + token
    maps = weights[LOOKING_LAYER][text // per_picture, LOOKING_HEAD, row].float()
    share = (maps * batch.look_cells).sum(-1)
    if not len(share):
        return Loss(share.sum(), {"look": float("nan")})
    return Loss(-share.clamp(min=1e-6).log().mean(), {"look": float(share.detach().mean())})


def exact_answers(logits: Tensor, batch: Batch) -> Tensor:
    """(text,) bool: every character of the answer is the most probable one.

    Teacher-forced, this equals a right greedy answer: a first wrong character makes both wrong.
    """
    return ((logits.argmax(-1) == batch.targets) | (batch.targets == IGNORED)).all(-1)


def _mean(right: Tensor) -> float:
    return float(right.float().mean()) if right.numel() else float("nan")
