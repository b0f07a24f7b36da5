"""What one question costs on one processor core: a published checkpoint's size, random weights.

    python benchmarks/model_seconds.py [NAME ...] [--runs 3] [--tokens 8]

A chart of 850 x 600 px and a question go in, eight tokens come out, every layer and head tapped; bfloat16,
one thread. CPU seconds of this process (its wall time depends on who else is at work), the median of the
runs; beside it the floating-point operations of the same answer, so that the seconds of models that are too
large to measure here can be estimated from theirs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from published_models import CONFIGS, PROCESSORS, config
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForImageTextToText, PreTrainedTokenizerFast

from gazelab.attention.checkpoint import Checkpoint
from gazelab.attention.grids import family_of
from gazelab.attention.huggingface import HuggingFaceModel
from gazelab.core.picture import Picture

DEFAULT = ("HuggingFaceTB/SmolVLM-256M-Instruct", "HuggingFaceTB/SmolVLM-500M-Instruct")
CHART_PX = (850, 600)
QUESTION = "What is the largest value?"


def tokenizer() -> Any:
    """Words, and Idefics3's tags for up to 6 x 6 tiles."""
    tags = [f"<row_{row}_col_{col}>" for row in range(1, 7) for col in range(1, 7)]
    special = ["<fake_token_around_image>", "<image>", "<global-img>", *tags]
    words = ["[UNK]", "[END]", *QUESTION.split()]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", pad_token="[END]")
    fast.add_special_tokens({"additional_special_tokens": special})
    fast.chat_template = (
        "{% for part in messages[0]['content'] %}"
        "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}"
    )
    return fast


def random_model(name: str) -> HuggingFaceModel:
    torch.manual_seed(0)
    words = tokenizer()
    settings = config(name)
    settings.image_token_id = words.convert_tokens_to_ids("<image>")
    model = AutoModelForImageTextToText.from_config(settings, dtype=torch.bfloat16).eval()
    model.generation_config.eos_token_id = None
    family = family_of(settings.model_type).of(settings)
    return HuggingFaceModel(Checkpoint(name, Path(), settings, words, PROCESSORS[name](), model, family))


def measure(name: str, runs: int, tokens: int) -> tuple[int, float, float]:
    """Give the prompt's length, the median CPU seconds, and the operations in units of 10^12."""
    model = random_model(name)
    width, height = CHART_PX
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    chart = Picture.from_rgb(pixels)
    length = model.ask(chart, QUESTION).prompt_length
    seconds = []
    for _ in range(runs):
        before = time.process_time()
        list(model.stream(chart, QUESTION, tokens))
        seconds.append(time.process_time() - before)
    with FlopCounterMode(display=False) as counted:
        model.untapped_answer(model.ask(chart, QUESTION), tokens)
    return length, statistics.median(seconds), counted.get_total_flops() / 1e12


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=DEFAULT, metavar="NAME", help=", ".join(CONFIGS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=8)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.names:
        length, seconds, operations = measure(name, given.runs, given.tokens)
        print(f"{name}: {length} tokens in the prompt, {seconds:.1f} CPU s, {operations:.2f} T operations")


if __name__ == "__main__":
    main()
