"""Greedy answers of a Hugging Face model, token by token, with the runners-up of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from gazelab.attention.decoder import is_attention
from gazelab.attention.memory import told
from gazelab.core.errors import AttentionError

TOP = 50
"""How many of the most probable tokens each step keeps; enough to show what a temperature would do."""
_OWN = {
    **dict.fromkeys(("repetition_penalty", "encoder_repetition_penalty"), 1.0),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length"), 0),
    **dict.fromkeys(
        (
            "suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "sequence_bias", "guidance_scale",
            "min_new_tokens", "max_time", "stop_strings", "exponential_decay_length_penalty",
            "forced_eos_token_id", "watermarking_config", "penalty_alpha", "dola_layers",
            "prompt_lookup_num_tokens",
        )
    ),
}  # fmt: skip
"""What changes a distribution, or ends an answer, beside the model."""
Top = tuple[tuple[str, float], ...]
OnToken = Callable[[int, int, Top], None]
"""Called with a token's index in the answer, its id, and the most probable tokens and probabilities."""


def generate_answer(
    model: Any,
    tokenizer: Any,
    tensors: Mapping[str, Tensor],
    max_tokens: int,
    on_token: OnToken | None = None,
) -> list[int]:
    """Answer by always taking the most probable token.

    Sampling, beams, penalties, forbidden tokens and limits that a checkpoint may suggest are off, so that the
    answer is repeatable and the probabilities are the model's own. A first token that it forces stays forced:
    its decoder was never trained to begin otherwise.

    Parameters
    ----------
    tensors : mapping
        What `model.generate` takes, batch 1.
    max_tokens : int
    on_token : callable, optional
        Some devices report a token one step late: count by the index, not by what ran last.

    Returns
    -------
    list of int
        Token ids of the answer, without the end mark.

    Raises
    ------
    AttentionError
        The model cannot be run on this input, or memory runs out.
    """
    runners_up = _RunnersUp(tokenizer)
    try:
        stream = _Stream(_end_marks(model, tokenizer), runners_up, on_token)
        with told(model):
            model.generate(
                **tensors,
                max_new_tokens=max_tokens,
                do_sample=False,
                num_beams=1,
                **_OWN,
                use_cache=True,  # where a configuration says no, each token reads the whole answer again
                disable_compile=True,
                pad_token_id=_pad(tokenizer),
                logits_processor=[runners_up],
                streamer=stream,
            )
    except (ValueError, RuntimeError, IndexError) as fault:
        raise AttentionError(
            f"the model cannot be run on this question ({fault}).",
            where=tokenizer.name_or_path or type(model).__name__,
        ) from fault
    return stream.ids


@contextmanager
def interruptible(model: nn.Module, check: Callable[[], None]) -> Iterator[None]:
    """Call `check` before every attention layer, so that a long pass over a picture can be stopped within."""
    hooks = [
        module.register_forward_pre_hook(lambda *_: check())
        for module in model.modules()
        if is_attention(module)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def answer_text(tokenizer: Any, ids: Iterable[int]) -> str:
    """Give the text of an answer's tokens."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=True)).strip()


def token_text(tokenizer: Any, before: list[int], token: int) -> str:
    """Give the text that a token adds, with its leading space; bytes of half a character show as U+FFFD."""
    head = str(tokenizer.decode(before)) if before else ""
    whole = str(tokenizer.decode([*before, token]))
    return whole[len(head) :] if whole.startswith(head) else str(tokenizer.decode([token]))


class _RunnersUp:
    """Remembers the head of each step's distribution; a processor of logits that changes none."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}
        self.steps: list[Top] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        best = scores[0].float().softmax(-1).topk(min(TOP, scores.shape[-1]))
        tokens, probabilities = best.indices.tolist(), best.values.tolist()
        if not math.isfinite(probabilities[0]):
            # The library would go on, and make the first word of its vocabulary of it.
            raise AttentionError(
                "the model gives no probabilities: its numbers are not finite.",
                where=self._tokenizer.name_or_path or None,
                todo="Run it in bfloat16 or float32.",
            )
        self.steps.append(
            tuple((self._text(token), p) for token, p in zip(tokens, probabilities, strict=True))
        )
        return scores

    def _text(self, token: int) -> str:
        if token not in self._texts:
            self._texts[token] = str(self._tokenizer.decode([token]))
        return self._texts[token]


class _Stream:
    """Takes the tokens from `generate`: the prompt first, then one at a time."""

    def __init__(self, end_marks: set[int], runners_up: _RunnersUp, on_token: OnToken | None) -> None:
        self.ids: list[int] = []
        self._end_marks = end_marks
        self._runners_up = runners_up
        self._on_token = on_token
        self._in_answer = False

    def put(self, value: Tensor) -> None:
        if not self._in_answer:  # the prompt
            self._in_answer = True
            return
        for token in value.flatten().tolist():
            if token in self._end_marks:
                return
            index = len(self.ids)
            self.ids.append(token)
            if self._on_token is not None:
                self._on_token(index, token, self._runners_up.steps[index])

    def end(self) -> None:
        """Nothing is held back."""


def _end_marks(model: Any, tokenizer: Any) -> set[int]:
    marks = model.generation_config.eos_token_id
    listed = marks if isinstance(marks, (list, tuple)) else [marks]
    return {int(mark) for mark in (*listed, tokenizer.eos_token_id) if mark is not None}


def _pad(tokenizer: Any) -> int:
    return int(next(i for i in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if i is not None))
