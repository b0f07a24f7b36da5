import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
import torch
from transformers import CLIPImageProcessor, LlavaConfig

from gazelab.attention.base import open_model
from gazelab.core.errors import AttentionError


@pytest.fixture
def folder(tmp_path):
    return tiny_checkpoints.qwen_folder(tmp_path / "checkpoint")


def test_the_number_type_is_as_asked(folder):
    model = open_model(str(folder), dtype="bfloat16")
    assert model.checkpoint.model.dtype == torch.bfloat16
    with pytest.raises(AttentionError, match='"float7" is no number type'):
        open_model(str(folder), dtype="float7")


def test_the_revision_is_that_of_the_weights(folder):
    before = open_model(str(folder)).revision
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(np.float32(0.5).tobytes())
    assert open_model(str(folder)).revision != before


@pytest.mark.parametrize("name", ["no/such-model", "/no/such/folder", "..", ""])
def test_what_is_no_checkpoint_on_this_machine_is_named(name):
    with pytest.raises(AttentionError):
        open_model(name)
    with pytest.raises(AttentionError, match="no/such-model: no such folder, and no such checkpoint"):
        open_model("no/such-model")


def test_a_folder_without_config_is_named(tmp_path):
    with pytest.raises(AttentionError, match=r"holds no config\.json"):
        open_model(str(tmp_path))


def test_weights_that_could_run_code_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(AttentionError, match=r"no \*\.safetensors file.*can run code"):
        open_model(str(folder))


@pytest.mark.parametrize(
    ("name", "content"),
    [("model.safetensors", b"\x00" * 40), ("config.json", b"{"), ("preprocessor_config.json", b"[]")],
)
def test_a_broken_file_is_one_error_that_names_the_checkpoint(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(AttentionError, match="the checkpoint cannot be opened") as fault:
        open_model(str(folder))
    assert fault.value.where == str(folder)


def test_code_of_the_checkpoints_own_is_not_run_unless_asked(folder):
    (folder / "evil.py").write_text("raise SystemExit('the checkpoint ran code')\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.EvilConfig"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(AttentionError, match="trust_remote_code"):
        open_model(str(folder))


def test_V6_a_family_without_a_grid_is_refused_with_its_shapes_before_the_weights_are_read(folder):
    LlavaConfig().save_pretrained(folder)
    (folder / "preprocessor_config.json").unlink()
    CLIPImageProcessor().save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"never read")
    with pytest.raises(AttentionError, match=r'type "llava".*pixel_values \(1, 3, 224, 224\)'):
        open_model(str(folder))


def test_a_tokenizer_without_a_chat_template_is_named(folder):
    (folder / "chat_template.jinja").unlink()
    model = open_model(str(folder))
    from gazelab.core.picture import Picture

    with pytest.raises(AttentionError, match="has a chat template"):
        model.ask(Picture.from_rgb(np.zeros((56, 56, 3), np.uint8)), "What?")


def test_opening_a_folder_asks_no_other_machine(folder):
    """In a process that is not told to be offline."""
    code = (
        "import sys\n"
        "def watch(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.sendto'):\n"
        "        print(event, args); sys.stdout.flush(); import os; os._exit(3)\n"
        "sys.addaudithook(watch)\n"
        "from gazelab.attention.base import open_model\n"
        f"open_model({str(folder)!r})\n"
    )
    env = {k: v for k, v in os.environ.items() if not k.endswith("_OFFLINE")}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
