"""One map by any of the methods; those that need the model run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gazelab.attention.base import MAX_TOKENS, AttentionModel
from gazelab.attention.chosen import Chosen, numbers_of
from gazelab.attention.combined import ALL_VIEWS, Sinks, ViewValues, one_map
from gazelab.attention.maps import Method, attention_map
from gazelab.attention.methods.table import METHODS, NEUTRAL_QUESTION, MethodEntry, method_of
from gazelab.attention.sinks import sink_patches, sink_rule, sink_tokens
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

if TYPE_CHECKING:
    from gazelab.attention.methods.recorded import Recorded

Progress = Callable[[int, int], None]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Offer:
    """A method, and whether a model can do it.

    Attributes
    ----------
    entry : MethodEntry
    reason : str
        Why the model cannot; "" if it can.
    """

    entry: MethodEntry
    reason: str


def offers(model: AttentionModel) -> tuple[Offer, ...]:
    """List every method with what stands against it for a model; nothing is run."""
    return tuple(Offer(entry, reason_against(entry, model)) for entry in METHODS.values())


def make_map(
    model: AttentionModel,
    picture: Picture,
    question: str,
    method: str = "mean",
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    tokens: Sequence[int] | None = None,
    sinks: Sinks = "keep",
    view: str = ALL_VIEWS,
    max_tokens: int = MAX_TOKENS,
    trace: AttentionTrace | None = None,
    progress: Progress = lambda done, total: None,
    check: Callable[[], None] = lambda: None,
) -> AttentionMap:
    """Make a map of a model's answer by one of `METHODS`.

    Parameters
    ----------
    model : AttentionModel
    picture : Picture
    question : str
    method : str
        A name in `gazelab.attention.methods.METHODS`.
    layers, heads, tokens, sinks, view
        As in `gazelab.attention.maps.attention_map`. Sink patches are looked for in the trace: with "drop"
        one is made if none is given.
    max_tokens : int
        Longest answer; of a given trace its own tokens are taken.
    trace : AttentionTrace, optional
        Of the same model, picture and question, so that the answer need not be watched again.
    progress : callable
        Called with (steps done, steps in all).
    check : callable
        Called often; whatever it raises stops the run, and the model is as before.

    Returns
    -------
    AttentionMap
        `how` tells the method, its source, and every choice. `picture_share` is of what the method shares
        out (`share_of`): attention, or relevance.

    Raises
    ------
    AttentionError
        There is no such method, layer, head, token or view; the model cannot do it; there is no room.
    """
    entry = method_of(method)
    refuse_what_cannot_be_had(entry, model)
    known = (layers, heads, tokens)
    if entry.needs == "trace":
        seen = trace or _traced(model, picture, question, max_tokens, check)
        made = attention_map(seen, cast("Method", method), *known, sinks, (), view)
        return replace(made, how={**made.how, **_cited(entry)})
    if method == "relative":
        from gazelab.attention.methods.relative import relative_map

        seen = trace or _traced(model, picture, question, max_tokens, check)
        progress(1, 2)
        neutral = _traced(model, picture, NEUTRAL_QUESTION, 1, check)
        progress(2, 2)
        made = relative_map(seen, neutral, *known, sinks, view)
        return replace(made, how={**made.how, **_cited(entry)})
    if trace is None and sinks == "drop":
        trace = _traced(model, picture, question, max_tokens, check)
    return _recorded_map(
        model, picture, question, entry, known, sinks, view, max_tokens, trace, progress, check
    )


def reason_against(entry: MethodEntry, model: AttentionModel) -> str:
    """Say what stands against a method for a model; "" if nothing does. Nothing is run."""
    if model.kind not in entry.kinds:
        kind = "decoder-only" if entry.kinds == ("self",) else "encoder-decoder"
        return f"it is defined for {kind} models only."
    if entry.needs in ("trace", "second question"):
        return ""
    from gazelab.attention.methods.rerun import rerun_of

    try:
        return rerun_of(model).refuse(entry.needs)
    except AttentionError as fault:
        return fault.what


def refuse_what_cannot_be_had(entry: MethodEntry, model: AttentionModel) -> None:
    """Stop before the model runs.

    Raises
    ------
    AttentionError
        The model cannot do it, and why.
    """
    against = reason_against(entry, model)
    if against:
        raise AttentionError(f"{entry.label} cannot be had: {against}", where=model.model_id)


def _cited(entry: MethodEntry) -> dict[str, object]:
    return {"source": entry.source, "share_of": "attention"}


def _traced(
    model: AttentionModel, picture: Picture, question: str, max_tokens: int, check: Callable[[], None]
) -> AttentionTrace:
    from gazelab.attention.base import trace_of

    steps = []
    for step in model.stream(picture, question, max_tokens):
        check()
        steps.append(step)
    return trace_of(model.head(picture, question), steps, model.answer_text(steps))


def _recorded_map(
    model: AttentionModel,
    picture: Picture,
    question: str,
    entry: MethodEntry,
    known: tuple[Sequence[int] | None, Sequence[int] | None, Sequence[int] | None],
    sinks: Sinks,
    view: str,
    max_tokens: int,
    trace: AttentionTrace | None,
    progress: Progress,
    check: Callable[[], None],
) -> AttentionMap:
    """Run the answer once more, recorded, and make a map of what was recorded."""
    from gazelab.attention.methods.rerun import rerun_of

    layers = numbers_of("layer", known[0], model.layers)
    heads = numbers_of("head", known[1], range(model.n_heads))
    rerun = rerun_of(model)
    given = () if trace is None else trace.token_ids
    ids = list(given) if given else rerun.answer(picture, question, max_tokens, check)
    chosen = Chosen(layers, heads, numbers_of("token", known[2], range(len(ids))))
    total = 2 + len(chosen.tokens)
    progress(1, total)
    recorded = rerun.record(picture, question, ids, gradients=entry.needs == "gradients", check=check)
    progress(2, total)
    with rerun.told():
        values, share = _values(entry, recorded, chosen, lambda done: progress(2 + done, total), check)
    progress(total, total)
    parts = []
    for (name, grid), laid in zip(recorded.views, values, strict=True):
        sunk = np.zeros(laid.shape, bool) if trace is None else sink_patches(trace, view=name)
        parts.append(ViewValues(name, grid, laid, sunk))
    how: dict[str, object] = {
        "method": entry.name,
        **chosen.to_json(),
        **_cited(entry),
        "share_of": "relevance" if entry.needs == "gradients" else "attention",
        "answer": rerun.text(ids),
        "sink_rule": "not looked for" if trace is None else sink_rule(1),
        "text_sinks": [] if trace is None else [asdict(sink) for sink in sink_tokens(trace)],
    }
    return one_map(parts, view, sinks, how, share)


def _values(
    entry: MethodEntry,
    recorded: Recorded,
    chosen: Chosen,
    token_done: Callable[[int], None],
    check: Callable[[], None],
) -> tuple[list[Floats], float]:
    """Compute a method's values on each view, the mean over tokens, and the picture's share."""
    rows = []
    if entry.name == "rollout":
        from gazelab.attention.methods.rollout import rollout_rows

        rows = list(rollout_rows(recorded, chosen.layers, chosen.heads, chosen.tokens, check))
    elif entry.name == "value_norm":
        from gazelab.attention.methods.value_norm import value_norm_rows

        rows = list(value_norm_rows(recorded, chosen.layers, chosen.heads, chosen.tokens))
    else:
        for done, token in enumerate(chosen.tokens, start=1):
            check()
            rows.append(_gradient_row(entry, recorded, chosen, token, check))
            token_done(done)
    if entry.needs == "gradients":
        return _each_token_alike(recorded, rows)
    laid = [_laid(recorded, row) for row in rows]
    mean = [np.mean([views[i] for views in laid], 0) for i in range(len(recorded.views))]
    return mean, float(sum(part.sum() for part in mean))


def _gradient_row(
    entry: MethodEntry, recorded: Recorded, chosen: Chosen, token: int, check: Callable[[], None]
) -> Any:
    if entry.name == "ag_cam":
        from gazelab.attention.methods.ag_cam import ag_cam_row

        return ag_cam_row(recorded, chosen.layers, chosen.heads, token)
    from gazelab.attention.methods.relevance import relevance_row

    row = relevance_row(recorded, chosen.layers, chosen.heads, token, check)
    if recorded.kind == "self":
        row[recorded.rows[token]] -= 1  # that a position is relevant to itself says nothing
    return row


def _each_token_alike(recorded: Recorded, rows: Sequence[Any]) -> tuple[list[Floats], float]:
    """Scale each token's values to 1 before the mean: a logit's scale is no measure of its weight."""
    mean = [np.zeros((grid.rows, grid.cols)) for _, grid in recorded.views]
    shares = []
    for row in rows:
        laid = _laid(recorded, row)
        on_picture, everything = float(sum(part.sum() for part in laid)), float(row.sum())
        shares.append(on_picture / everything if everything > 0 else 0.0)
        for total, part in zip(mean, laid, strict=True):
            total += part / on_picture / len(rows) if on_picture > 0 else 0.0
    return mean, float(np.mean(shares))


def _laid(recorded: Recorded, row: Any) -> list[Floats]:
    return [np.asarray(part, np.float64) for part in recorded.lay(row.float().cpu().numpy())]
