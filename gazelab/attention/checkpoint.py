"""Open a Hugging Face checkpoint from a folder: nothing fetched, no pickle, no foreign code, unless asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer
from transformers.utils import logging

from gazelab.attention.grids import Family, family_of
from gazelab.core.errors import AttentionError

_BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError)
_FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")


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
    """

    name: str
    folder: Path
    config: Any
    tokenizer: Any
    image_processor: Any
    model: Any
    family: Family

    @cached_property
    def revision(self) -> str:
        """SHA-256 of the weight files, in the order of their names."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.glob("*.safetensors")):
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()

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
        """Name what turns a picture and a question into tensors and an answer."""
        return {
            **{name: version(name) for name in ("torch", "transformers", "tokenizers", "pillow")},
            "processor": type(self.image_processor).__name__,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": str(self.model.device),
        }


def open_checkpoint(
    name: str,
    device: str,
    *,
    dtype: str,
    online: bool,
    trust_remote_code: bool,
    grid_file: Path | None = None,
) -> Checkpoint:
    """Load a checkpoint; see `gazelab.attention.base.open_model` for the arguments and errors."""
    folder = _folder(name, online)
    options = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    with _named(name):
        config = AutoConfig.from_pretrained(folder, **options)
        # The PIL way is chosen, not found: another resize gives other pixels, and so other maps.
        image_processor = AutoImageProcessor.from_pretrained(folder, backend="pil", **options)
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    family = family_of(config.model_type, _sample_shapes(image_processor), grid_file).of(config)
    if dtype != "auto" and not isinstance(getattr(torch, dtype, None), torch.dtype):
        raise AttentionError(f'"{dtype}" is no number type of torch.', todo="Use bfloat16 or float32.")
    with _named(name):
        model = AutoModelForImageTextToText.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, **options
        )
        model = model.to(device).eval()
    return Checkpoint(name, folder, config, tokenizer, image_processor, model, family)


def _folder(name: str, online: bool) -> Path:
    """Find the folder; a checkpoint's id is looked up in the local cache, and fetched only if `online`."""
    if Path(name).is_dir():
        folder = Path(name)
    else:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

        try:
            folder = Path(snapshot_download(name, local_files_only=not online, allow_patterns=list(_FILES)))
        except (HFValidationError, LocalEntryNotFoundError, HfHubHTTPError, OSError) as fault:
            raise AttentionError(
                "no such folder, and no such checkpoint on this machine.",
                where=name,
                todo="Give the folder of a checkpoint, allow the download of one, or use 'chartreader'.",
            ) from fault
    if not (folder / "config.json").is_file():
        raise AttentionError(
            "the folder holds no config.json, so it is no checkpoint.",
            where=folder,
            todo="Give the folder that holds config.json and the *.safetensors files.",
        )
    if not any(folder.glob("*.safetensors")):
        raise AttentionError(
            "the folder holds no *.safetensors file.",
            where=folder,
            todo="Other weight files can run code when they are read: convert them to safetensors first.",
        )
    return folder


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Turn what the library raises over a broken checkpoint into one error that names it."""
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # it writes to the terminal, and leaves a thread running
    try:
        yield
    except (*_BROKEN, SafetensorError) as fault:
        raise AttentionError(
            f"the checkpoint cannot be opened ({fault}).",
            where=name,
            todo="Check that the download is complete and that this transformers release knows it.",
        ) from fault
    finally:
        if bars:
            logging.enable_progress_bar()


def _sample_shapes(image_processor: Any) -> dict[str, tuple[int, ...]]:
    try:
        made = image_processor(images=[np.zeros((601, 853, 3), np.uint8)], return_tensors="pt")
    except ValueError:  # some want the question too
        return {}
    return {name: tuple(value.shape) for name, value in made.items() if hasattr(value, "shape")}
