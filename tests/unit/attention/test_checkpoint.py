import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_checkpoints
import torch
from transformers import BertConfig, CLIPImageProcessor, Emu3Config, LlamaConfig

from gazelab.attention import checkpoint as checkpoint_module
from gazelab.attention import checkpoint_memory, checkpoint_placement
from gazelab.attention.base import open_model
from gazelab.attention.checkpoint_files import loaded_bytes, stored_bytes
from gazelab.attention.checkpoint_folder import find_folder
from gazelab.attention.checkpoint_memory import needed_bytes
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture


@pytest.fixture
def folder(tmp_path):
    return tiny_checkpoints.qwen_folder(tmp_path / "checkpoint")


def refused(folder, message, **options):
    """Open a folder, and give where the fault is said to be."""
    with pytest.raises(AttentionError, match=message) as fault:
        open_model(str(folder), **options)
    return Path(fault.value.where or "")


# Number type, device, quantisation


def test_the_number_type_is_as_asked(folder):
    model = open_model(str(folder), dtype="bfloat16")
    assert model.checkpoint.model.dtype == torch.bfloat16
    refused(folder, '"float7" is no number type', dtype="float7")
    refused(folder, '"int8" is no number type', dtype="int8")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", r"no NVIDIA card.*build of torch is for the CPU alone.*Use one of: cpu"),
        ("cuda:7", "no NVIDIA card"),
        ("mps", "no Apple GPU"),
        ("tpu", "no such kind of device"),
        ("cpu:x", "no such kind of device|cpu"),
        ("", "no such kind of device"),
    ],
)
def test_a_device_that_is_not_here_is_said_with_those_that_are(folder, device, message):
    if device in checkpoint_placement.devices() or torch.version.cuda:
        pytest.skip("it is here")
    assert refused(folder, message, device=device) == Path(f"device {device}")


def test_a_quantisation_without_its_library_is_said(folder, monkeypatch):
    refused(folder, '"3bit" is no quantisation. Use 4bit or 8bit', quant="3bit")
    there = set()
    monkeypatch.setattr(checkpoint_placement, "find_spec", lambda name: name in there or None)
    refused(folder, "accelerate is not installed.*pip install bitsandbytes accelerate", quant="8bit")
    there.add("accelerate")
    refused(folder, "neither bitsandbytes nor torchao is installed", quant="4bit")


# What is recorded


def test_the_revision_of_a_folder_is_the_hash_of_its_weights(folder):
    before = open_model(str(folder)).revision
    assert before == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(np.float32(0.5).tobytes())
    assert open_model(str(folder)).revision != before


def test_V7_template_and_processor_settings_are_recorded_with_their_hashes(folder):
    made_with = open_model(str(folder)).checkpoint.versions()
    template = (folder / "chat_template.jinja").read_text()
    assert made_with["chat_template"] == template
    assert made_with["chat_template_file"] == "chat_template.jinja"
    assert made_with["chat_template_sha256"] == hashlib.sha256(template.encode()).hexdigest()
    settings = json.loads(made_with["processor_settings"])
    assert settings["patch_size"] == 14
    assert (
        made_with["processor_settings_sha256"]
        == hashlib.sha256(made_with["processor_settings"].encode()).hexdigest()
    )
    assert made_with["quant"] == "none"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.json", lambda text: {"chat_template": text}),
        ("chat_template.json", lambda text: {"chat_template": [{"name": "default", "template": text}]}),
        ("processor_config.json", lambda text: {"chat_template": text}),
    ],
)
def test_a_template_beside_the_processor_is_found(folder, name, content):
    text = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").unlink()
    (folder / name).write_text(json.dumps(content(text)))
    model = open_model(str(folder))
    assert model.checkpoint.template == (text, name)
    assert model.ask(Picture.from_rgb(np.zeros((56, 56, 3), np.uint8)), "What?").prompt_length > 4


def test_a_tokenizer_without_a_chat_template_is_named(folder):
    (folder / "chat_template.jinja").unlink()
    model = open_model(str(folder))
    with pytest.raises(AttentionError, match="has a chat template"):
        model.ask(Picture.from_rgb(np.zeros((56, 56, 3), np.uint8)), "What?")


