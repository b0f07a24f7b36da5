"""What eager attention costs, to be asked before it is used."""

from __future__ import annotations

from typing import Any

from gazelab.attention.decoder import attention_modules, decoder_of


def eager_memory_bytes(model: Any, n_tokens: int, *, kept: bool = False) -> int:
    """Estimate the memory that eager attention needs for its weights on a prompt.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    n_tokens : int
        Prompt length, the picture's tokens included.
    kept : bool
        True: every layer's matrix is kept, as with `output_attentions=True`. False: they are dropped layer by
        layer, as `AttentionTap(method="eager")` does.

    Returns
    -------
    int
        Bytes: heads × n² values in the model's type and, while a layer runs, twice that in float32 for the
        scores and their softmax.
    """
    decoder = decoder_of(model)
    config = decoder.config
    heads = int(getattr(config, "num_attention_heads", None) or config.get_text_config().num_attention_heads)
    matrix = heads * n_tokens**2
    item = next(decoder.parameters()).element_size()
    layers = len(set(attention_modules(decoder, "self").values())) or 1
    return int(matrix * (item * (layers if kept else 1) + 2 * 4))
