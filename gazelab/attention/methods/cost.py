"""Room for a recorded answer, estimated before it is run."""

from __future__ import annotations

from typing import Any

from gazelab.attention.decoder import attention_modules, can_be_tapped, decoder_of
from gazelab.attention.eager import eager_memory_bytes
from gazelab.attention.memory import LOWER, free_bytes
from gazelab.attention.methods.recorded import VALUES_AT_ONCE
from gazelab.core.errors import AttentionError

GRAPH_PER_WIDTH = 8
GRAPH_PER_INNER = 4
"""Values that autograd keeps of a token and layer, in hidden widths and in MLP widths. Counted on a Llama
with frozen weights by `torch.autograd.graph.saved_tensors_hooks`: 6 and 3 in float32, and somewhat more in
half precision, where norms are computed in float32."""


def recorded_bytes(model: Any, n_tokens: int, n_answer: int, *, gradients: bool) -> int:
    """Estimate what a recorded answer holds, beyond the model and its cache.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    n_tokens : int
        Of the prompt and the answer.
    n_answer : int
        Of the answer.
    gradients : bool
        With the graph back to every layer's attention.

    Returns
    -------
    int
        Bytes: queries, keys and values of each layer, and the rows computed at a time; with gradients, what
        autograd keeps of each layer, and keys and values once more a token of the answer. Where the fast
        kernel cannot do what the layers ask, full matrices: of one layer, with gradients of each.
    """
    decoder = decoder_of(model)
    config = decoder.config.get_text_config(decoder=True)
    item: int = next(decoder.parameters()).element_size()
    layers: int = len(set(attention_modules(decoder, "self").values())) or 1
    width = int(getattr(config, "hidden_size", None) or config.d_model)
    inner = next(
        (
            int(value)
            for name in ("intermediate_size", "decoder_ffn_dim", "d_ff")
            if (value := getattr(config, name, None))
        ),
        4 * width,
    )
    held: int = layers * n_tokens * 4 * width * item
    at_once = 3 * 4 * VALUES_AT_ONCE
    if not can_be_tapped(model):
        at_once += eager_memory_bytes(model, n_tokens, kept=gradients)
    if not gradients:
        return held + at_once
    graph: int = layers * n_tokens * (GRAPH_PER_WIDTH * width + GRAPH_PER_INNER * inner) * item
    return held + at_once + graph + layers * n_tokens * 2 * width * item * n_answer


def refuse_if_no_room(model: Any, n_tokens: int, n_answer: int, *, gradients: bool) -> None:
    """Stop before the run rather than in it.

    Raises
    ------
    AttentionError
        The device has less left than the run would hold.
    """
    needed = recorded_bytes(model, n_tokens, n_answer, gradients=gradients)
    free = free_bytes(next(model.parameters()).device)
    if free is not None and needed > free:
        what = "its gradients" if gradients else "a recorded answer"
        raise AttentionError(
            f"no room: {what} would hold about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free.",
            where=type(model).__name__,
            todo=LOWER,
        )
