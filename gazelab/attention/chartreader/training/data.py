"""What training needs of a chart, and how many charts become one batch of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.attention.chartreader.encoder import CELL_COLUMNS, WINDOW
from gazelab.attention.chartreader.network import NetworkConfig
from gazelab.attention.chartreader.preprocess import shrink, to_input
from gazelab.attention.chartreader.spelling import SLOTS, SpellingTokenizer

IGNORED = -100
EXTREMES = ("none", "highest", "lowest")
LINE_COLUMN_PX, LINE_ROW_PX = 4, 8
"""Size of the line reader's places on the model's picture."""

BoxNorm = tuple[float, float, float, float]
"""Left, top, right, bottom as shares of the picture's width and height."""


@dataclass(frozen=True)
class ReadingTarget:
    """What the cell at a place of the picture should tell; None where it should tell nothing.

    `x_norm`, `y_norm` are shares of the picture's width and height. `extreme` is one of `EXTREMES`.
    `drawn` names what is drawn right there ("label", "series", "number", "colour"); the rest must be
    fetched from other cells (a bar's label from below it) and is learned later.
    """

    x_norm: float
    y_norm: float
    label: str | None = None
    series: str | None = None
    number: int | None = None
    colour: str | None = None
    extreme: str | None = None
    drawn: tuple[str, ...] = ()


@dataclass(frozen=True)
class Glyph:
    """One character in the picture: where its centre lies, and its place in its word from 0."""

    x_norm: float
    y_norm: float
    character: str
    place: int


@dataclass(frozen=True)
class Word:
    """A label that is drawn in a box of the picture."""

    text: str
    box: BoxNorm


@dataclass(frozen=True)
class Look:
    """Boxes that should be looked at when the answer's character number `character` is chosen."""

    character: int
    boxes: tuple[BoxNorm, ...]


@dataclass(frozen=True)
class TrainingQuestion:
    """A question with the text to be written after it (working and answer), its kind and its looks."""

    text: str
    answer: str
    kind: str
    looks: tuple[Look, ...] = ()


@dataclass(frozen=True)
class TrainingChart:
    """A picture (height, width, 3) uint8 RGB with what can be read on it and asked about it."""

    picture: NDArray[np.uint8]
    reading: tuple[ReadingTarget, ...]
    questions: tuple[TrainingQuestion, ...]
    glyphs: tuple[Glyph, ...] = ()
    words: tuple[Word, ...] = ()


class ChartSource(Protocol):
    """Where training charts come from; handed in, so that this layer knows no chart generator."""

    @property
    def words(self) -> Sequence[str]:
        """Words, lower case, that questions know as a whole; all others are spelled."""

    @property
    def colours(self) -> Sequence[str]:
        """Colour names, a part of `words`."""

    def draw(self, rng: np.random.Generator, n_questions: int, practice: bool) -> TrainingChart:
        """One chart with up to `n_questions` questions (at least one).

        For `practice` the kinds of question may be mixed to suit learning and labels are ones that
        training may see; else as the model is scored, with labels that training never sees.
        """


