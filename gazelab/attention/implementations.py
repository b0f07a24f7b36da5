"""Which attention kernel each part of a model uses: read, set, put back."""

from __future__ import annotations

from typing import Any

from torch import nn


def attention_configs(model: nn.Module) -> dict[str, Any]:
    """Find every configuration in a model that names an attention kernel.

    Returns
    -------
    dict
        Dotted path of the sub-configuration ("" is the model's own) to the configuration object; each object
        once.
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()

    def visit(config: Any, path: str) -> None:
        if config is None or id(config) in seen:
            return
        seen.add(id(config))
        found[path] = config
        for name in getattr(config, "sub_configs", {}):
            visit(getattr(config, name, None), f"{path}.{name}" if path else name)

    visit(getattr(model, "config", None), "")
    # Some sub-models hold a copy of their configuration, not the object of the tree.
    for name, module in model.named_modules():
        if hasattr(module, "set_attn_implementation"):
            visit(getattr(module, "config", None), name)
    return found


def attention_implementations(model: nn.Module) -> dict[str, str | None]:
    """Tell which attention kernel each part of a model uses.

    Returns
    -------
    dict
        As `attention_configs`, with the kernel's name ("sdpa", "eager", …) or None where none is set.
    """
    return {path: _read(config) for path, config in attention_configs(model).items()}


class RestoredImplementations:
    """Remember the kernel of each part of a model and put it back, whatever happens in between.

    Parameters
    ----------
    model : torch.nn.Module
        A Hugging Face model.
    """

    def __init__(self, model: nn.Module) -> None:
        self._before = [(config, _read(config)) for config in attention_configs(model).values()]

    def restore(self) -> None:
        """Put every kernel back."""
        for config, implementation in self._before:
            if _read(config) != implementation:
                # The public setter refuses None and hands values down to sub-configurations.
                config._attn_implementation_internal = implementation


def _read(config: Any) -> str | None:
    value = getattr(config, "_attn_implementation", None)
    return None if value is None else str(value)
