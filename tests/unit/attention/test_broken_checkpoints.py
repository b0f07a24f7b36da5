"""Checkpoints whose settings, template or weight files cannot be: a sentence each, never another error."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent / "grids"))

import tiny_idefics3

from gazelab.attention.base import open_model
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

GREY = Picture.from_rgb(np.full((40, 60, 3), 128, np.uint8))
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return tiny_idefics3.smolvlm_folder(tmp_path_factory.mktemp("sound"))


@pytest.fixture
def folder(sound, tmp_path):
    return Path(shutil.copytree(sound, tmp_path / "model"))


def set_config(folder, part=None, **values):
    file = folder / "config.json"
    config = json.loads(file.read_text())
    (config if part is None else config[part]).update(values)
    file.write_text(json.dumps(config))


def write_header(folder, header):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(raw)) + raw + b"0000")


def entry(**other):
    return {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], **other}}


def refused(folder, match):
    with pytest.raises(AttentionError, match=match):
        open_model(str(folder)).head(GREY, "What?")


@pytest.mark.parametrize(
    ("part", "values"),
    [
        (None, {"image_token_id": "x"}),
        (None, {"image_token_id": -1}),
        (None, {"text_config": "x"}),
        (None, {"scale_factor": 0}),
        ("text_config", {"num_attention_heads": 0}),
        ("text_config", {"num_attention_heads": 3}),
        ("text_config", {"vocab_size": 10}),
        ("vision_config", {"patch_size": 0}),
    ],
)
@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_settings_that_cannot_be(folder, part, values):
    set_config(folder, part, **values)
    refused(folder, "cannot be|place-holder")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_settings_nested_without_end(folder, text):
    (folder / "config.json").write_text(text)
    refused(folder, r"config\.json: it cannot be read as JSON")


@pytest.mark.parametrize(
    "template",
    [
        "{% for %}",
        '{{ raise_exception("no") }}',
        "{{ a.b.c }}",
        "{{ 1 / 0 }}",
        '{{ 1 + "a" }}',
        "{{ ().__class__.__bases__ }}",
    ],
)
def test_a_chat_template_that_cannot_be_run(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    refused(folder, "its tokenizer cannot make a prompt .*Its chat template is broken")


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 200_000,
        {"a": {"shape": [1], "data_offsets": [0, 4]}},
        entry(shape="q"),
        entry(shape=[-1]),
        entry(dtype=["F32"]),
        entry(data_offsets=[0, 4, 4]),
    ],
    ids=["nested", "no dtype", "shape", "negative", "dtype", "offsets"],
)
def test_a_header_that_says_nothing_sensible(folder, header):
    write_header(folder, header)
    refused(folder, r"model\.safetensors: its header is damaged")


@pytest.mark.parametrize("named", [5, ["x"], "..", "", "a\0b", "/etc/passwd", "../model/model.safetensors"])
def test_an_index_that_names_no_file_of_the_folder(folder, named):
    (folder / WEIGHTS).rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": named}}))
    refused(folder, "1 of 1 weight files are missing")


def test_an_index_cannot_name_a_pickle(folder):
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "pytorch_model.bin"}}')
    refused(folder, "a pickle, which can run code")


def test_an_end_mark_that_is_no_number(folder):
    (folder / "generation_config.json").write_text('{"eos_token_id": "x"}')
    with pytest.raises(AttentionError, match="the model cannot be run on this question"):
        open_model(str(folder)).trace(GREY, "What?", 1)


def test_what_may_not_be_read(folder, monkeypatch):
    def forbidden(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", forbidden)
    refused(folder, "it cannot be read .Permission denied")


@pytest.mark.parametrize(
    "body",
    ["1 / 0", "assert False", "{}['x']", "raise OverflowError", "nothing_of_this_name"],
)
def test_a_grid_of_ones_own_that_cannot_be_run(folder, tmp_path, body):
    (tmp_path / "grid.py").write_text(body)
    with pytest.raises(AttentionError, match=r"grid\.py: it cannot be run"):
        open_model(str(folder), grid_file=tmp_path / "grid.py")


@pytest.mark.parametrize(
    "body", ["inputs['nothing']", "1 / 0", "config.nothing", "None", "Layout((), 4, 'x')", "assert_no()"]
)
def test_a_grid_of_ones_own_that_gives_no_layout(folder, tmp_path, body):
    (tmp_path / "grid.py").write_text(
        "from gazelab.attention import Family, Layout\n"
        f"FAMILY = Family(lambda inputs, config, width_px, height_px: {body})\n"
    )
    model = open_model(str(folder), grid_file=tmp_path / "grid.py")
    with pytest.raises(AttentionError, match="its tokens cannot be laid over a picture of 60 x 40 px"):
        model.head(GREY, "What?")


@pytest.mark.parametrize(
    "suggested",
    [
        {"suppress_tokens": list(range(200))},
        {"begin_suppress_tokens": list(range(200))},
        {"min_new_tokens": 3},
        {"max_time": 1e-9},
        {"guidance_scale": 2.0},
        {"stop_strings": "a"},
        {"exponential_decay_length_penalty": [0, 9.0]},
        {"forced_eos_token_id": 7},
        {"encoder_no_repeat_ngram_size": 1},
        {"watermarking_config": {"greenlist_ratio": 0.5, "bias": 50.0}},
        {"prompt_lookup_num_tokens": 3},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_a_checkpoint_suggests_changes_neither_answer_nor_probabilities(sound, folder, suggested):
    plain = open_model(str(sound)).trace(GREY, "What?", 3)
    file = folder / "generation_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **suggested}))
    trace = open_model(str(folder)).trace(GREY, "What?", 3)
    assert trace.token_ids == plain.token_ids
    assert trace.top == plain.top


def test_a_question_longer_than_the_model_reads(sound):
    model = open_model(str(sound))
    model.checkpoint.config.text_config.max_position_embeddings = 400
    with pytest.raises(AttentionError, match=r"take \d+ tokens, and it reads 400 at most.*fewer words"):
        model.head(GREY, "value " * 100)
    assert model.head(GREY, "value").prompt_tokens


@pytest.mark.parametrize("name", ["chartreader", "checkpoint"])
def test_a_question_that_is_no_text(sound, name):
    model = open_model(name if name == "chartreader" else str(sound))
    for ask in (model.head, model.trace):
        with pytest.raises(AttentionError, match=r"the question's character 4 is no text \(byte 0xff\)"):
            ask(GREY, "How\udcff?")


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ({"dtype": "float16"}, "dtype"),
        ({"quant": "4bit"}, "quant"),
        ({"revision": "main"}, "revision"),
        ({"grid_file": Path("x.py")}, "grid file"),
    ],
)
def test_the_embedded_model_does_not_pretend_to_follow_an_option(option, named):
    with pytest.raises(AttentionError, match=f"takes no {named}"):
        open_model("chartreader", **option)
