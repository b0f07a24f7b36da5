"""The embedded chart reader as an `AttentionModel`: it records its own cross-attention and needs no tap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gazelab.attention.base import LOOKING_HEAD, MAX_TOKENS, TokenStep, TraceHead, trace_of
from gazelab.attention.chartreader.model import AnswerStep, ChartReader
from gazelab.attention.grids import chartreader as grid_file
from gazelab.attention.prompt import refuse_what_is_no_text
from gazelab.core.attention import AttentionTrace
from gazelab.core.picture import Picture

LONGEST_ANSWER = 16
"""Its positions are few: more room for the answer would leave less for the question."""


class EmbeddedChartReader:
    """A small teaching model; for research use a published checkpoint.

    Parameters
    ----------
    reader : ChartReader
        With weights loaded.
    """

    kind = "cross"
    about = (
        "The embedded chart reader is a small teaching model trained on drawn charts;"
        " for research open a published checkpoint instead."
    )

    def __init__(self, reader: ChartReader) -> None:
        self.reader = reader
        config = reader.network.config
        self.model_id = reader.model_id
        self.revision = reader.revision
        self.layers = tuple(range(config.decoder_layers))
        self.n_heads = config.heads

    @classmethod
    def open(cls, path: Path | None = None) -> EmbeddedChartReader:
        """Load the weights in the package, or others in the same form.

        Raises
        ------
        AttentionError
            They are missing or broken.
        """
        return cls(ChartReader.load(path))

    def head(self, picture: Picture, question: str) -> TraceHead:
        """Lay the model's cells over a picture, and tell how it comes in and with which software."""
        refuse_what_is_no_text(question)
        config = self.reader.network.config
        size = f"{config.picture_width_px} x {config.picture_height_px}"
        unknown = self.reader.unknown_words(question)
        words = f" Words that it does not know: {', '.join(unknown)}." if unknown else ""
        whole = len(self.reader.tokenizer.question(question))
        if whole > config.positions - LONGEST_ANSWER:
            words += " The question is longer than what it reads: its end may be cut off."
        return TraceHead(
            self.model_id,
            self.revision,
            picture.sha256,
            question,
            grid_file.grid(config.rows, config.columns, picture.width_px, picture.height_px),
            self.layers,
            self.n_heads,
            self.kind,
            f"The picture is stretched to {size} px.{words}",
            {
                "torch": torch.__version__,
                "processor": "gazelab.chartreader.preprocess",
                "input_px": size,
                **_looking(self.reader.facts),
            },
        )

    def stream(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> Iterator[TokenStep]:
        """Answer a question, token by token."""
        refuse_what_is_no_text(question)
        for step in self.reader.answer(picture.rgb, question, min(max_tokens, LONGEST_ANSWER)):
            yield _token_step(step)

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        """Give the answer without the working that may stand before it."""
        return self.reader.answer_text(
            [AnswerStep(s.text, s.token_id, s.top[0][1], s.top, s.weights.astype(np.float32)) for s in steps]
        )

    def trace(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> AttentionTrace:
        """Answer a question and keep the whole look."""
        steps = list(self.stream(picture, question, max_tokens))
        return trace_of(self.head(picture, question), steps, self.answer_text(steps))


def _looking(facts: dict[str, Any]) -> dict[str, str]:
    """Name the head that points at what is asked, as its card found it on charts that it had not seen."""
    held_out = facts.get("held_out", {})
    for scores in (*held_out.get("by_labels", {}).values(), held_out):
        found = scores.get("attention")
        if found:
            return {LOOKING_HEAD: f"{found['layer']},{found['head']}"}
    return {}


def _token_step(step: AnswerStep) -> TokenStep:
    none = np.zeros(step.weights.shape[:2], np.float32)  # all of its cross-attention falls on the picture
    return TokenStep(step.token, step.token_id, step.top, step.weights.astype(np.float16), none, none)
