"""Any image-text-to-text checkpoint through the tap and its family's grid."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from gazelab.attention.base import MAX_TOKENS, TokenStep, trace_of
from gazelab.attention.captured import TapRow
from gazelab.attention.checkpoint import Checkpoint, open_checkpoint
from gazelab.attention.decoder import attention_modules, can_be_tapped, decoder_of
from gazelab.attention.eager import eager_memory_bytes
from gazelab.attention.generation import Top, answer_text, generate_answer, interruptible, token_text
from gazelab.attention.grids import Layout
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.prompt import escape_special, prompt_ids
from gazelab.attention.pushed import pulled
from gazelab.attention.rows import predicting_row
from gazelab.attention.tap import AttentionTap
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid
from gazelab.core.picture import Picture

log = logging.getLogger(__name__)

INSTRUCTION = "Answer with a single word or number."
EAGER_BUDGET_BYTES = 4_000_000_000


@dataclass(frozen=True, eq=False)
class Asked:
    """A question as it goes into the model.

    Attributes
    ----------
    tensors : dict
        On the model's device: `input_ids` (1, sequence) and what the picture became.
    columns : numpy.ndarray, shape (rows, cols), int64
        Sequence position of each patch's token.
    layout : Layout
    """

    tensors: dict[str, torch.Tensor]
    columns: NDArray[np.int64]
    layout: Layout


class HuggingFaceModel:
    """A checkpoint whose attention to a chart can be watched while it answers.

    Parameters
    ----------
    checkpoint : Checkpoint
    instruction : str
        Put after each question, so that the answer is short; stored with every trace.
    """

    kind = "self"

    def __init__(self, checkpoint: Checkpoint, instruction: str = INSTRUCTION) -> None:
        self.checkpoint = checkpoint
        self.instruction = instruction
        self.model_id = checkpoint.name
        decoder = decoder_of(checkpoint.model)
        self.layers = tuple(sorted(set(attention_modules(decoder, "self").values())))
        self.n_heads = int(decoder.config.num_attention_heads)
        self._last: tuple[str, dict[str, torch.Tensor], Layout] | None = None
        self.about = (
            f"{checkpoint.config.model_type}, {checkpoint.model.num_parameters() / 1e9:.2g} B parameters."
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
    ) -> HuggingFaceModel:
        """Open a checkpoint; see `gazelab.attention.base.open_model`."""
        return cls(
            open_checkpoint(name, device, dtype=dtype, online=online, trust_remote_code=trust_remote_code)
        )

    @property
    def revision(self) -> str:
        """SHA-256 of the weight files."""
        return self.checkpoint.revision

    def grid(self, picture: Picture) -> PatchGrid:
        """Lay the model's patches over a picture."""
        return self._laid(picture)[1].grid

    def ask(self, picture: Picture, question: str) -> Asked:
        """Turn a picture and a question into the model's input.

        Raises
        ------
        AttentionError
            The picture's shape is beyond what the family's processor takes, or tokens and grid do not fit.
        """
        made, layout = self._laid(picture)
        ids = prompt_ids(
            self.checkpoint.tokenizer,
            self._asked_text(question),
            self.checkpoint.picture_id,
            layout.n_tokens,
        )
        is_picture = np.asarray(ids) == self.checkpoint.picture_id
        columns = layout.columns(is_picture)
        device, dtype = self.checkpoint.model.device, self.checkpoint.model.dtype
        tensors = {
            "input_ids": torch.tensor([ids], device=device),
            "attention_mask": torch.ones(1, len(ids), dtype=torch.long, device=device),
            **{name: v.to(device, dtype if v.is_floating_point() else v.dtype) for name, v in made.items()},
        }
        if "mm_token_type_ids" in inspect.signature(self.checkpoint.model.forward).parameters:
            # Without it such a model numbers the picture's tokens as if they were text, and says nothing.
            kinds = torch.as_tensor(is_picture.astype(np.int64), device=device)
            tensors["mm_token_type_ids"] = kinds[None]
        return Asked(tensors, columns, layout)

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
        trace = trace_of(self, picture, question, steps)
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

    def note(self, picture: Picture, question: str) -> tuple[str, dict[str, str]]:
        """Tell how the picture and the question come in, and with which software."""
        layout = self._laid(picture)[1]
        notes = [layout.note] if layout.note else []
        if escape_special(question, self.checkpoint.tokenizer) != question:
            notes.append("Special tokens in the question were broken up.")
        kernels = attention_implementations(self.checkpoint.model)
        return " ".join(notes), {
            **self.checkpoint.versions(),
            "input_px": layout.input_px,
            "instruction": self.instruction,
            "kernels": ", ".join(f"{part or 'model'}: {kernel}" for part, kernel in kernels.items()),
        }

    def _asked_text(self, question: str) -> str:
        escaped = escape_special(question, self.checkpoint.tokenizer)
        return f"{escaped}\n{self.instruction}" if self.instruction else escaped

    def _laid(self, picture: Picture) -> tuple[dict[str, torch.Tensor], Layout]:
        """Run the family's picture processor and lay its tokens over the picture."""
        if self._last is not None and self._last[0] == picture.sha256:
            return self._last[1], self._last[2]
        try:
            # As an image, not an array: of an array 3 px high the library takes the rows for colours.
            image = Image.fromarray(picture.rgb)
            made = dict(self.checkpoint.image_processor(images=[image], return_tensors="pt"))
        except (ValueError, ZeroDivisionError) as fault:
            raise AttentionError(
                f"its processor refuses a picture of {picture.width_px} x {picture.height_px} px ({fault}).",
                where=self.model_id,
                todo="Leave this picture out, or pad it with white.",
            ) from fault
        layout = self.checkpoint.layout(made, self.checkpoint.config, picture.width_px, picture.height_px)
        self._last = (picture.sha256, made, layout)
        return made, layout

    def _generate(
        self,
        asked: Asked,
        max_tokens: int,
        push: Callable[[TokenStep], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Answer under the tap, and push each token with its row; `check` may stop it at any layer."""
        tokenizer = self.checkpoint.tokenizer
        length = asked.tensors["input_ids"].shape[1]
        ids: list[int] = []

        def on_token(index: int, token: int, top: Top) -> None:
            row = tap.captured[index]
            if row.position != predicting_row(length, index):
                raise AttentionError(f"token {index} came with the row of position {row.position}.")
            text = token_text(tokenizer, ids, token)
            ids.append(token)
            push(_step(text, token, top, row, asked.columns.shape))

        tap = AttentionTap(
            self.checkpoint.model,
            rows=slice(predicting_row(length, 0), None),
            picture=asked.columns,
            method=self._method(length),
            dtype=np.float16,
        )
        with tap, interruptible(self.checkpoint.model, check):
            generate_answer(self.checkpoint.model, tokenizer, asked.tensors, max_tokens, on_token)

    def _method(self, n_tokens: int) -> Literal["interface", "eager"]:
        """Choose how to read the attention; eager only where there is no other way and memory for it."""
        model = self.checkpoint.model
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


def _step(text: str, token: int, top: Top, row: TapRow, shape: tuple[int, ...]) -> TokenStep:
    if row.text_share is None or row.sink_share is None:
        raise TypeError("a row without the picture's columns")
    weights = row.weights.reshape(*row.weights.shape[:2], *shape)
    return TokenStep(text, token, top, weights, row.text_share, row.sink_share)


def _differs(trace: AttentionTrace, plain: str) -> AttentionTrace:
    note = f'Without the tap the model answers "{plain}".'
    return replace(trace, note=f"{trace.note} {note}".strip())
