"""Train the chart reader within a given time, with checkpoints and resume."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from gazelab.attention.chartreader.network import ChartReaderNetwork, NetworkConfig
from gazelab.attention.chartreader.spelled_embedding import SpelledEmbedding
from gazelab.attention.chartreader.spelling import SpellingTokenizer
from gazelab.attention.chartreader.training.checkpoint import (
    CHECKPOINT,
    load_optimisers,
    optimiser_tensors,
    part,
    read_checkpoint,
    write_checkpoint,
)
from gazelab.attention.chartreader.training.data import Batch, ChartSource, collate
from gazelab.attention.chartreader.training.losses import (
    ReadingHeads,
    answer_loss,
    exact_answers,
    line_loss,
    look_loss,
    reading_loss,
)
from gazelab.attention.chartreader.training.muon import make_optimisers
from gazelab.attention.chartreader.training.schedule import Schedule
from gazelab.core.errors import AttentionError

log = logging.getLogger(__name__)

CURVE = "curve.jsonl"
LINE_CHANNELS = 96
HELD_OUT_SEED = 7_000_003


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how to train.

    `minutes` is the whole training time over all resumed runs. `bfloat16` is worth it on a CPU with
    AVX512-BF16 or AMX only.
    """

    minutes: float
    seed: int = 0
    threads: int = 1
    charts: int = 8
    questions: int = 8
    held_out_charts: int = 64
    checkpoint_s: float = 300.0
    report_s: float = 60.0
    bfloat16: bool = True
    schedule: Schedule = field(default_factory=Schedule)


