"""What training needs of a chart, and how many charts become one batch of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.attention.chartreader.network import NetworkConfig
from gazelab.attention.chartreader.preprocess import shrink, to_input
from gazelab.attention.chartreader.tokenizer import Tokenizer

IGNORED = -100
MAX_WORDS = 3
BLANK_TENS = 10
DRAWN = ("words", "number", "colour")
EXTREMES = ("none", "highest", "lowest")


@dataclass(frozen=True)
class ReadingTarget:
    """What the cell at a place of the picture should tell; None where it should tell nothing.

    `x_norm`, `y_norm` are shares of the picture's width and height. `extreme` is one of `EXTREMES`.
    `drawn` names what is drawn right there ("words", "number", "colour"); the rest must be fetched from
    other cells (a bar's label from below it) and is learned later.
    """

    x_norm: float
    y_norm: float
    words: tuple[str, ...] = ()
    number: int | None = None
    colour: str | None = None
    extreme: str | None = None
    drawn: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingQuestion:
    """A question with the text to be written after it (working and answer) and its kind."""

    text: str
    answer: str
    kind: str


@dataclass(frozen=True)
class TrainingChart:
    """A picture (height, width, 3) uint8 RGB with what can be read on it and asked about it."""

    picture: NDArray[np.uint8]
    reading: tuple[ReadingTarget, ...]
    questions: tuple[TrainingQuestion, ...]


class ChartSource(Protocol):
    """Where training charts come from; handed in, so that this layer knows no chart generator."""

    @property
    def words(self) -> Sequence[str]:
        """Every word, lower case, that questions and answers may use."""

    @property
    def colours(self) -> Sequence[str]:
        """Colour names, a part of `words`."""

    def draw(self, rng: np.random.Generator, n_questions: int, practice: bool) -> TrainingChart:
        """One chart with up to `n_questions` questions (at least one).

        For `practice` the kinds of question may be mixed to suit learning; else as the model is scored.
        """


@dataclass(frozen=True)
class Batch:
    """Tensors of several charts; `kinds` has one entry per text, charts' texts together.

    `drawn` is (target, 3) bool: whether words, number and colour are drawn at the cell itself.
    """

    pictures: Tensor
    ids: Tensor
    targets: Tensor
    kinds: tuple[str, ...]
    cells: Tensor
    words: Tensor
    tens: Tensor
    ones: Tensor
    colours: Tensor
    extremes: Tensor
    drawn: Tensor


def collate(
    charts: Sequence[TrainingChart],
    n_questions: int,
    tokenizer: Tokenizer,
    colours: Sequence[str],
    config: NetworkConfig,
) -> Batch:
    """Make a batch; a chart with too few questions repeats them so that all have `n_questions`."""
    pictures = [shrink(c.picture, config.picture_width_px, config.picture_height_px) for c in charts]
    questions = [c.questions[i % len(c.questions)] for c in charts for i in range(n_questions)]
    ids, targets = _encode_texts(questions, tokenizer)
    cells, words, digits = _encode_reading(charts, tokenizer, colours, config)
    tens, ones, colour_ids, extremes = torch.tensor(digits).reshape(-1, 4).unbind(1)
    return Batch(
        pictures=to_input(np.stack(pictures)),
        ids=ids,
        targets=targets,
        kinds=tuple(q.kind for q in questions),
        cells=torch.tensor(cells),
        words=torch.tensor(words).reshape(-1, MAX_WORDS),
        tens=tens,
        ones=ones,
        colours=colour_ids,
        extremes=extremes,
        drawn=torch.tensor([[k in t.drawn for k in DRAWN] for c in charts for t in c.reading]).reshape(-1, 3),
    )


def _encode_texts(questions: Sequence[TrainingQuestion], tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """Ids of question and answer, and the next token where it belongs to the answer."""
    rows = []
    for question in questions:
        asked = tokenizer.question(question.text)
        rows.append((asked, [*tokenizer.encode(question.answer), tokenizer.end]))
    length = max(len(asked) + len(answer) for asked, answer in rows) - 1
    ids = torch.full((len(rows), length), tokenizer.pad)
    targets = torch.full((len(rows), length), IGNORED)
    for i, (asked, answer) in enumerate(rows):
        text = torch.tensor(asked + answer)
        ids[i, : len(text) - 1] = text[:-1]
        targets[i, len(asked) - 1 : len(text) - 1] = text[len(asked) :]
    return ids, targets


def _encode_reading(
    charts: Sequence[TrainingChart], tokenizer: Tokenizer, colours: Sequence[str], config: NetworkConfig
) -> tuple[list[int], list[list[int]], list[tuple[int, int, int, int]]]:
    cells, words, rest = [], [], []
    colour_ids = {colour: i for i, colour in enumerate(colours)}
    for c, chart in enumerate(charts):
        for target in chart.reading:
            row = min(config.rows - 1, max(0, int(target.y_norm * config.rows)))
            column = min(config.columns - 1, max(0, int(target.x_norm * config.columns)))
            cells.append((c * config.rows + row) * config.columns + column)
            named = [tokenizer.id_of(word) for word in target.words[:MAX_WORDS]]
            words.append(named + [IGNORED] * (MAX_WORDS - len(named)))
            tens = ones = IGNORED
            if target.number is not None:
                tens = target.number // 10 if target.number >= 10 else BLANK_TENS
                ones = target.number % 10
            colour = colour_ids[target.colour] if target.colour is not None else IGNORED
            extreme = EXTREMES.index(target.extreme) if target.extreme is not None else IGNORED
            rest.append((tens, ones, colour, extreme))
    return cells, words, rest
