"""A map in one line: how it was made, what fell on the picture, and what is known of sinks."""

from __future__ import annotations

from typing import Any

from gazelab.core.attention import AttentionMap


def map_line(made: AttentionMap) -> str:
    """Say how a map was made, and how much of it lies where one should not read much into it."""
    how: dict[str, Any] = dict(made.how)
    counts = ", ".join(_counted(what, how[what]) for what in ("layers", "heads", "tokens"))
    parts = [f"Map: {how['method']}, {counts}, view {how['view']}"]
    parts.append(how.get("empty") or f"{made.picture_share:.1%} fell on the picture")
    if how.get("text_sinks"):
        parts.append(f"{_counted('sink tokens', how['text_sinks'])}{_share(how.get('text_sink_share'))}")
    sunk = [*how["sink_patches"], *(patch for more in how["other_sink_patches"].values() for patch in more)]
    if sunk:
        parts.append(f"{_counted('sink patches', sunk)}{_share(how['sink_patch_share'])}")
    parts.append(f"sinks {'dropped' if how['sinks'] == 'drop' else 'kept'}")
    return f"{'; '.join(part.rstrip('.') for part in parts)}."


def _counted(what: str, numbers: list[Any]) -> str:
    """Give the number of a single one, else how many there are."""
    if len(numbers) == 1 and isinstance(numbers[0], int):
        return f"{what.removesuffix('s')} {numbers[0]}"
    return f"{len(numbers)} {what}"


def _share(share: float | None) -> str:
    return "" if share is None else f" with {share:.1%}"
