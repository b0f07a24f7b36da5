"""Open a Hugging Face checkpoint: nothing fetched, no pickle, no foreign code, unless asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
)
from transformers.utils import logging

from gazelab.attention.checkpoint_files import (
    PROCESSORS,
    TOKENIZERS,
    check_folder,
    check_weights,
    first_of,
    read_json,
    weights_sha256,
)
from gazelab.attention.checkpoint_folder import find_folder
from gazelab.attention.checkpoint_memory import check_memory, free_memory_bytes, needed_bytes
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.checkpoint_placement import check_device, check_dtype, quantisation
from gazelab.attention.checkpoint_template import find_template
from gazelab.attention.foreign import BROKEN, said
from gazelab.attention.grids import Family, family_of
from gazelab.attention.hub import commit_of
from gazelab.attention.hub_download import Progress, silent
from gazelab.core.errors import AttentionError


@dataclass(eq=False)
class Checkpoint:
    """A checkpoint's parts.

    Attributes
    ----------
    name : str
        As the user gave it.
    folder : Path
    config, tokenizer, image_processor, model
        Of transformers.
    family : Family
        How pictures and questions go in.
    template : tuple of (str, str)
        The chat template and the file that it is from; empty if there is none.
    quant : str, optional
        "4bit", "8bit".
    """

    name: str
    folder: Path
    config: Any
    tokenizer: Any
    image_processor: Any
    model: Any
    family: Family
    template: tuple[str, str] = ("", "")
    quant: str | None = None

    @cached_property
    def revision(self) -> str:
        """The hub's commit (40 digits); for a folder of the user's own the weights' SHA-256 (64 digits)."""
        return commit_of(self.folder) or weights_sha256(self.folder)

    @property
    def picture_id(self) -> int:
        """Token id of the picture's place-holder.

        Raises
        ------
        AttentionError
            The configuration names none.
        """
        for name in ("image_token_id", "image_token_index"):
            if getattr(self.config, name, None) is not None:
                return int(getattr(self.config, name))
        raise AttentionError("its config.json names no picture token.", where=self.name)

    def versions(self) -> dict[str, str]:
        """Name what turns a picture and a question into tensors and an answer, with hashes."""
        template, file = self.template
        settings = json.dumps(self.image_processor.to_dict(), sort_keys=True, default=str)
        return {
            **{name: version(name) for name in ("torch", "transformers", "tokenizers", "pillow")},
            "processor": type(self.image_processor).__name__,
            "processor_settings": settings,
            "processor_settings_sha256": _sha256(settings),
            "tokenizer": type(self.tokenizer).__name__,
            "chat_template": template,
            "chat_template_file": file or "none",
            "chat_template_sha256": _sha256(template),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "quant": self.quant or "none",
            "device": str(self.model.device),
        }


def open_checkpoint(
    name: str,
    options: ModelOptions = ModelOptions(),  # noqa: B008  (frozen)
    progress: Progress = silent,
    check: Callable[[], None] = lambda: None,
) -> Checkpoint:
    """Load a checkpoint.

    Parameters
    ----------
    name : str
        A folder, or a checkpoint's id at the hub.
    options : ModelOptions
    progress : callable
        Told of a download: its size before the first byte, then every MB.
    check : callable
        Called while a download runs; may raise to end it.

    Raises
    ------
    AttentionError
        Anything that is wrong with it, each with the file or the option that it concerns.
    """
    check_dtype(options.dtype)
    check_device(options.device)
    quant = quantisation(options.quant, options.device)
    folder = find_folder(name, options, progress, check)
    check_folder(folder)
    local = {"local_files_only": True, "trust_remote_code": options.trust_remote_code}
    config = _config(folder, local, options.grid_file)
    with _named(first_of(folder, PROCESSORS), "the picture processor cannot be read"):
        # The PIL way is chosen, not found: another resize gives other pixels, and so other maps.
        image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil", **local)
    with _named(first_of(folder, TOKENIZERS), "the tokenizer cannot be read"):
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
    template = find_template(tokenizer, folder)
    tokenizer.chat_template = template[0] or None
    family = family_of(config.model_type, _sample_shapes(image_processor), options.grid_file).of(config)
    check_weights(folder)
    needed = needed_bytes(folder, options.dtype, options.quant)
    check_memory(name, needed, free_memory_bytes(options.device), options.device)
    model = _model(folder, options, quant, local)
    return Checkpoint(
        name, folder, config, tokenizer, image_processor, model, family, template, options.quant
    )


def _config(folder: Path, local: dict[str, Any], grid_file: Path | None) -> Any:
    """Read the configuration; refuse what is not for pictures with questions."""
    raw = read_json(folder / "config.json")
    kind = raw.get("model_type")
    own_code = bool(raw.get("auto_map")) and not local["trust_remote_code"]
    if not isinstance(kind, str):
        raise AttentionError("it names no model_type.", where=folder / "config.json", todo="Is it a model's?")
    with _named(folder / "config.json", f'the model type "{kind}" cannot be read', own_code):
        config = AutoConfig.from_pretrained(folder, **local)
    known = config.model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    if not known and grid_file is None and not local["trust_remote_code"]:
        text_only = config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        raise AttentionError(
            f'it is of type "{config.model_type}", '
            + (
                "a language model for text alone." if text_only else "which answers no questions on pictures."
            ),
            where=folder,
            todo="Take a vision-language checkpoint: gazelab models lists some.",
        )
    return config


def _model(folder: Path, options: ModelOptions, quant: Any, local: dict[str, Any]) -> Any:
    placed = {} if quant is None else {"quantization_config": quant, "device_map": {"": options.device}}
    with _named(folder, "its weights cannot be loaded"):
        model, told = AutoModelForImageTextToText.from_pretrained(
            folder, dtype=options.dtype, use_safetensors=True, output_loading_info=True, **placed, **local
        )
        _refuse_made_up(folder, sorted(told["missing_keys"]))
        return (model if quant is not None else model.to(options.device)).eval()


def _refuse_made_up(folder: Path, missing: list[str]) -> None:
    """Refuse weights that the library has made up at random, which it only warns of."""
    if missing:
        raise AttentionError(
            f"{len(missing)} of its weights are not in the file, the first is {missing[0]}.",
            where=folder,
            todo="Download it again, or take a checkpoint in the form of this transformers release.",
        )


@contextmanager
def _named(where: Path, what: str, own_code: bool = False) -> Iterator[None]:
    """Turn what the library raises over a broken checkpoint into one error that names it."""
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # it writes to the terminal, and leaves a thread running
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as fault:
        raise AttentionError(
            "memory ran out while it was loaded.",
            where=where,
            todo="Take a smaller checkpoint, or try --dtype bfloat16 or --quant 4bit.",
        ) from fault
    except (*BROKEN, StrictDataclassError) as fault:
        raise AttentionError(
            f"{what} ({said(fault)}).",
            where=where,
            todo="It brings code of its own: allow it with --trust-remote-code, if you trust its publisher."
            if own_code
            else f"Is the download complete, and made for transformers {version('transformers')}?",
        ) from fault
    finally:
        if bars:
            logging.enable_progress_bar()


def _sample_shapes(image_processor: Any) -> dict[str, tuple[int, ...]]:
    try:
        made = image_processor(images=[np.zeros((601, 853, 3), np.uint8)], return_tensors="pt")
    except BROKEN:  # some want the question too, and a broken one is told of where it is used
        return {}
    return {name: tuple(value.shape) for name, value in made.items() if hasattr(value, "shape")}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