@dataclass(frozen=True)
class Reading:
    """Targets of cells: `cells` (target,) indexes (picture * cell).

    `spelled` holds (target, place) letters by name, "label", "series" and "number"; `colours` and
    `extremes` are (target,) classes; `drawn` (target,) bool by name tells what is drawn at the cell itself.
    """

    cells: Tensor
    spelled: dict[str, Tensor]
    colours: Tensor
    extremes: Tensor
    drawn: dict[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """Tensors of several charts; `kinds` has one entry per text, charts' texts together.

    `glyphs` is (glyph, 4): picture, row and column of the line reader, and place in the word;
    `characters` (glyph,) are their ids. `word_cells` (word,) indexes (picture * cell), `words` are their
    letters (word, place), and `word_gates` (word, window) is 1 at the columns that belong to the word.
    `looks` is (look, 2): text and token; `look_cells` (look, cell) bool.
    """

    pictures: Tensor
    ids: Tensor
    targets: Tensor
    kinds: tuple[str, ...]
    reading: Reading
    glyphs: Tensor
    characters: Tensor
    word_cells: Tensor
    words: Tensor
    word_gates: Tensor
    looks: Tensor
    look_cells: Tensor


def collate(
    charts: Sequence[TrainingChart],
    n_questions: int,
    tokenizer: SpellingTokenizer,
    colours: Sequence[str],
    config: NetworkConfig,
) -> Batch:
    """Make a batch; a chart with too few questions repeats them so that all have `n_questions`."""
    pictures = [shrink(c.picture, config.picture_width_px, config.picture_height_px) for c in charts]
    questions = [c.questions[i % len(c.questions)] for c in charts for i in range(n_questions)]
    ids, targets, begins = _encode_texts(questions, tokenizer)
    glyphs, characters = _encode_glyphs(charts, tokenizer, config)
    word_cells, words, word_gates = _encode_words(charts, tokenizer, config)
    looks, look_cells = _encode_looks(questions, begins, config)
    return Batch(
        pictures=to_input(np.stack(pictures)),
        ids=ids,
        targets=targets,
        kinds=tuple(q.kind for q in questions),
        reading=_encode_reading(charts, tokenizer, colours, config),
        glyphs=glyphs,
        characters=characters,
        word_cells=word_cells,
        words=words,
        word_gates=word_gates,
        looks=looks,
        look_cells=look_cells,
    )


def _encode_texts(
    questions: Sequence[TrainingQuestion], tokenizer: SpellingTokenizer
) -> tuple[Tensor, Tensor, list[int]]:
    """Rows of each text, the next character where it belongs to the answer, and where that begins."""
    texts = []
    for question in questions:
        asked = tokenizer.question(question.text)
        texts.append((asked, [*tokenizer.encode(question.answer), tokenizer.end]))
    length = max(len(asked) + len(answer) for asked, answer in texts) - 1
    ids = torch.full((len(texts), length, 1 + SLOTS), tokenizer.pad)
    targets = torch.full((len(texts), length), IGNORED)
    for i, (asked, answer) in enumerate(texts):
        text = asked + [tokenizer.row(token) for token in answer[:-1]]
        ids[i, : len(text)] = torch.tensor(text)
        targets[i, len(asked) - 1 : len(text)] = torch.tensor(answer)
    return ids, targets, [len(asked) - 1 for asked, _ in texts]


def _cell_of(x_norm: float, y_norm: float, rows: int, columns: int) -> tuple[int, int]:
    row = min(rows - 1, max(0, int(y_norm * rows)))
    return row, min(columns - 1, max(0, int(x_norm * columns)))


def _encode_glyphs(
    charts: Sequence[TrainingChart], tokenizer: SpellingTokenizer, config: NetworkConfig
) -> tuple[Tensor, Tensor]:
    places, characters = [], []
    rows, columns = config.picture_height_px // LINE_ROW_PX, config.picture_width_px // LINE_COLUMN_PX
    for c, chart in enumerate(charts):
        for glyph in chart.glyphs:
            if glyph.place >= SLOTS - 1:
                continue
            row, column = _cell_of(glyph.x_norm, glyph.y_norm, rows, columns)
            places.append((c, row, column, glyph.place))
            characters.append(tokenizer.id_of(glyph.character.lower()))
    glyphs = torch.tensor(places, dtype=torch.long).reshape(-1, 4)
    return glyphs, torch.tensor(characters, dtype=torch.long)


def _encode_words(
    charts: Sequence[TrainingChart], tokenizer: SpellingTokenizer, config: NetworkConfig
) -> tuple[Tensor, Tensor, Tensor]:
    cells, gates = [], []
    offsets = np.arange(WINDOW) - (WINDOW - CELL_COLUMNS) // 2
    every = [(c, word) for c, chart in enumerate(charts) for word in chart.words]
    for c, word in every:
        left, top, right, bottom = word.box
        row, column = _cell_of((left + right) / 2, (top + bottom) / 2, config.rows, config.columns)
        cells.append((c * config.rows + row) * config.columns + column)
        centres = (column * CELL_COLUMNS + offsets + 0.5) * LINE_COLUMN_PX / config.picture_width_px
        gates.append((centres > left) & (centres < right))
    return (
        torch.tensor(cells, dtype=torch.long),
        _spelled([word.text for _, word in every], tokenizer),
        torch.from_numpy(np.array(gates, dtype=np.float32).reshape(-1, WINDOW)),
    )


def _encode_looks(
    questions: Sequence[TrainingQuestion], begins: Sequence[int], config: NetworkConfig
) -> tuple[Tensor, Tensor]:
    looks, cells = [], []
    x, y = np.arange(config.columns) / config.columns, np.arange(config.rows) / config.rows
    for i, (question, begin) in enumerate(zip(questions, begins, strict=True)):
        for look in question.looks:
            asked = np.zeros((config.rows, config.columns), bool)
            for left, top, right, bottom in look.boxes:
                across = (x < right) & (x + 1 / config.columns > left)
                asked |= np.outer((y < bottom) & (y + 1 / config.rows > top), across)
            looks.append((i, begin + look.character))
            cells.append(asked.reshape(-1))
    mask = torch.from_numpy(np.array(cells, dtype=bool).reshape(-1, config.rows * config.columns))
    return torch.tensor(looks, dtype=torch.long).reshape(-1, 2), mask


def _encode_reading(
    charts: Sequence[TrainingChart],
    tokenizer: SpellingTokenizer,
    colours: Sequence[str],
    config: NetworkConfig,
) -> Reading:
    targets = [(c, target) for c, chart in enumerate(charts) for target in chart.reading]
    cells = []
    for c, target in targets:
        row, column = _cell_of(target.x_norm, target.y_norm, config.rows, config.columns)
        cells.append((c * config.rows + row) * config.columns + column)
    colour_ids = {colour: i for i, colour in enumerate(colours)}
    every = [target for _, target in targets]
    number = [None if t.number is None else str(t.number) for t in every]
    return Reading(
        cells=torch.tensor(cells),
        spelled={
            "label": _spelled([t.label for t in every], tokenizer),
            "series": _spelled([t.series for t in every], tokenizer),
            "number": _spelled(number, tokenizer),
        },
        colours=torch.tensor([IGNORED if t.colour is None else colour_ids[t.colour] for t in every]),
        extremes=torch.tensor([IGNORED if t.extreme is None else EXTREMES.index(t.extreme) for t in every]),
        drawn={
            name: torch.tensor([name in t.drawn for t in every])
            for name in ("label", "series", "number", "colour")
        },
    )


def _spelled(words: Sequence[str | None], tokenizer: SpellingTokenizer) -> Tensor:
    """(word, place) letters up to the word's end, `IGNORED` after it and without a word."""
    rows = [[tokenizer.pad] * SLOTS if word is None else tokenizer.spell(word) for word in words]
    letters = torch.tensor(rows).reshape(-1, SLOTS)
    return letters.masked_fill(letters == tokenizer.pad, IGNORED)
