"""A tokenizer of single bytes for tiny checkpoints: every character of a prompt counts, line breaks too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast


def byte_tokenizer(
    special: Sequence[str], template: str | None = None, *, begins: bool = False, **named: Any
) -> Any:
    """Make a tokenizer of 256 bytes, of a double line break (which real ones join), and of special tokens.

    Parameters
    ----------
    special : sequence of str
        Read as one token each.
    template : str, optional
        The chat template.
    begins : bool
        Put the start mark before a text unless told not to, as those of Llama and Gemma do.
    named
        `bos_token`, `eos_token`, `pad_token`, `extra_special_tokens`, …
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    table = {letter: i for i, letter in enumerate([*alphabet, "ĊĊ"])}
    made = Tokenizer(models.BPE(table, merges=[("Ċ", "Ċ")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, **named)
    fast.add_special_tokens({"additional_special_tokens": list(special)})
    if begins:
        fast.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{fast.bos_token} $A", special_tokens=[(fast.bos_token, fast.bos_token_id)]
        )
    fast.chat_template = template
    return fast
