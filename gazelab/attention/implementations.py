"""Which attention kernel each part of a model uses: read, set, put back."""

from __future__ import annotations

from typing import Any

from torch import nn

from gazelab.core.errors import AttentionError


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

    Whether `generate` may compile the model is remembered, too.

    Parameters
    ----------
    model : torch.nn.Module
        A Hugging Face model.
    """

    def __init__(self, model: nn.Module) -> None:
        self._before = [(config, _read(config)) for config in attention_configs(model).values()]
        self._settings = getattr(model, "generation_config", None)
        self._compiles = getattr(self._settings, "disable_compile", None)

    def forbid_compiling(self) -> None:
        """With some caches `generate` compiles the model by itself, and a tap would be left out of it."""
        if self._settings is not None:
            self._settings.disable_compile = True

    def restore(self) -> None:
        """Put every kernel back."""
        if self._settings is not None:
            self._settings.disable_compile = self._compiles
        for config, implementation in self._before:
            if _read(config) != implementation:
                # The public setter refuses None and hands values down to sub-configurations.
                config._attn_implementation_internal = implementation


def set_implementation(stack: Any, name: str) -> None:
    """Make a sub-model, and what is in it, use a kernel.

    Raises
    ------
    AttentionError
        It refuses the kernel, or keeps its own.
    """
    where = type(stack).__name__
    try:
        stack.set_attn_implementation(name)
    except (ValueError, KeyError, ImportError) as fault:
        raise AttentionError(f"it refuses the tap ({fault}).", where=where) from fault
    used = attention_implementations(stack).get("")
    if used != name:
        raise AttentionError(f"it kept the {used} kernel instead of {name}.", where=where)


def bypassed(model_name: str) -> AttentionError:
    """Say that a model cannot be tapped, and what to do."""
    return AttentionError(
        "its attention does not go through the attention interface with sdpa, so it cannot be tapped.",
        where=model_name,
        todo='Use method="eager"; gazelab.attention.eager.eager_memory_bytes() says what that costs.',
    )


def _read(config: Any) -> str | None:
    value = getattr(config, "_attn_implementation", None)
    return None if value is None else str(value)
