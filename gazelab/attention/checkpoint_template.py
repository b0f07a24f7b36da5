"""A checkpoint's chat template, wherever its publisher put it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gazelab.attention.checkpoint_files import read_json

JINJA = "chat_template.jinja"
_BESIDE = ("chat_template.json", "processor_config.json", "tokenizer_config.json")


def find_template(tokenizer: Any, folder: Path) -> tuple[str, str]:
    """Find the chat template for one question.

    The tokenizer's own comes first. Many checkpoints keep it beside their processor instead, as a file of its
    own or among the processor's settings.

    Returns
    -------
    template : str
        Empty if there is none: a checkpoint that was not taught to chat.
    file : str
        Name of the file it is from.
    """
    own = _one(tokenizer.chat_template)
    jinja = folder / JINJA
    if own:
        # The library reads this file into the tokenizer.
        return own, JINJA if jinja.is_file() else "tokenizer_config.json"
    if jinja.is_file():
        return jinja.read_text("utf-8"), JINJA
    for name in _BESIDE:
        if (folder / name).is_file():
            found = _one(read_json(folder / name).get("chat_template"))
            if found:
                return found, name
    return "", ""


def _one(template: object) -> str:
    """Take the default of several named templates: {name: text}, or [{"name", "template"}, …]."""
    if isinstance(template, list):
        template = {str(entry.get("name")): entry.get("template") for entry in template}
    if isinstance(template, dict):
        template = template.get("default")
    return template if isinstance(template, str) else ""
