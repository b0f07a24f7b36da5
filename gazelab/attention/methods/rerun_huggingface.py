"""A Hugging Face model, run again on an answer that it gave.

The answer is forced through the model's own `generate`, so that masks, positions and caches are those of a
generation in every family: a prefix that may look both ways does not see the answer. Of an encoder-decoder it
is recorded in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gazelab.attention.forced import forced_inputs
from gazelab.attention.generation import answer_text, generate_answer, interruptible
from gazelab.attention.grids.family import Asked
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.attention.memory import told
from gazelab.attention.methods.cost import refuse_if_no_room
from gazelab.attention.methods.recorded import Recorded
from gazelab.attention.methods.recorder import Recorder, refuse_what_cannot_be_recorded
from gazelab.attention.methods.rerun import Check, Expected, never
from gazelab.attention.rows import predicting_row
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


class RerunHuggingFace:
    """See `gazelab.attention.methods.rerun.Rerun`.

    Parameters
    ----------
    model : HuggingFaceModel
    """

    def __init__(self, model: HuggingFaceModel) -> None:
        self._opened = model
        self._model = model.checkpoint.model
        self._tokenizer = model.checkpoint.tokenizer

    def answer(self, picture: Picture, question: str, max_tokens: int, check: Check = never) -> list[int]:
        """Answer greedily; token ids without the end mark."""
        asked = self._opened.ask(picture, question)
        with interruptible(self._model, check):
            return generate_answer(self._model, self._tokenizer, asked.tensors, max_tokens)

    def text(self, ids: Sequence[int]) -> str:
        """Give the answer that the tokens spell."""
        return answer_text(self._tokenizer, ids)

    def expect(
        self, picture: Picture, question: str, ids: Sequence[int], max_tokens: int, check: Check = never
    ) -> Expected:
        """Put the answer into the model's mouth, and see what it would say after it."""
        asked = self._opened.ask(picture, question)
        cut_off = len(ids) >= max_tokens
        with interruptible(self._model, check), torch.no_grad():
            logits = self._forced(asked, ids, beyond=0 if cut_off else 1)
        said = logits.log_softmax(-1)[range(len(ids)), list(ids)]
        best = logits.argmax(-1).tolist()
        return Expected(
            said.double().cpu().numpy(),
            best[: len(ids)] == list(ids) and (cut_off or best[-1] in self._end_marks()),
        )

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
        asked = self._opened.ask(picture, question)
        kind = self._opened.kind
        length = int(asked.tensors["input_ids"].shape[1]) if "input_ids" in asked.tensors else 0
        n_keys = max(length, asked.prompt_length, 1 + max(int(c.max()) for c in asked.columns))
        refuse_if_no_room(self._model, n_keys + len(ids), len(ids), gradients=gradients)
        recorder = Recorder(self._model, kind, gradients=gradients)
        stopping = interruptible(self._model, check)
        with stopping, recorder, torch.set_grad_enabled(gradients):
            logits = self._in_one_pass(asked, ids) if kind == "cross" else self._forced(asked, ids)
        if gradients and not logits.requires_grad:
            raise AttentionError("its `generate` gives no gradients.", where=self._opened.model_id)
        rows = tuple(predicting_row(asked.prompt_length, k) for k in range(len(ids)))
        cross = recorder.layers(recorder.cross)
        return Recorded(
            kind,
            recorder.layers(recorder.decoder),
            cross,
            recorder.layers(recorder.encoder),
            logits,
            tuple(ids),
            rows,
            cross[0].blocks[0].n_keys if cross else asked.prompt_length + len(ids) - 1,
            tuple((view.name, view.grid) for view in asked.layout.views),
            lambda values: laid(asked, values),
        )

    def told(self) -> AbstractContextManager[None]:
        """Give a context in which memory that runs out is told in words."""
        return told(self._model)

    def refuse(self, needs: str) -> str:
        """Say why something cannot be had of this model; "" if it can."""
        if needs in ("trace", "second question"):
            return ""
        try:
            refuse_what_cannot_be_recorded(self._model)
        except AttentionError as fault:
            return fault.what
        return ""

    def _forced(self, asked: Asked, ids: Sequence[int], beyond: int = 0) -> Tensor:
        """Force an answer through `generate`; logits (token, vocabulary), float32.

        Parameters
        ----------
        beyond : int
            Tokens to go on for after the answer.
        """
        forcing = _Forcing(ids)
        with self._faults(ids):
            self._model.generate(
                **asked.tensors,
                max_new_tokens=len(ids) + beyond,
                use_cache=True,
                do_sample=False,
                num_beams=1,
                repetition_penalty=1.0,
                no_repeat_ngram_size=0,
                disable_compile=True,
                pad_token_id=self._pad(),
                logits_processor=[forcing],
            )
        return torch.stack(forcing.logits)

    def _in_one_pass(self, asked: Asked, ids: Sequence[int]) -> Tensor:
        """Read an answer in one pass of the decoder, which some families do not cache; logits as `_forced`.

        An encoder's output does not depend on the answer, and a decoder's rows on later ones.
        """
        with self._faults(ids):
            given, _ = forced_inputs(self._model, asked.tensors, list(ids))
            logits: Tensor = self._model(**given).logits[0, -len(ids) :].float()
        return logits

    @contextmanager
    def _faults(self, ids: Sequence[int]) -> Iterator[None]:
        """Say in words what goes wrong within, out of memory too."""
        if not ids:
            raise AttentionError("an answer without tokens cannot be run again.")
        try:
            with told(self._model):
                yield
        except (ValueError, RuntimeError, IndexError) as fault:
            raise AttentionError(
                f"it cannot be run again on its answer ({fault}).", where=self._opened.model_id
            ) from fault

    def _end_marks(self) -> set[int]:
        marks = self._model.generation_config.eos_token_id
        listed = marks if isinstance(marks, (list, tuple)) else [marks]
        return {int(mark) for mark in (*listed, self._tokenizer.eos_token_id) if mark is not None}

    def _pad(self) -> int:
        tokenizer = self._tokenizer
        return int(next(i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if i is not None))


class _Forcing:
    """A processor of logits that keeps them and lets the given token through alone."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = list(ids)
        self.logits: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        at = len(self.logits)
        self.logits.append(scores[0].float())
        if at >= len(self._ids):
            return scores
        only: Tensor = torch.full_like(scores, float("-inf"))
        only[:, self._ids[at]] = 0
        return only


def laid(asked: Asked, values: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
    """Lay values of keys, (…, key), over the views of a picture, each (…, rows, cols)."""
    if asked.mixing is not None:
        tokens = values[..., asked.columns[0].ravel()]
        return (np.einsum("...t,trc->...rc", tokens, asked.mixing),)
    return tuple(values[..., columns] for columns in asked.columns)
