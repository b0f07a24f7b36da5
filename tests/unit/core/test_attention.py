"""A trace whose parts do not fit each other is refused at once."""

from __future__ import annotations

import numpy as np
import pytest

from gazelab.core.attention import AttentionTrace
from gazelab.core.geometry import PatchGrid


def trace(
    shape: tuple[int, ...], tokens: tuple[str, ...] = ("4", "2"), layers: tuple[int, ...] = (0, 3)
) -> AttentionTrace:
    return AttentionTrace(
        model_id="m",
        revision="r",
        picture_sha256="s",
        prompt="how many?",
        tokens=tokens,
        grid=PatchGrid.stretched(3, 5, 50, 30),
        weights=np.zeros(shape, np.float16),
        layers=layers,
        text_share=np.zeros(shape[:3], np.float32),
        sink_share=np.zeros(shape[:3], np.float32),
    )


def test_a_trace_knows_its_heads() -> None:
    assert trace((2, 2, 6, 3, 5)).n_heads == 6


@pytest.mark.parametrize(
    "shape",
    [(1, 2, 6, 3, 5), (2, 1, 6, 3, 5), (2, 2, 6, 5, 3), (2, 2, 6, 15)],
    ids=["tokens", "layers", "turned", "flat"],
)
def test_V19_weights_that_do_not_fit_the_grid_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"2 tokens, 2 layers, \d+ heads and a grid of 3 x 5"):
        trace(shape)
