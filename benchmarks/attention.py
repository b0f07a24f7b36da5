"""What the attention tap costs, against the same model without it and with the library's own attentions.

    python benchmarks/attention.py [--pairs 7] [--picture 1600] [--dtype bfloat16] [--plot FILE] [--json FILE]

A decoder of SmolLM-135M's size and random weights answers greedily from a prompt as long as a chart's: three
ways, each in its turn, so that a busy machine slows all alike. The fast kernel alone (sdpa); the same under
the tap, all layers and heads, picture and text columns kept; eager attention with `output_attentions`. Trust
the ratios, not the seconds: an extra is the median over pairs of neighbouring runs, in wall time and in CPU
time. Memory is the peak above what the process held before (Linux only). The answers must be the same, and
tap and eager must agree on the last token's weights, or the run fails.

`--plot` draws both extras over the length of the prompt, and prints by which power of it they grow.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from gazelab.attention.tap import AttentionTap

N_TEXT_BEFORE, N_TEXT_AFTER = 20, 30
SDPA, TAP, EAGER = "sdpa", "tap", "eager, attentions kept"


@dataclass(frozen=True)
class Result:
    """One run: the answer, the last token's weights (layer, head, key), and the bytes that are kept."""

    answer: list[int]
    last: np.ndarray | None
    kept: int


Run = Callable[[], Result]


def random_model(layers: int, dtype: torch.dtype) -> Any:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=layers,
        num_attention_heads=9,
        num_key_value_heads=3,
        tie_word_embeddings=True,
        initializer_range=0.05,
        eos_token_id=None,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).eval().to(dtype)


def ways(model: Any, n_picture: int, n_answer: int) -> dict[str, Run]:
    options = {"max_new_tokens": n_answer, "min_new_tokens": n_answer, "do_sample": False}
    n_prompt = N_TEXT_BEFORE + n_picture + N_TEXT_AFTER
    ids = torch.randint(1, 1000, (1, n_prompt), generator=torch.Generator().manual_seed(0))
    picture = np.arange(N_TEXT_BEFORE, N_TEXT_BEFORE + n_picture)

    def sdpa() -> Result:
        model.set_attn_implementation("sdpa")
        return Result(model.generate(ids, **options)[0, n_prompt:].tolist(), None, 0)

    def tap() -> Result:
        model.set_attn_implementation("sdpa")
        with AttentionTap(model, picture=picture, dtype=np.float16) as tapped:
            answer = model.generate(ids, **options)[0, n_prompt:].tolist()
        rows = tapped.captured
        before, after = np.split(rows[-1].text_weights, [N_TEXT_BEFORE], -1)
        last = np.concatenate([before, rows[-1].weights, after], -1)
        return Result(answer, last, sum(row.weights.nbytes + row.text_weights.nbytes for row in rows))

    def eager() -> Result:
        model.set_attn_implementation("eager")
        out = model.generate(ids, output_attentions=True, return_dict_in_generate=True, **options)
        kept = sum(layer.nbytes for step in out.attentions for layer in step)
        last = torch.stack(out.attentions[-1])[:, 0, :, -1].float().numpy()
        return Result(out.sequences[0, n_prompt:].tolist(), last, kept)

    return {SDPA: sdpa, TAP: tap, EAGER: eager}


def peak_mb_over(run: Run) -> float:
    """Peak memory of a run above what the process held before it, in MB; NaN where it can't be measured.

    Looked at every 2 ms, and without the pages of files, which the system takes and gives as it likes.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        before = anonymous_kb()
    except (OSError, AttributeError, StopIteration):
        return float("nan")
    peak, ended = [before], threading.Event()

    def watch() -> None:
        while not ended.wait(0.002):
            peak[0] = max(peak[0], anonymous_kb())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        run()
    finally:
        ended.set()
        watcher.join()
    return (peak[0] - before) / 1e3


def anonymous_kb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def extra_memory_mb(runs: dict[str, Run], repeats: int) -> dict[str, float]:
    """Peaks above the fast kernel's, medians; the eager way runs once."""
    peaks: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats):
        for name, run in runs.items():
            if name != EAGER or turn == 0:
                peaks[name].append(peak_mb_over(run))
    medians = {name: statistics.median(values) for name, values in peaks.items()}
    return {name: value - medians[SDPA] for name, value in medians.items()}


def timed(run: Run) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def extra_time(runs: dict[str, Run], name: str, pairs: int) -> dict[str, float]:
    """Compare a way with the fast kernel in interleaved pairs, the first of a pair in turns."""
    ratios = []
    seconds = []
    for turn in range(pairs):
        order = (SDPA, name) if turn % 2 == 0 else (name, SDPA)
        took = {which: timed(runs[which]) for which in order}
        ratios.append(np.array(took[name]) / np.array(took[SDPA]) - 1)
        seconds.append(took[SDPA] + took[name])
    wall, cpu = np.array(ratios).T
    middle = np.median(np.array(seconds), 0)
    low, high = np.quantile(wall, [0.25, 0.75])
    return {
        "wall": float(np.median(wall)),
        "quartile_low": float(low),
        "quartile_high": float(high),
        "cpu": float(np.median(cpu)),
        "sdpa_s": float(middle[0]),
        "s": float(middle[2]),
        "sdpa_cpu_s": float(middle[1]),
        "cpu_s": float(middle[3]),
    }


