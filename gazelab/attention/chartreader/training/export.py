"""Write trained weights as the package ships them: fp16 safetensors with a JSON beside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save

from gazelab.attention.chartreader.training.checkpoint import part, read_checkpoint
from gazelab.attention.chartreader.training.loop import CURVE
from gazelab.attention.chartreader.training.warm_start import HEADS


def export_weights(
    run_dir: Path, weights: Path, held_out: dict[str, Any] | None = None, history: Sequence[str] = ()
) -> None:
    """Write a training run's last checkpoint as `weights` (.safetensors) and the JSON of the same name.

    Parameters
    ----------
    run_dir
        Folder of a run of `train`.
    weights
        The file to write.
    held_out
        Scores on charts never trained on, written as they are.
    history
        What was changed while the run went on: whoever repeats it must know.
    """
    tensors, progress = read_checkpoint(run_dir)
    network = part(tensors, "network.")
    described = json.loads((run_dir / "training.json").read_text(encoding="utf-8"))
    curve = [json.loads(line) for line in (run_dir / CURVE).read_text(encoding="utf-8").splitlines()]
    weights.parent.mkdir(parents=True, exist_ok=True)
    # The read-outs of the training go along (they are small), so that it can be taken up again.
    kept = network | {HEADS + name: value for name, value in part(tensors, "heads.").items()}
    half = {name: value.half().contiguous() for name, value in kept.items()}
    weights.write_bytes(save(half))
    facts = {
        "model": "gazelab/chartreader",
        "what": "a small teaching model, trained on gazelab's synthetic charts only",
        **described,
        "steps": progress["step"],
        "trained_s": round(progress["elapsed_s"], 1),
        "parameters": sum(value.numel() for value in network.values()),
        "history": list(history),
        "held_out": held_out or {},
        "curve": curve,
    }
    weights.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
