"""A source of tiny pictures: one coloured square, two questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gazelab.attention.chartreader.training.data import (
    Glyph,
    Look,
    ReadingTarget,
    TrainingChart,
    TrainingQuestion,
    Word,
)

INKS = {"red": (220, 30, 30), "blue": (30, 60, 220)}


@dataclass(frozen=True)
class SquareSource:
    """A square of a named colour somewhere on white."""

    words: tuple[str, ...] = ("what", "color", "is", "it", "how", "many", "red", "blue")
    colours: tuple[str, ...] = ("red", "blue")

    def draw(self, rng: np.random.Generator, n_questions: int, practice: bool) -> TrainingChart:
        colour = self.colours[int(rng.integers(2))]
        column, row = int(rng.integers(4)), int(rng.integers(3))
        picture = np.full((48, 64, 3), 255, np.uint8)
        picture[row * 16 : row * 16 + 16, column * 16 : column * 16 + 16] = INKS[colour]
        x, y = (column + 0.5) / 4, (row + 0.5) / 3
        target = ReadingTarget(x, y, colour, None, 7, colour, "none", drawn=("label", "colour"))
        box = (column / 4, row / 3, (column + 1) / 4, (row + 1) / 3)
        questions = (
            TrainingQuestion("What color is it?", colour, "colour", (Look(0, (box,)),)),
            TrainingQuestion("How many?", "1", "count"),
        )
        return TrainingChart(
            picture, (target,), questions[:n_questions], (Glyph(x, y, colour[0], 0),), (Word(colour, box),)
        )


@pytest.fixture
def squares() -> SquareSource:
    return SquareSource()


@pytest.fixture
def tiny() -> dict[str, Any]:
    """Sizes of a network that trains in a second."""
    return {
        "picture_width_px": 64,
        "picture_height_px": 48,
        "width": 32,
        "heads": 4,
        "tied_heads": 2,
        "inner_width": 64,
        "encoder_layers": 1,
        "decoder_layers": 2,
        "stem_channels": (8, 8, 16),
        "line_channels": 8,
    }
