"""What a patch looks at inside the vision encoder: its self-attention, before any word is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gazelab.attention.decoder import decoder_of
from gazelab.attention.grids.family import Asked, Family
from gazelab.attention.grids.proof import picture_tokens
from gazelab.attention.implementations import RestoredImplementations, attention_configs
from gazelab.attention.memory import told
from gazelab.attention.row_weights import row_weights
from gazelab.attention.tapped import TAP, TAPPED, register_tap
from gazelab.attention.vision_patches import Tokens, patch_tokens_of
from gazelab.core.errors import AttentionError

_TEXT = {
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "mm_token_type_ids",
    "decoder_input_ids",
    "decoder_attention_mask",
}


@dataclass(frozen=True, eq=False)
class VisionLook:
    """What one patch of the language model's grid looks at inside the vision encoder.

    Where the encoder's patches are finer than the grid, a cell's rows are averaged, its columns summed.

    Attributes
    ----------
    patch : (int, int)
        Row and column in the view.
    view : str
        The view's name.
    layers : tuple of int
        Of the vision encoder; those whose output the language model never gets are left out.
    weights : numpy.ndarray, shape (layer, head, row, col), float32
        On the view's own grid.
    other_weights : tuple of numpy.ndarray
        The same on the layout's other views, in their order; 0 where the encoder sees them apart.
    elsewhere : numpy.ndarray, shape (layer, head), float32
        On positions that are no patch of any view: a class token, padding. With the sums over all views it
        makes 1.
    """

    patch: tuple[int, int]
    view: str
    layers: tuple[int, ...]
    weights: NDArray[np.float32]
    other_weights: tuple[NDArray[np.float32], ...]
    elsewhere: NDArray[np.float32]


def vision_looks(
    family: Family,
    model: Any,
    asked: Asked,
    patches: Sequence[tuple[int, int]] | None = None,
    *,
    view: int = 0,
    layers: Collection[int] | None = None,
) -> tuple[VisionLook, ...]:
    """Run the vision encoder once more and read what chosen patches look at.

    Parameters
    ----------
    family : Family
    model : transformers.PreTrainedModel
        Left as it was.
    asked : Asked
        The picture as it goes in, as `HuggingFaceModel.ask` gives it.
    patches : sequence of (row, col), optional
        All patches of the view by default, row by row.
    view : int
        Index of the layout's view in which the patches are.
    layers : collection of int, optional
        Of the vision encoder; all by default.

    Raises
    ------
    AttentionError
        The family's vision tower bypasses the attention interface or is of an unknown build, a patch lies
        outside the grid, or memory runs out.
    """
    chosen = asked.layout.views[view]
    cells = (
        list(np.ndindex(*chosen.token.shape)) if patches is None else [(int(r), int(c)) for r, c in patches]
    )
    rows, cols = chosen.token.shape
    for row, col in cells:
        if not (0 <= row < rows and 0 <= col < cols):
            raise AttentionError(f"patch {row}, {col} is outside the grid of {rows} x {cols}.")
    inputs = {name: value for name, value in asked.tensors.items() if name not in _TEXT}
    tokens_of = patch_tokens_of(str(model.config.model_type))
    towers = _Towers(
        wanted=np.array([chosen.token[cell] for cell in cells]),
        n_tokens=asked.layout.n_tokens,
        tokens_of=lambda pictures, length: tokens_of(model.config, inputs, asked.layout, pictures, length),
        layers=layers,
    )
    with told(model), _running(model, towers):
        picture_tokens(family, model, inputs)
    numbers, weights = towers.taken(_used(model.config), type(model).__name__)
    order = [view, *(i for i in range(len(asked.layout.views)) if i != view)]
    return tuple(
        _laid(cell, of_cell, [asked.layout.views[i].token for i in order], chosen.name, numbers)
        for cell, of_cell in zip(cells, weights, strict=True)
    )


def _laid(
    cell: tuple[int, ...],
    weights: NDArray[np.float32],
    tokens: list[Tokens],
    view: str,
    layers: tuple[int, ...],
) -> VisionLook:
    """Lay one cell's weights, (layer, head, token and one more for what is no token), over the views."""
    maps = [weights[..., token] for token in tokens]
    on_views = np.concatenate([token.ravel() for token in tokens])
    beside = np.setdiff1d(np.arange(weights.shape[-1]), on_views)
    elsewhere = weights[..., beside].sum(-1)
    return VisionLook((cell[0], cell[1]), view, layers, maps[0], tuple(maps[1:]), elsewhere)