def over_length(model: Any, lengths: list[int], n_answer: int) -> list[dict[str, float]]:
    """Extra seconds and extra peak memory of both ways, for prompts of several lengths."""
    rows = []
    for n_picture in lengths:
        runs = ways(model, n_picture, n_answer)
        memory = extra_memory_mb(runs, 3)
        cpu_s = {SDPA: [], TAP: [], EAGER: [timed(runs[EAGER])[1]]}
        for _ in range(3):
            for name in (SDPA, TAP):
                cpu_s[name].append(timed(runs[name])[1])
        least = {name: min(values) for name, values in cpu_s.items()}
        rows.append(
            {
                "tokens": n_picture + N_TEXT_BEFORE + N_TEXT_AFTER,
                "tap_mb": memory[TAP],
                "eager_mb": memory[EAGER],
                "tap_cpu_s": least[TAP] - least[SDPA],
                "eager_cpu_s": least[EAGER] - least[SDPA],
            }
        )
        print("  ".join(f"{key} {value:.4g}" for key, value in rows[-1].items()))
    return rows


def growth(rows: list[dict[str, float]], name: str) -> float:
    """Power of the prompt's length by which a figure grows: the slope between logarithms.

    NaN where a figure is not above 0: then it is smaller than what the measure itself moves by.
    """
    kept = [(row["tokens"], row[name]) for row in rows]
    if len(kept) < 2 or min(value for _, value in kept) <= 0:
        return float("nan")
    return float(np.polyfit(*np.log(np.array(kept)).T, 1)[0])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=int, default=1600, help="picture tokens")
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--answer", type=int, default=16, help="new tokens")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--plot", type=Path, help="PNG to draw; takes some minutes more")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    args = _arguments()
    torch.set_num_threads(args.threads)
    model = random_model(args.layers, getattr(torch, args.dtype))
    runs = ways(model, args.picture, args.answer)
    results = {name: run() for name, run in runs.items()}
    apart = float(np.abs(results[TAP].last - results[EAGER].last).max())
    same = len({tuple(result.answer) for result in results.values()}) == 1
    kept = {name: result.kept / 1e6 for name, result in results.items()}
    del results
    print("timing …", file=sys.stderr, flush=True)
    time_of = {TAP: extra_time(runs, TAP, args.pairs)}
    print("timing eager …", file=sys.stderr, flush=True)
    time_of[EAGER] = extra_time(runs, EAGER, 1)
    print("memory …", file=sys.stderr, flush=True)
    memory = extra_memory_mb(runs, 3)
    print(
        f"{args.picture} picture tokens of {args.picture + N_TEXT_BEFORE + N_TEXT_AFTER}, {args.answer} new"
        f" tokens, {args.layers} layers x 9 heads, {model.num_parameters() / 1e6:.0f} M random parameters,"
        f" {args.dtype}, {args.threads} thread(s); time: medians of {args.pairs} pairs (eager: 1)\n"
    )
    print("| way | s | extra time (quartiles) | extra CPU time | extra peak MB | weights kept MB |")
    print("|---|---|---|---|---|---|")
    print(f"| {SDPA} | {time_of[TAP]['sdpa_s']:.2f} | | | | |")
    for name, t in time_of.items():
        print(
            f"| {name} | {t['s']:.2f} | {t['wall']:+.1%} ({t['quartile_low']:+.1%} to"
            f" {t['quartile_high']:+.1%}) | {t['cpu']:+.1%} | {memory[name]:.0f} | {kept[name]:.1f} |"
        )
    print(f"\nextra peak memory, tap over eager: {memory[TAP] / memory[EAGER]:.4f}")
    print(f"same answer: {same}; tap and eager apart by at most {apart:.1e} (kept in float16)")
    found: dict[str, Any] = {"time": time_of, "extra_peak_mb": memory, "kept_mb": kept, "apart": apart}
    if args.plot is not None:
        from attention_plot import draw

        lengths = [n for n in (400, 800, 1200, 1600, 2000) if n <= max(args.picture, 400)]
        rows = found["over_length"] = over_length(model, lengths, args.answer)
        powers = {name: growth(rows, name) for name in rows[0] if name != "tokens"}
        told = (f"{n} {'below noise' if math.isnan(p) else f'{p:.1f}'}" for n, p in powers.items())
        print("grows with the length to the power of: " + ", ".join(told))
        draw(rows, args.plot)
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1))
    return 0 if same and apart < (1e-3 if args.dtype == "float32" else 0.05) else 1


if __name__ == "__main__":
    sys.exit(main())
