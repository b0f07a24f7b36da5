"""The embedded chart reader, run again on an answer that it gave: one pass over question and answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from gazelab.attention.chartreader.attention_layers import MultiHeadAttention
from gazelab.attention.chartreader.model import WORKING_SIGN
from gazelab.attention.chartreader.preprocess import shrink, to_input
from gazelab.attention.chartreader.tokenizer import SPECIAL
from gazelab.attention.embedded import LONGEST_ANSWER, EmbeddedChartReader
from gazelab.attention.methods.recorded import Block, Recorded, RecordedLayer
from gazelab.attention.methods.rerun import Check, Expected, never
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


class RerunEmbedded:
    """See `gazelab.attention.methods.rerun.Rerun`.

    Parameters
    ----------
    model : EmbeddedChartReader
    """

    def __init__(self, model: EmbeddedChartReader) -> None:
        self._opened = model
        self._reader = model.reader

    def answer(self, picture: Picture, question: str, max_tokens: int, check: Check = never) -> list[int]:
        """Answer greedily; token ids without the end mark."""
        ids = []
        for step in self._opened.stream(picture, question, max_tokens):
            check()
            ids.append(step.token_id)
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """Give the answer that the tokens spell, without the working that may stand before it."""
        return self._reader.tokenizer.decode(list(ids)).rpartition(WORKING_SIGN)[2].strip()

    def expect(
        self, picture: Picture, question: str, ids: Sequence[int], max_tokens: int, check: Check = never
    ) -> Expected:
        """Put the answer into the model's mouth, and see what it would say after it."""
        check()
        longest = min(max_tokens, LONGEST_ANSWER)
        with torch.inference_mode():
            logits, _ = self._forced(picture, question, ids, longest)
            said = logits[: len(ids)].log_softmax(-1)[range(len(ids)), list(ids)]
        best = logits.argmax(-1).tolist()
        ended = len(ids) >= longest or best[-1] == self._reader.tokenizer.end
        return Expected(said.double().numpy(), best[: len(ids)] == list(ids) and ended)

    def record(
        self,
        picture: Picture,
        question: str,
        ids: Sequence[int],
        *,
        gradients: bool = False,
        check: Check = never,
    ) -> Recorded:
        """Put the answer into the model's mouth and keep every layer's queries, keys and values."""
        check()
        network, config = self._reader.network, self._reader.network.config
        layers: dict[str, list[Any]] = {
            "encoder": [layer.attention for layer in network.encoder.layers],
            "decoder": [layer.self_attention for layer in network.decoder.layers],
            "cross": [layer.cross_attention for layer in network.decoder.layers],
        }
        kept = {
            part: tuple(RecordedLayer(number, module) for number, module in enumerate(modules))
            for part, modules in layers.items()
        }
        everything = [layer for part in kept.values() for layer in part]
        with _recording(network, everything, gradients), torch.set_grad_enabled(gradients):
            logits, asked = self._forced(picture, question, ids, LONGEST_ANSWER)
        rows = tuple(range(asked - 1, asked - 1 + len(ids)))
        grid = self._opened.head(picture, question).grid
        shape = (config.rows, config.columns)
        return Recorded(
            "cross",
            kept["decoder"],
            kept["cross"],
            kept["encoder"],
            logits[: len(ids)],
            tuple(ids),
            rows,
            config.rows * config.columns,
            (("picture", grid),),
            lambda values: (values.reshape(*values.shape[:-1], *shape),),
        )

    def told(self) -> AbstractContextManager[None]:
        """Give a context in which nothing is watched for: it takes a few megabytes."""
        return nullcontext()

    def refuse(self, needs: str) -> str:
        """Say why something cannot be had of this model: its layers give all that is asked."""
        return ""

    def _forced(
        self, picture: Picture, question: str, ids: Sequence[int], longest: int
    ) -> tuple[Tensor, int]:
        """Run question and answer in one pass.

        Returns
        -------
        logits : Tensor, shape (token + 1, vocabulary)
            Of each token, and of what would come after the last; what is no answer is -inf.
        asked : int
            Positions before the answer.
        """
        if not ids:
            raise AttentionError("an answer without tokens cannot be run again.", where=self._opened.model_id)
        network, tokenizer = self._reader.network, self._reader.tokenizer
        config = network.config
        small = shrink(picture.rgb, config.picture_width_px, config.picture_height_px)
        before: list[Any] = [*tokenizer.question(question, config.positions - longest)]
        read = [*before, *(tokenizer.row(i) for i in ids)]
        memory = network.encode(to_input(small[None]))
        logits = network.decode(torch.tensor([read]), memory)[0][0, len(before) - 1 :].float()
        barred = torch.zeros_like(logits, dtype=torch.bool)
        barred[:, [tokenizer.id_of(token) for token in SPECIAL]] = True
        barred[1:, tokenizer.end] = False  # as in the model's own answer: its first token is never the end
        return logits.masked_fill(barred, float("-inf")), len(before)


@contextmanager
def _recording(network: nn.Module, layers: Sequence[RecordedLayer], gradients: bool) -> Iterator[None]:
    """Keep what each attention layer computes with; freeze the parameters where gradients are wanted."""
    frozen = [part for part in network.parameters() if part.requires_grad]
    hooks = []
    for layer in layers:
        module = layer.module
        if not isinstance(module, MultiHeadAttention):
            raise TypeError("not an attention layer of the chart reader")
        if gradients:
            hooks.append(module.attend.register_forward_pre_hook(_with_graph))
        hooks.append(module.attend.register_forward_hook(_keeping(layer)))
    try:
        for part in frozen:
            part.requires_grad_(False)
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for part in frozen:
            part.requires_grad_(True)


def _with_graph(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Begin the graph at the first attention layer."""
    query, key, value, *rest = args
    if query.requires_grad or key.requires_grad or value.requires_grad:
        return None
    return (query, key, value.detach().requires_grad_(True), *rest)


def _keeping(layer: RecordedLayer) -> Any:
    def keep(
        module: nn.Module, args: tuple[Any, ...], output: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        query, key, value, *rest = args
        mask = rest[0] if rest else None
        by_query = output[0].transpose(1, 2)
        layer.blocks.append(
            Block(
                query.detach(),
                key.detach(),
                value.detach(),
                None if mask is None else mask[None, None],
                None,
                None,
                False,
                by_query,
                0,
                0,
            )
        )
        return by_query.transpose(1, 2), output[1]  # the graph goes on from what was kept

    return keep
