"""Where a model looks: open a model, ask it about a picture, and make maps of its attention.

The names below are what a notebook needs; `docs/attention.md` shows them at work. Nothing here needs Qt, and
torch is loaded by what uses it, not by importing this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gazelab.attention.base import AttentionModel, TokenStep, open_model
    from gazelab.attention.causal import CausalCheck, CheckPlan, causal_check
    from gazelab.attention.given import given_answer, patch_look
    from gazelab.attention.grids import Family, Layout, PatchView
    from gazelab.attention.maps import attention_map
    from gazelab.attention.methods import METHODS, make_map, offers
    from gazelab.attention.tap import AttentionTap
    from gazelab.attention.trace_store import TraceWriter, load_trace, save_trace
    from gazelab.core.attention import AttentionMap, AttentionTrace

_HOMES = {
    "gazelab.attention.base": ("AttentionModel", "TokenStep", "open_model"),
    "gazelab.attention.causal": ("CausalCheck", "CheckPlan", "causal_check"),
    "gazelab.attention.given": ("given_answer", "patch_look"),
    "gazelab.attention.grids": ("Family", "Layout", "PatchView"),
    "gazelab.attention.maps": ("attention_map",),
    "gazelab.attention.methods": ("METHODS", "make_map", "offers"),
    "gazelab.attention.tap": ("AttentionTap",),
    "gazelab.attention.trace_store": ("TraceWriter", "load_trace", "save_trace"),
    "gazelab.core.attention": ("AttentionMap", "AttentionTrace"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "METHODS",
    "AttentionMap",
    "AttentionModel",
    "AttentionTap",
    "AttentionTrace",
    "CausalCheck",
    "CheckPlan",
    "Family",
    "Layout",
    "PatchView",
    "TokenStep",
    "TraceWriter",
    "attention_map",
    "causal_check",
    "given_answer",
    "load_trace",
    "make_map",
    "offers",
    "open_model",
    "patch_look",
    "save_trace",
]


def __getattr__(name: str) -> Any:
    """Load a name from its module at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
