"""Any image-text-to-text checkpoint through the tap and its family's grid."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from gazelab.attention.base import MAX_TOKENS, TokenStep, TraceHead, trace_of
from gazelab.attention.captured import TapRow
from gazelab.attention.checkpoint import Checkpoint, open_checkpoint
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.decoder import attention_modules, can_be_tapped, decoder_of, n_heads
from gazelab.attention.eager import eager_memory_bytes
from gazelab.attention.generation import Top, answer_text, generate_answer, interruptible, token_text
from gazelab.attention.grids.family import Asked, ask
from gazelab.attention.hub_download import Progress, silent
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.memory import MemoryEstimate, estimate
from gazelab.attention.prompt import escape_special, refuse_what_is_no_text
from gazelab.attention.pushed import pulled
from gazelab.attention.rows import predicting_row
from gazelab.attention.tap import AttentionTap
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

log = logging.getLogger(__name__)

INSTRUCTION = "Answer with a single word or number."
EAGER_BUDGET_BYTES = 4_000_000_000


class HuggingFaceModel:
    """A checkpoint whose attention to a chart can be watched while it answers.

    Parameters
    ----------
    checkpoint : Checkpoint
    instruction : str
        Put after each question, so that the answer is short; stored with every trace. Empty for families
        that do not follow one.
    """

    def __init__(self, checkpoint: Checkpoint, instruction: str = INSTRUCTION) -> None:
        self.checkpoint = checkpoint
        self.instruction = instruction if checkpoint.family.instructed else ""
        self.model_id = checkpoint.name
        self.kind: str = checkpoint.family.kind
        decoder = decoder_of(checkpoint.model)
        self.layers = tuple(sorted(set(attention_modules(decoder, checkpoint.family.kind).values())))
        self.n_heads = n_heads(decoder)
        self._last: tuple[str, str, Asked] | None = None
        self.about = (
            f"{checkpoint.config.model_type}, {_count(checkpoint.model.num_parameters())} parameters."
        )

    @classmethod
    def open(
        cls,
        name: str,
        device: str = "cpu",
        *,
        dtype: str = "auto",
        online: bool = False,
        trust_remote_code: bool = False,
        grid_file: Path | None = None,
        revision: str | None = None,
        quant: str | None = None,
        progress: Progress = silent,
        check: Callable[[], None] = lambda: None,
    ) -> HuggingFaceModel:
        """Open a checkpoint; see `gazelab.attention.base.open_model`."""
        options = ModelOptions(device, dtype, online, trust_remote_code, grid_file, revision, quant)
        return cls(open_checkpoint(name, options, progress, check))

    @property
    def revision(self) -> str:
        """The hub's commit, or the SHA-256 of the weights of a folder."""
        return self.checkpoint.revision

    def head(self, picture: Picture, question: str) -> TraceHead:
        """Tell where the patches lie, how the picture and the question come in, and with which software."""
        asked = self.ask(picture, question)
        layout, kernels = asked.layout, attention_implementations(self.checkpoint.model)
        notes = [layout.note] if layout.note else []
        if escape_special(question, self.checkpoint.tokenizer) != question:
            notes.append("Special tokens in the question were broken up.")
        return TraceHead(
            self.model_id,
            self.revision,
            picture.sha256,
            question,
            layout.grid,
            self.layers,
            self.n_heads,
            self.kind,
            " ".join(notes),
            {
                **self.checkpoint.versions(),
                "input_px": layout.input_px,
                "instruction": self.instruction,
                "kernels": ", ".join(f"{part or 'model'}: {kernel}" for part, kernel in kernels.items()),
            },
            layout.views[0].name,
            tuple((view.name, view.grid) for view in layout.views[1:]),
            asked.prompt_tokens,
            asked.picture_at,
        )

    def ask(self, picture: Picture, question: str) -> Asked:
        """Turn a picture and a question into the model's input.

        Raises
        ------
        AttentionError
            The picture's shape is beyond what the family's processor takes, tokens and grid do not fit, the
            question is no text, or both together are more than the model was made to read.
        """
        if self._last is not None and self._last[:2] == (picture.sha256, question):
            return self._last[2]
        refuse_what_is_no_text(question)
        # As an image, not an array: of an array 3 px high the library takes the rows for colours.
        image = Image.fromarray(picture.rgb)
        asked = ask(self.checkpoint.family, self.checkpoint, image, self._asked_text(question))
        self._refuse_if_too_long(asked)
        self._last = (picture.sha256, question, asked)
        return asked

    def _refuse_if_too_long(self, asked: Asked) -> None:
        """Stop where a model would go on beyond its last position, and answer anything."""
        text = self.checkpoint.config.get_text_config(decoder=True)
        limit = getattr(text, "max_position_embeddings", None)
        ids = asked.tensors.get("input_ids")
        n_read = asked.prompt_length if ids is None else max(asked.prompt_length, ids.shape[1])
        if limit is not None and n_read > limit:
            raise AttentionError(
                f"picture and question take {n_read} tokens, and it reads {limit} at most.",
                where=self.model_id,
                todo="Ask in fewer words, or take a smaller picture.",
            )

    def memory(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> MemoryEstimate:
        """Estimate what an answer will take, before it is given."""
        read = self.ask(picture, question).tensors
        n_read = next(read[name].shape[1] for name in ("input_ids", "flattened_patches") if name in read)
        return estimate(self.checkpoint.model, int(n_read), max_tokens)

    def stream(self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS) -> Iterator[TokenStep]:
        """Answer a question, token by token, always taking the most probable one."""
        asked = self.ask(picture, question)
        return pulled(
            lambda push, check: self._generate(asked, max_tokens, push, check), f"model {self.model_id}"
        )

    def trace(
        self, picture: Picture, question: str, max_tokens: int = MAX_TOKENS, *, verify: bool = False
    ) -> AttentionTrace:
        """Answer a question and keep the whole look.

        Parameters
        ----------
        verify : bool
            Answer a second time without the tap, and write it into the trace's note if the answers differ.
        """
        steps: list[TokenStep] = []
        asked = self.ask(picture, question)
        self._generate(asked, max_tokens, steps.append)
        trace = trace_of(self.head(picture, question), steps, self.answer_text(steps))
        if not verify:
            return trace
        plain = self.untapped_answer(asked, max_tokens)
        return trace if plain == trace.answer else _differs(trace, plain)

    def untapped_answer(self, asked: Asked, max_tokens: int = MAX_TOKENS) -> str:
        """Answer without the tap."""
        parts = self.checkpoint
        return answer_text(
            parts.tokenizer, generate_answer(parts.model, parts.tokenizer, asked.tensors, max_tokens)
        )

    def answer_text(self, steps: Sequence[TokenStep]) -> str:
        """Give the answer that the steps spell."""
        return answer_text(self.checkpoint.tokenizer, [step.token_id for step in steps])

    def _asked_text(self, question: str) -> str:
        escaped = escape_special(question, self.checkpoint.tokenizer)
        return f"{escaped}\n{self.instruction}" if self.instruction else escaped

    def _generate(
        self,
        asked: Asked,
        max_tokens: int,
        push: Callable[[TokenStep], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Answer under the tap, and push each token with its row; `check` may stop it at any layer."""
        tokenizer = self.checkpoint.tokenizer
        ids: list[int] = []

        def on_token(index: int, token: int, top: Top) -> None:
            row = tap.captured[index]
            if row.position != predicting_row(asked.prompt_length, index):
                raise AttentionError(f"token {index} came with the row of position {row.position}.")
            text = token_text(tokenizer, ids, token)
            ids.append(token)
            push(step_of(asked, row, text, token, top))

        tap = AttentionTap(
            self.checkpoint.model,
            rows=slice(predicting_row(asked.prompt_length, 0), None),
            picture=np.concatenate([columns.ravel() for columns in asked.columns]),
            kind=self.checkpoint.family.kind,
            method=self._method(asked),
            dtype=np.float16,
        )
        with tap, interruptible(self.checkpoint.model, check):
            generate_answer(self.checkpoint.model, tokenizer, asked.tensors, max_tokens, on_token)

    def _method(self, asked: Asked) -> Literal["interface", "eager"]:
        """Choose how to read the attention; eager only where there is no other way and memory for it."""
        model, n_tokens = self.checkpoint.model, asked.prompt_length
        if can_be_tapped(model):
            return "interface"
        needed = eager_memory_bytes(model, n_tokens)
        if needed > EAGER_BUDGET_BYTES:
            raise AttentionError(
                f"it cannot be tapped, and eager attention over {n_tokens} tokens would need about"
                f" {needed / 1e9:.1f} GB.",
                where=self.model_id,
                todo="Take a smaller picture, or another checkpoint.",
            )
        log.warning("%s cannot be tapped: eager attention, about %.2f GB", self.model_id, needed / 1e9)
        return "eager"


def step_of(asked: Asked, row: TapRow, text: str, token: int, top: Top) -> TokenStep:
    """Lay a row of the tap over the views of the picture.

    A trace is kept in float16: eleven bits, so weights to about 5e-4 of their own size.
    """
    if row.text_share is None or row.sink_share is None:
        raise TypeError("a row without the picture's columns")
    heads = row.weights.shape[:2]
    if asked.mixing is not None:
        looks = [np.einsum("lht,trc->lhrc", row.weights.astype(np.float32), asked.mixing).astype(np.float16)]
    else:
        ends = np.cumsum([columns.size for columns in asked.columns])[:-1]
        parts = np.split(row.weights, ends, axis=-1)
        looks = [p.reshape(*heads, *c.shape) for p, c in zip(parts, asked.columns, strict=True)]
    return TokenStep(
        text, token, top, looks[0], row.text_share, row.sink_share, tuple(looks[1:]), row.text_weights
    )


def _differs(trace: AttentionTrace, plain: str) -> AttentionTrace:
    note = f'Without the tap the model answers "{plain}".'
    return replace(trace, note=f"{trace.note} {note}".strip())


def _count(n: int) -> str:
    """Write a number of parameters as people do."""
    return f"{n / 1e9:.2f} B" if n >= 1e8 else f"{n / 1e6:.2g} M"
