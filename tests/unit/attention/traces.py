"""Hand-made attention traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from gazelab.core.attention import AttentionTrace
from gazelab.core.geometry import PatchGrid


def trace(weights: Any, **changes: Any) -> AttentionTrace:
    """A trace of weights (token, layer, head, row, col) on a picture of 100 x 60 px."""
    weights = np.asarray(weights, np.float16)
    n_tokens, n_layers, _, rows, cols = weights.shape
    sink = np.full(weights.shape[:3], 0.25, np.float32)
    values: dict[str, Any] = {
        "model_id": "lab/tiny model",
        "revision": "abc",
        "picture_sha256": "0" * 64,
        "prompt": "What is the value of “größte” 图表?",
        "tokens": tuple(f" t{i}" for i in range(n_tokens)),
        "grid": PatchGrid.stretched(rows, cols, 100, 60),
        "weights": weights,
        "layers": tuple(range(n_layers)),
        "text_share": (1 - weights.sum((-2, -1), dtype=np.float32) - sink).astype(np.float32),
        "sink_share": sink,
    }
    return AttentionTrace(**{**values, **changes})


def uniform(tokens: int = 2, layers: int = 3, heads: int = 4, rows: int = 3, cols: int = 5) -> Any:
    """Weights that spread half of the attention evenly over the picture."""
    return np.full((tokens, layers, heads, rows, cols), 0.5 / (rows * cols))