class Trainer:
    """One training run: network, reading heads, optimisers and how far it has come."""

    def __init__(self, source: ChartSource, config: TrainingConfig, sizes: dict[str, Any]) -> None:
        torch.set_num_threads(config.threads)
        torch.manual_seed(config.seed)
        self.source = source
        self.config = config
        self.tokenizer = SpellingTokenizer(source.words)
        network = NetworkConfig(
            tokens=len(self.tokenizer),
            characters=self.tokenizer.n_characters,
            **{"line_channels": LINE_CHANNELS, **sizes},
        )
        self.network = ChartReaderNetwork(network)
        self.heads = ReadingHeads(network, len(source.colours))
        self.colours = [self.tokenizer.id_of(colour) for colour in source.colours]
        self.optimisers = make_optimisers((self.network, self.heads), config.schedule.lr)
        self.step = 0
        self.first_step = 0
        self.elapsed_s = 0.0
        self.rng = np.random.default_rng(config.seed)
        self._held_out: list[Batch] = []

    @property
    def progress(self) -> float:
        """Share of the training time that has passed, 0..1."""
        return min(1.0, self.elapsed_s / (60.0 * self.config.minutes))

    def batch(self, rng: np.random.Generator, n_charts: int, practice: bool) -> Batch:
        """Draw and encode charts."""
        charts = [self.source.draw(rng, self.config.questions, practice) for _ in range(n_charts)]
        return collate(
            charts, self.config.questions, self.tokenizer, self.source.colours, self.network.config
        )

    def begin_with_answers(self) -> None:
        """Skip the stages of reading alone: for a network that can read already."""
        self.step = self.first_step = self.config.schedule.answers_from_step

    def train_step(self) -> dict[str, float]:
        """One update; returns the losses and shares of right predictions."""
        lr = self.config.schedule.lr_at(self.step - self.first_step, self.progress)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = lr
        batch = self.batch(self.rng, self.config.charts, practice=True)
        loss, report = self._loss(batch)
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)
        self.step += 1
        if not torch.isfinite(loss):
            log.warning("step %d skipped: its loss is not finite", self.step)
            return report
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([*self.network.parameters(), *self.heads.parameters()], 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
        return report

    def _loss(self, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
        schedule, embedding = self.config.schedule, self.network.embedding
        assert isinstance(embedding, SpelledEmbedding)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.config.bfloat16):
            line, cells = self.network.encoder.stem.stages(batch.pictures)
            assert line is not None
            read = line_loss(self.heads, embedding, line, cells, batch)
            if not schedule.cells_at(self.step):
                return read.total, {"line_loss": float(read.total.detach()), **read.right}
            memory = self.network.encoder.mix(cells)
            fetched = schedule.fetched_weight_at(self.step)
            reading = reading_loss(self.heads, embedding, memory, batch.reading, self.colours, fetched)
            report = {"reading_loss": float(reading.total.detach()), **read.right, **reading.right}
            side = reading.total + schedule.line_weight * read.total
            if not schedule.answers_at(self.step):
                return side, report
            logits, weights = self.network.decode(batch.ids, memory)
            answer, look = answer_loss(logits, batch), look_loss(weights, batch)
        report |= {"answer_loss": float(answer.total.detach()), **answer.right, **look.right}
        total = answer.total + schedule.look_weight * look.total
        return total + schedule.reading_weight_at(self.step) * side, report

    @torch.no_grad()
    def held_out(self) -> dict[str, float]:
        """Share of right answers on charts of another seed, over all and by kind."""
        if not self._held_out:
            rng = np.random.default_rng(HELD_OUT_SEED)
            n = max(1, self.config.held_out_charts // self.config.charts)
            self._held_out = [self.batch(rng, self.config.charts, practice=False) for _ in range(n)]
        by_kind: dict[str, list[bool]] = {}
        for batch in self._held_out:
            with torch.autocast("cpu", torch.bfloat16, enabled=self.config.bfloat16):
                logits, _ = self.network.decode(batch.ids, self.network.encode(batch.pictures))
            for kind, right in zip(batch.kinds, exact_answers(logits, batch).tolist(), strict=True):
                by_kind.setdefault(kind, []).append(right)
        every = [right for rights in by_kind.values() for right in rights]
        return {"all": sum(every) / len(every)} | {k: sum(v) / len(v) for k, v in sorted(by_kind.items())}

    def save(self, folder: Path) -> None:
        """Write the checkpoint, replacing the last one in one step."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"heads.{name}": value for name, value in self.heads.state_dict().items()}
        tensors |= optimiser_tensors(self.optimisers)
        progress = {
            "step": self.step,
            "first_step": self.first_step,
            "elapsed_s": self.elapsed_s,
            "rng": self.rng.bit_generator.state,
        }
        write_checkpoint(folder, tensors, progress)

    def load(self, folder: Path) -> None:
        """Go on from a checkpoint of `save`.

        Raises
        ------
        AttentionError
            It is broken, or of a network of other sizes or words.
        """
        tensors, progress = read_checkpoint(folder)
        try:
            self.network.load_state_dict(part(tensors, "network."))
            self.heads.load_state_dict(part(tensors, "heads."))
            load_optimisers(self.optimisers, tensors)
        except (RuntimeError, ValueError) as fault:
            raise AttentionError(
                "the checkpoint is of a network of other sizes or words.",
                where=folder / CHECKPOINT,
                todo="Start anew in another folder, or with --restart.",
            ) from fault
        self.step, self.first_step = progress["step"], progress["first_step"]
        self.elapsed_s = progress["elapsed_s"]
        self.rng.bit_generator.state = progress["rng"]

    def run(self, folder: Path, max_steps: int | None = None) -> None:
        """Train until the time is up, writing curve and checkpoints to `folder`."""
        try:
            self._run(folder, max_steps)
        finally:
            # A stop by the user (KeyboardInterrupt) loses nothing either.
            self.save(folder)

    def _run(self, folder: Path, max_steps: int | None) -> None:
        last = time.monotonic()
        next_report, next_save = self.elapsed_s, self.elapsed_s + self.config.checkpoint_s
        first_step = self.step
        while self.progress < 1.0 and (max_steps is None or self.step - first_step < max_steps):
            report = self.train_step()
            now = time.monotonic()
            self.elapsed_s += now - last
            last = now
            if self.elapsed_s >= next_report:
                self._report(folder, report)
                next_report = self.elapsed_s + self.config.report_s
            if self.elapsed_s >= next_save:
                self.save(folder)
                next_save = self.elapsed_s + self.config.checkpoint_s
        self._report(folder, {})

    def _report(self, folder: Path, report: dict[str, float]) -> None:
        line: dict[str, Any] = {"step": self.step, "elapsed_s": round(self.elapsed_s, 1)}
        line |= {name: round(value, 4) for name, value in report.items()}
        if self.config.schedule.answers_at(self.step):
            line["held_out"] = {kind: round(share, 3) for kind, share in self.held_out().items()}
        with (folder / CURVE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        log.info("%s", line)