# What is no checkpoint, or a broken one


@pytest.mark.parametrize(
    "name", ["no/such-model", "/no/such/folder", "..", "", "a/b/c", "a" * 5000, "nul\0", "~nobody-here/x"]
)
def test_what_is_no_checkpoint_on_this_machine_is_named(name):
    with pytest.raises(AttentionError):
        open_model(name)


def test_what_to_do_about_a_missing_checkpoint_is_said():
    refused("no/such-model", "no such folder, and no such checkpoint.*with --download, or use 'chartreader'")
    refused("/no/such/folder", "no such folder, .*Give the folder of a checkpoint, an id such as owner/name")
    refused("no/such-model", "in the revision v1", revision="v1")


def test_a_folder_is_found_from_home_and_a_file_is_said_to_be_one(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert find_folder("~/checkpoint") == folder
    refused(folder / "model.safetensors", "that is a file. Give the folder")


def test_a_folder_has_no_revisions(folder):
    refused(folder, "a folder has no revisions", revision="main")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("holiday.jpg", r"holds no config\.json"),
        ("adapter_config.json", "holds an adapter.*merge it"),
        ("model_index.json", "holds an image generator"),
    ],
)
def test_a_folder_of_something_else_is_said(tmp_path, name, message):
    (tmp_path / name).write_text("{}")
    assert refused(tmp_path, message) == tmp_path


def test_a_pickle_is_refused_with_how_to_convert_it(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weights": [1.0]}))
    where = refused(folder, r"in pytorch_model\.bin, a pickle, which can run code.*use_safetensors=False")
    assert where == folder


def test_weights_of_another_program_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "model-Q4_K_M.gguf")
    refused(folder, r"in model-Q4_K_M\.gguf, a form of llama\.cpp's")


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (0, r"no safetensors file \(0 bytes, and no header\)"),
        (5, r"no safetensors file \(5 bytes, and no header\)"),
        (100, r"its header is cut off \(100 bytes\)"),
        (-1, "it is cut off: .* instead of"),
    ],
)
def test_weights_that_are_cut_off_are_named(folder, keep, message):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    assert refused(folder, message) == file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://example.org/git-lfs/spec/v1\noid sha256:0\n", "a Git LFS pointer.*git lfs pull"),
        (b"\x00" * 40, "its header is damaged"),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00[]", "its header is damaged"),
        (b"PK\x03\x04 an archive of something", "no safetensors file"),
    ],
)
def test_weights_that_are_none_are_named(folder, content, message):
    file = folder / "model.safetensors"
    file.write_bytes(content)
    assert refused(folder, message) == file


def test_a_damaged_middle_is_found_by_what_comes_of_it(folder):
    """Values carry no checksum: what no longer is a number stops the first answer, with its layer."""
    file = folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    data[start:] = b"\xff" * (len(data) - start)
    file.write_bytes(bytes(data))
    model = open_model(str(folder))
    with pytest.raises(AttentionError, match="not finite"):
        model.trace(Picture.from_rgb(np.zeros((56, 56, 3), np.uint8)), "What?", 1)


def test_a_missing_part_of_the_weights_is_named(folder):
    file = folder / "model.safetensors"
    file.rename(folder / "model-00001-of-00002.safetensors")
    refused(folder, r"model\.safetensors\.index\.json is missing")
    table = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    refused(folder, r"1 of 2 weight files are missing, the first is model-00002-of-00002\.safetensors")
    table["b"] = "../../secret.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))
    refused(folder, "1 of 2 weight files are missing")


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b""])
def test_a_broken_config_is_named(folder, content):
    (folder / "config.json").write_bytes(content)
    assert refused(folder, "JSON") == folder / "config.json"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("preprocessor_config.json", b"[]", "the picture processor cannot be read"),
        ("preprocessor_config.json", b'{"image_processor_type": "None"}', "the picture processor"),
        ("tokenizer.json", b"{", "the tokenizer cannot be read"),
    ],
)
def test_a_broken_part_is_named(folder, name, content, message):
    (folder / name).write_bytes(content)
    assert refused(folder, message) == folder / name


