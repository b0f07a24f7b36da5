"""Looks of known weights, to be drawn and asked of."""

from __future__ import annotations

import numpy as np

from gazelab.attention.base import TokenStep, TraceHead
from gazelab.core.geometry import PatchGrid
from gazelab.ui.look import Look
from gazelab.ui.look_sums import sums_of_step

LAYERS, HEADS = (2, 5, 7), 2


def grid(padded: bool = False) -> PatchGrid:
    """4 x 5 patches over 100 x 80 px; padded: the last column lies beside the picture."""
    width = 80 if padded else 100
    return PatchGrid(np.linspace(0, 100, 6), np.linspace(0, 80, 5), width, 80)


def head_of(*, views: bool = False, padded: bool = False) -> TraceHead:
    others = (("global", PatchGrid.stretched(2, 2, 80 if padded else 100, 80)),) if views else ()
    return TraceHead(
        "m", "r", "s", "q", grid(padded), LAYERS, HEADS, view="tiles", other_grids=others,
        prompt_tokens=("<s>", " What", "?"), picture_at=1,
    )  # fmt: skip


def steps_of(head: TraceHead, n: int, seed: int = 0) -> list[TokenStep]:
    rng = np.random.default_rng(seed)
    grids = [head.grid, *(g for _, g in head.other_grids)]
    out = []
    for k in range(n):
        n_text = 3 + k
        sizes = [g.rows * g.cols for g in grids]
        rows = rng.dirichlet(np.full(sum(sizes) + n_text, 0.3), (len(LAYERS), HEADS)).astype(np.float16)
        parts = np.split(rows, np.cumsum(sizes), axis=-1)
        looks = [
            p.reshape(len(LAYERS), HEADS, g.rows, g.cols) for p, g in zip(parts[:-1], grids, strict=True)
        ]
        text = parts[-1]
        out.append(
            TokenStep(
                f"t{k}",
                k,
                ((f"t{k}", 0.5), ("x", 0.25)),
                looks[0],
                text[..., 1:].sum(-1, dtype=np.float32),
                text[..., 0].astype(np.float32),
                tuple(looks[1:]),
                text,
            )
        )
    return out


def look_of(head: TraceHead, steps: list[TokenStep]) -> Look:
    look = Look.begin(head)
    for step in steps:
        look.add(step, sums_of_step(step))
    return look
