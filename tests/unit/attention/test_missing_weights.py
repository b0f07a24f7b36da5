"""Weights that the model needs and the file lacks would be made up at random, without a word."""

import pytest
import tiny_checkpoints
from safetensors.torch import load_file, save_file

from gazelab.attention.base import open_model
from gazelab.core.errors import AttentionError


@pytest.fixture
def folder(tmp_path):
    return tiny_checkpoints.qwen_folder(tmp_path / "tiny")


def rewrite(folder, change):
    path = folder / "model.safetensors"
    tensors = change(load_file(path))
    save_file(tensors, path, {"format": "pt"})


def test_a_file_without_some_weights_is_refused_with_their_names(folder):
    gone = "model.layers.1.self_attn.q_proj.weight"

    def without(tensors):
        (name,) = [n for n in tensors if n.endswith("layers.1.self_attn.q_proj.weight")]
        return {n: t for n, t in tensors.items() if n != name}

    rewrite(folder, without)
    with pytest.raises(AttentionError, match=r"1 of its weights.*layers\.1\.self_attn\.q_proj") as fault:
        open_model(str(folder))
    assert gone.rsplit(".", 3)[1] in str(fault.value)


def test_a_file_with_other_names_altogether_is_refused(folder):
    rewrite(folder, lambda tensors: {f"old.{n}": t for n, t in tensors.items()})
    with pytest.raises(AttentionError, match="of its weights are not in the file"):
        open_model(str(folder))


def test_weights_that_nobody_needs_do_no_harm(folder):
    rewrite(folder, lambda tensors: {**tensors, "extra.weight": next(iter(tensors.values())).clone()})
    assert open_model(str(folder)).layers == (0, 1)


def test_tied_weights_that_are_stored_once_are_not_missing(tmp_path):
    import torch
    from transformers import Qwen2_5_VLForConditionalGeneration

    folder = tiny_checkpoints.qwen_folder(tmp_path / "tied")
    config = tiny_checkpoints.qwen_config()
    config.tie_word_embeddings = True
    config.text_config.tie_word_embeddings = True
    torch.manual_seed(0)
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    assert not any("lm_head" in name for name in load_file(folder / "model.safetensors"))
    assert open_model(str(folder)).layers == (0, 1)