class _Towers:
    """The rows of some tokens' patches, gathered while the vision tower runs."""

    def __init__(
        self,
        wanted: Tokens,
        n_tokens: int,
        tokens_of: Callable[[int, int], Tokens],
        layers: Collection[int] | None,
    ) -> None:
        self._wanted = wanted
        self._n_tokens = n_tokens
        self._tokens_of = tokens_of
        self._layers = layers
        self._tokens: Tokens | None = None
        self._order: dict[nn.Module, int] = {}
        self._seen: dict[int, int] = {}
        self._sums: dict[int, Tensor] = {}

    def look(
        self, module: nn.Module, query: Tensor, key: Tensor, mask: Tensor | None, **options: Any
    ) -> None:
        """Take the wanted rows of one call; a layer may be called once a window."""
        batch, heads, length, _ = query.shape
        if self._tokens is None:
            self._tokens = self._tokens_of(batch, length)
        layer = self._order.setdefault(module, len(self._order))
        start = self._seen.get(layer, 0)
        self._seen[layer] = start + batch * length
        if self._layers is not None and layer not in self._layers:
            return
        if layer not in self._sums:
            shape = (len(self._wanted), heads, self._n_tokens + 1)
            self._sums[layer] = torch.zeros(shape, device=query.device)
        for i in range(batch):
            tokens = self._tokens[start + i * length :][:length]
            rows = np.flatnonzero(np.isin(tokens, self._wanted))
            if len(rows) and len(tokens) == length:
                weights = row_weights(
                    query[i : i + 1],
                    key[i : i + 1],
                    mask if mask is None or len(mask) == 1 else mask[i : i + 1],
                    rows.tolist(),
                    scaling=options.get("scaling"),
                    causal=False,
                    bias=options.get("position_bias"),
                )
                self._add(layer, tokens, rows, weights)

    def _add(self, layer: int, tokens: Tokens, rows: Tokens, weights: Tensor) -> None:
        """Sum a picture's columns by token, and put each row to its token's."""
        into = torch.from_numpy(np.where(tokens < 0, self._n_tokens, tokens)).to(weights.device)
        by_token = weights.new_zeros(*weights.shape[:2], self._n_tokens + 1)
        by_token.index_add_(-1, into, weights)
        same = tokens[rows][None] == self._wanted[:, None]
        share = torch.from_numpy(same).to(weights.device, weights.dtype)
        self._sums[layer] += torch.einsum("wr,hrt->wht", share, by_token)

    def taken(self, used: int | None, model_name: str) -> tuple[tuple[int, ...], NDArray[np.float32]]:
        """Give the layers and the weights, (wanted, layer, head, token + 1); each row's sum is 1."""
        if self._tokens is None:
            raise AttentionError(
                "its vision tower does not go through the attention interface.",
                where=model_name,
                todo="What its patches look at cannot be read.",
            )
        odd = [layer for layer, n in self._seen.items() if n != len(self._tokens)]
        n_patches = (self._tokens[None] == self._wanted[:, None]).sum(1)
        if odd or not n_patches.all():
            raise AttentionError(
                f"its vision tower saw {self._seen} positions where {len(self._tokens)} were laid out.",
                where=model_name,
            )
        layers = tuple(layer for layer in sorted(self._sums) if used is None or layer < used)
        if not layers:
            raise AttentionError("the vision tower has no such layers.", where=model_name)
        stacked = torch.stack([self._sums[layer] for layer in layers], 1).cpu().numpy()
        return layers, (stacked / n_patches[:, None, None, None]).astype(np.float32)


@contextmanager
def _running(model: Any, towers: _Towers) -> Iterator[None]:
    """Let the vision tower call `towers`, and put everything back."""
    register_tap()
    before, decoder = RestoredImplementations(model), decoder_of(model)
    spared = {id(model.config), *(id(config) for config in attention_configs(decoder).values())}
    modules = set(model.modules()) - set(decoder.modules())
    if any(module in TAPPED for module in modules):
        raise AttentionError("the vision encoder is being read already.", where=type(model).__name__)
    TAPPED.update(dict.fromkeys(modules, towers))
    try:
        for config in attention_configs(model).values():
            if id(config) not in spared:
                config._attn_implementation_internal = TAP
        yield
    finally:
        before.restore()
        for module in modules:
            TAPPED.pop(module, None)


def _used(config: Any) -> int | None:
    """How many of the vision tower's layers the language model's picture goes through; None for all."""
    at = getattr(config, "vision_feature_layer", None)
    if at is None:
        return None
    depth = int(config.vision_config.num_hidden_layers)
    listed = [int(i) for i in at] if isinstance(at, (list, tuple)) else [int(at)]
    return max(i if i >= 0 else depth + 1 + i for i in listed)
