"""Training of the embedded chart reader: read first, then answer."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gazelab.attention.chartreader.training.checkpoint import CHECKPOINT
from gazelab.attention.chartreader.training.data import ChartSource
from gazelab.attention.chartreader.training.loop import CURVE, Trainer, TrainingConfig
from gazelab.attention.chartreader.training.warm_start import warm_start

__all__ = ["ChartSource", "Trainer", "TrainingConfig", "train"]

log = logging.getLogger(__name__)


def train(
    out_dir: Path,
    source: ChartSource,
    config: TrainingConfig,
    *,
    resume: bool = True,
    sizes: dict[str, Any] | None = None,
    max_steps: int | None = None,
    start_from: Path | None = None,
) -> Trainer:
    """Train for `config.minutes` of running time in all, going on from a checkpoint if there is one.

    Parameters
    ----------
    out_dir
        Folder of `checkpoint.safetensors`, `curve.jsonl` and `training.json`; made if absent.
    source
        Where charts come from.
    config
        How long and how to train.
    resume
        Go on from `out_dir/checkpoint.safetensors`; False starts anew.
    sizes
        Network sizes that differ from `NetworkConfig`'s defaults.
    max_steps
        Stop after so many steps of this run, whatever the time.
    start_from
        A weight file to begin with, unless a checkpoint is resumed. If all of the network is in it, the
        stages of reading alone are skipped.

    Returns
    -------
    The trainer, with its network.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(source, config, sizes or {})
    if resume and (out_dir / CHECKPOINT).exists():
        trainer.load(out_dir)
        log.info("resumed at step %d, %.0f s", trainer.step, trainer.elapsed_s)
    else:
        (out_dir / CURVE).unlink(missing_ok=True)
        if start_from is not None:
            fresh = warm_start(trainer.network, trainer.heads, trainer.tokenizer, start_from)
            if not fresh:
                trainer.begin_with_answers()
    described = {
        "training": asdict(config),
        "started_from": None if start_from is None else start_from.name,
        "network": trainer.network.config.to_json(),
        "tokens": list(trainer.tokenizer.tokens),
    }
    (out_dir / "training.json").write_text(json.dumps(described, indent=1), encoding="utf-8")
    trainer.run(out_dir, max_steps)
    return trainer
