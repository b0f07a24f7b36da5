"""What the attention tap costs, against the same model without it and with the library's own attentions.

    python benchmarks/attention_tap.py [--tokens N] [--layers N] [--answer N] [--repeats N] [--threads N]

A decoder of random weights answers greedily from a prompt as long as a chart's. Three ways, in turns, so that
a busy machine slows all alike: the fast kernel alone (sdpa), the same under the tap, and eager attention with
`output_attentions`. Trust the ratios, not the seconds. Memory is the peak above what the process held before
the first run of each way (Linux only), and what the kept weights take in the end. The answers must be the
same, and tap and eager must agree on the weights, or the run fails.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from gazelab.attention.tap import AttentionTap

Run = Callable[[], tuple[list[int], np.ndarray | None, int]]


def random_model(layers: int) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=layers,
        num_attention_heads=9,
        num_key_value_heads=3,
        initializer_range=0.05,
        eos_token_id=None,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).eval()


def ways(model: Any, ids: torch.Tensor, n_answer: int) -> dict[str, Run]:
    """Each way gives the answer, the last token's weights (layer, head, key), and the bytes it keeps."""
    options = {"max_new_tokens": n_answer, "min_new_tokens": n_answer, "do_sample": False}
    n_prompt = ids.shape[1]

    def sdpa() -> tuple[list[int], None, int]:
        model.set_attn_implementation("sdpa")
        return model.generate(ids, **options)[0, n_prompt:].tolist(), None, 0

    def tap() -> tuple[list[int], np.ndarray, int]:
        model.set_attn_implementation("sdpa")
        with AttentionTap(model, dtype=np.float16) as tapped:
            answer = model.generate(ids, **options)[0, n_prompt:].tolist()
        return answer, tapped.captured[-1].weights, sum(row.weights.nbytes for row in tapped.captured)

    def eager() -> tuple[list[int], np.ndarray, int]:
        model.set_attn_implementation("eager")
        out = model.generate(ids, output_attentions=True, return_dict_in_generate=True, **options)
        kept = sum(layer.nbytes for step in out.attentions for layer in step)
        last = torch.stack(out.attentions[-1])[:, 0, :, -1].numpy()
        return out.sequences[0, n_prompt:].tolist(), last, kept

    return {"sdpa": sdpa, "tap": tap, "eager, attentions kept": eager}


def peak_mb_over(run: Run) -> float:
    """Peak memory of a run above what the process held before it, in MB; NaN where it can't be measured."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _status_kb("VmRSS")
        run()
        return (_status_kb("VmHWM") - before) / 1e3
    except (OSError, AttributeError):
        return float("nan")


def _status_kb(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=1200)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--answer", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = random_model(args.layers)
    ids = torch.randint(1, 1000, (1, args.tokens))
    runs = ways(model, ids, args.answer)
    peaks = {name: peak_mb_over(run) for name, run in runs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    results = {}
    for _ in range(args.repeats):
        for name, run in runs.items():
            results[name] = None
            start = time.perf_counter()
            results[name] = run()
            seconds[name].append(time.perf_counter() - start)
    print(
        f"{args.tokens} prompt tokens, {args.answer} answer tokens, {args.layers} layers x 9 heads,"
        f" {model.num_parameters() / 1e6:.0f} M random parameters, float32, {args.threads} thread(s),"
        f" median of {args.repeats}\n"
    )
    bare = statistics.median(seconds["sdpa"])
    print("| way | s | × sdpa | peak MB | weights kept MB |\n|---|---|---|---|---|")
    for name in runs:
        median = statistics.median(seconds[name])
        kept = results[name][2] / 1e6
        print(f"| {name} | {median:.2f} | {median / bare:.2f} | {peaks[name]:.0f} | {kept:.1f} |")
    answers = {tuple(answer) for answer, _, _ in results.values()}
    apart = float(np.abs(results["tap"][1] - results["eager, attentions kept"][1]).max())
    print(
        f"\nsame answer: {len(answers) == 1}; tap and eager apart by at most {apart:.1e} (stored in float16)"
    )
    return 0 if len(answers) == 1 and apart < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