def test_a_missing_processor_or_tokenizer_is_named(folder):
    (folder / "preprocessor_config.json").rename(folder / "away")
    refused(folder, r"its picture processor is missing: there is no preprocessor_config\.json and no")
    (folder / "away").rename(folder / "preprocessor_config.json")
    (folder / "tokenizer.json").unlink()
    refused(folder, r"its tokenizer is missing: .*no tokenizer\.json")


def test_a_model_of_another_kind_is_refused(folder):
    LlamaConfig().save_pretrained(folder)
    refused(folder, 'type "llama", a language model for text alone.*gazelab models')
    BertConfig().save_pretrained(folder)
    refused(folder, '"bert"')


def test_a_type_that_transformers_does_not_know_is_named(folder):
    config = json.loads((folder / "config.json").read_text()) | {"model_type": "future_vl"}
    (folder / "config.json").write_text(json.dumps(config))
    where = refused(folder, r'the model type "future_vl" cannot be read.*made for transformers \d')
    assert where == folder / "config.json"
    (folder / "config.json").write_text("{}")
    refused(folder, "names no model_type")


def test_code_of_the_checkpoints_own_is_not_run_unless_asked(folder):
    (folder / "evil.py").write_text("raise SystemExit('the checkpoint ran code')\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.EvilConfig"}}
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder, "allow it with --trust-remote-code, if you trust its publisher")


def test_V6_a_family_without_a_grid_is_refused_with_its_shapes_before_the_weights_are_read(folder):
    Emu3Config().save_pretrained(folder)
    (folder / "preprocessor_config.json").unlink()
    CLIPImageProcessor().save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"never read")
    refused(folder, r'type "emu3".*pixel_values \(1, 3, 224, 224\)')


# Memory


def test_the_memory_of_a_checkpoint_is_known_from_its_files(folder):
    numbers = sum(p.numel() for p in open_model(str(folder)).checkpoint.model.parameters())
    assert loaded_bytes(folder) == 4 * numbers  # stored in float32
    assert loaded_bytes(folder, 2.0) == 2 * numbers
    assert stored_bytes(folder) > 4 * numbers
    assert needed_bytes(folder, "float32") > needed_bytes(folder, "bfloat16")
    assert needed_bytes(folder, "bfloat16") > needed_bytes(folder, "auto", "4bit")


def test_a_model_without_room_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(checkpoint_memory, "free_host_bytes", lambda: 100_000_000)
    monkeypatch.setattr(checkpoint_module, "_model", None)
    refused(folder, r"needs about \d+ MB of memory, and 100 MB are free on cpu.*--quant 4bit")


def test_memory_that_runs_out_while_loading_is_one_sentence(folder, monkeypatch):
    def full(*args, **kw):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(checkpoint_module.AutoModelForImageTextToText, "from_pretrained", full)
    refused(folder, "memory ran out while it was loaded")


# Other machines


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
        "from gazelab.core.errors import AttentionError\n"
        "try:\n"
        "    open_model('someone/not-here')\n"
        "except AttentionError:\n"
        "    sys.exit(0)\n"
        "sys.exit(4)\n"
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


def test_a_checkpoint_of_the_hub_is_named_by_its_commit(folder, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    commit = "0123456789abcdef0123456789abcdef01234567"
    home = tmp_path / "cache" / "models--someone--a-model"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    (home / "snapshots").mkdir()
    folder.rename(home / "snapshots" / commit)
    opened = open_model("someone/a-model")
    assert opened.revision == commit
    assert opened.model_id == "someone/a-model"
    assert find_folder("someone/a-model", ModelOptions(revision=commit)).name == commit
    (home / "snapshots" / commit / "model.safetensors").unlink()
    refused("someone/a-model", r"is not whole: .*Finish the download with --download")


def test_a_folder_without_weights_has_no_size_and_says_so(tmp_path):
    with pytest.raises(AttentionError, match=r"holds no config\.json"):
        stored_bytes(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(AttentionError, match=r"no \*\.safetensors file"):
        stored_bytes(tmp_path)
