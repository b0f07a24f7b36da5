"""A model or a chart that cannot be used: one sentence on the terminal, an exit code, never a traceback."""

from __future__ import annotations

import json
import pickle
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from transformers import LlamaConfig

from gazelab.attention import checkpoint
from gazelab.cli import main

sys.path.append(str(Path(__file__).resolve().parents[1] / "attention"))

import tiny_checkpoints

QUESTION = "What is the value of April?"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def folder(sound, tmp_path):
    """A sound checkpoint, to be spoiled."""
    return Path(shutil.copytree(sound, tmp_path / "model"))


@pytest.fixture
def chart(tmp_path):
    return write_chart(tmp_path / "chart.png", 140, 100)


def write_chart(path, width, height):
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def attend(tmp_path, capsys):
    """Run the verb; gives the exit code, what was printed, and the one line that says what is wrong."""

    def do(chart, model, question=QUESTION, *more):
        out = tmp_path / "out"
        asked = ["attend", str(chart), "--question", question, "--model", str(model), "--out", str(out)]
        code = main([*asked, "--max-tokens", "2", *more])
        told = capsys.readouterr()
        faults = [line for line in told.err.splitlines() if line.startswith("gazelab: ")]
        assert "Traceback" not in told.err
        assert len(faults) == (code != 0), told.err
        return code, told.out, faults[0] if faults else ""

    return do


def test_a_sound_model_answers(attend, chart, folder):
    code, out, _ = attend(chart, folder)
    assert code == 0
    assert "Answer: " in out


def test_a_patch_that_is_not_there_is_refused_before_the_model_answers(attend, chart, folder, tmp_path):
    code, out, fault = attend(chart, folder, QUESTION, "--patch", "99,0")
    assert code == 1
    assert "patch 99, 0 is outside the grid" in fault
    assert "on the picture" not in out
    assert not (tmp_path / "out").exists()


def test_raw_weights_of_one_token_can_be_had(attend, chart, folder):
    one = ("--method", "raw", "--layers", "-1", "--heads", "0")
    code, out, _ = attend(chart, folder, QUESTION, *one, "--tokens", "-1")
    assert code == 0
    assert "Map: raw, layer 1, head 0, token 1" in out


def test_a_missing_folder(attend, chart, tmp_path):
    code, _, fault = attend(chart, tmp_path / "nowhere")
    assert code == 1
    assert f"{tmp_path / 'nowhere'}: no such folder" in fault


def test_a_hub_name_that_is_not_here_says_how_to_get_it(attend, chart):
    code, _, fault = attend(chart, "someone/a-model")
    assert code == 1
    assert "no such checkpoint on this machine" in fault
    assert "--download" in fault


def test_a_model_of_the_wrong_type(attend, chart, folder):
    LlamaConfig().save_pretrained(folder)
    code, _, fault = attend(chart, folder)
    assert code == 1
    assert 'it is of type "llama", a language model for text alone' in fault


def test_a_folder_of_something_else(attend, chart, tmp_path):
    code, _, fault = attend(chart, tmp_path)
    assert code == 1
    assert "it holds no config.json, so it is no checkpoint" in fault


def test_corrupt_safetensors(attend, chart, folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])
    code, _, fault = attend(chart, folder)
    assert code == 1
    assert f"{file}: it is cut off" in fault


def test_a_pickle_checkpoint_is_never_read(attend, chart, folder):
    class Evil:
        def __reduce__(self):
            return (exec, ("raise SystemExit('the pickle ran')",))

    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    code, _, fault = attend(chart, folder)
    assert code == 1
    assert "pytorch_model.bin, a pickle, which can run code" in fault
    assert "save_pretrained" in fault


def test_V14_a_question_that_holds_the_pictures_place_holder_is_answered(attend, chart, folder, tmp_path):
    code, _, _ = attend(chart, folder, "<|image_pad|> What is <|vision_start|>?")
    assert code == 0
    (description,) = (path.with_suffix(".json") for path in (tmp_path / "out").glob("*.safetensors"))
    assert "Special tokens in the question were broken up." in json.loads(description.read_text())["note"]


@pytest.mark.parametrize("model", ["tiny", "chartreader"])
def test_V8_a_chart_of_one_pixel_is_answered(attend, folder, tmp_path, model):
    code, out, _ = attend(write_chart(tmp_path / "one.png", 1, 1), folder if model == "tiny" else model)
    assert code == 0
    assert "Answer: " in out


def test_V8_a_chart_that_the_models_processor_refuses(attend, folder, tmp_path):
    code, _, fault = attend(write_chart(tmp_path / "line.png", 1, 400), folder)
    assert code == 1
    assert "refuses a picture of 1 x 400 px" in fault


def test_a_chart_of_15000_by_13000_pixels(attend, folder, tmp_path):
    # Only the beginning of the file: nothing but its size may be looked at.
    size = struct.pack(">II", 15000, 13000) + b"\x08\x02\x00\x00\x00"
    head, pixels = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", size), (b"IDAT", zlib.compress(b"")))
    )
    (tmp_path / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + pixels)
    code, _, fault = attend(tmp_path / "huge.png", folder)
    assert code == 1
    assert "huge.png: the picture is too large. Scale it down first." in fault


def test_no_room_in_memory_for_the_model(attend, chart, folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "free_memory_bytes", lambda device: 50_000_000)
    code, _, fault = attend(chart, folder)
    assert code == 1
    assert "of memory, and 50 MB are free on cpu" in fault


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on a file's size there")
def test_no_room_on_the_disk_for_the_trace(chart, tmp_path):
    """In a process that may write 2000 bytes a file: what it writes then fails as on a full disk."""
    code = (
        "import resource, sys; from gazelab.cli import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]));"
        "sys.exit(main(sys.argv[1:]))"
    )
    asked = ["attend", str(chart), "--question", "How many?", "--model", "chartreader"]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    fault = done.stderr.splitlines()[-1]
    assert fault.startswith(f"gazelab: {tmp_path / 'out'}")
    assert "cannot be written (File too large). Free some space or choose another folder." in fault
    assert "Traceback" not in done.stderr


def test_a_file_where_the_folder_for_the_trace_should_be(attend, chart, folder, tmp_path):
    (tmp_path / "out").write_text("a file where the folder should be")
    code, _, fault = attend(chart, folder)
    assert code == 1
    assert str(tmp_path / "out") in fault


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "tpu"), "device tpu: there is no such kind of device. Use one of: cpu"),
        (("--dtype", "float7"), '"float7" is no number type'),
        (("--quant", "3bit"), '"3bit" is no quantisation'),
        (("--revision", "main"), "a folder has no revisions"),
    ],
)
def test_an_option_that_cannot_be(attend, chart, folder, options, message):
    code, _, fault = attend(chart, folder, "What?", *options)
    assert code == 1
    assert message in fault


@pytest.mark.parametrize("question", ["", "  "])
def test_without_a_question_nothing_is_asked(attend, chart, question):
    code, _, told = attend(chart, "chartreader", question)
    assert code != 0
    assert "there is no question" in told
