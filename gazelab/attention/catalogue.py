"""Checkpoints that we recommend for charts, with what each costs. No torch here: the list is quick.

Where the figures come from. Parameters and a chart's tokens: counted from each checkpoint's published
configuration, by its own picture processor and our grid (`benchmarks/published_models.py`). Download:
parameters times the stored number type; the hub says the exact size before a download. Memory: weights in
bfloat16 and what a run takes beside them (`gazelab.attention.checkpoint_memory`). CPU seconds: measured where
`measured_seconds` stands, with random weights of the same size, one core of a busy machine, a chart of
850 x 600 px and an answer of eight tokens (`benchmarks/model_seconds.py`); else estimated from the arithmetic
at the rate of the measured ones, and told as an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

from gazelab.attention.checkpoint_files import check_folder, check_weights
from gazelab.attention.checkpoint_memory import WORKING_BYTES, WORKING_SHARE
from gazelab.attention.hub import cached_folder
from gazelab.core.errors import AttentionError

OPERATIONS_A_SECOND = 0.121e12
"""Of one core in bfloat16: what the measured models reach. A quicker machine needs less time for all."""


@dataclass(frozen=True)
class KnownCheckpoint:
    """A published checkpoint.

    Attributes
    ----------
    name : str
        Its id at the hub.
    parameters : int
    stored_bytes : int
        Bytes a number in the published files.
    chart_tokens : int
        A chart of 850 x 600 px in the prompt, or (encoder-decoder) in the encoder.
    operations : float
        Of one question, in units of 10^12.
    measured_seconds : float, optional
        CPU seconds a question.
    note : str
        What to know of it.
    """

    name: str
    parameters: int
    stored_bytes: int
    chart_tokens: int
    operations: float
    note: str
    measured_seconds: float | None = None

    @property
    def download_bytes(self) -> int:
        """What is fetched, about."""
        return self.parameters * self.stored_bytes

    @property
    def memory_bytes(self) -> int:
        """What it takes in bfloat16, about."""
        return int(2 * self.parameters * (1 + WORKING_SHARE)) + WORKING_BYTES

    @property
    def seconds(self) -> float:
        """CPU seconds of one core a question; an estimate where they were not measured."""
        return self.measured_seconds or self.operations * 1e12 / OPERATIONS_A_SECOND

    @property
    def here(self) -> str:
        """Whether it is on this computer: "yes", "begun" or "no"."""
        folder = cached_folder(self.name)
        if folder is None:
            return "no"
        try:
            check_folder(folder)
            check_weights(folder)
        except AttentionError:
            return "begun"
        return "yes"

    def fits(self, free_bytes: int | None) -> bool | None:
        """Whether it fits the memory that is free; None if that is not known."""
        return None if free_bytes is None else self.memory_bytes <= free_bytes


_GATED = "Its owner asks for consent to a licence before the download."
CATALOGUE = (
    KnownCheckpoint(
        "HuggingFaceTB/SmolVLM-256M-Instruct",
        256_484_928,
        2,
        832,
        2.98,
        "Begin here: the smallest, and quick enough for any laptop. Tiles and the whole picture.",
        24.6,
    ),
    KnownCheckpoint(
        "HuggingFaceTB/SmolVLM-500M-Instruct",
        507_482_304,
        2,
        832,
        3.36,
        "The same eyes, a larger language model.",
        27.7,
    ),
    KnownCheckpoint(
        "OpenGVLab/InternVL3-1B-hf", 938_119_296, 2, 1792, 6.51, "Tiles of 448 px and a thumbnail."
    ),
    KnownCheckpoint(
        "llava-hf/llava-onevision-qwen2-0.5b-ov-hf",
        893_675_552,
        2,
        4941,
        9.12,
        "Very many tokens for a chart: fine maps, slow.",
    ),
    KnownCheckpoint("HuggingFaceTB/SmolVLM-Instruct", 2_246_272_880, 2, 1053, 12.31, "SmolVLM of 2.2 B."),
    KnownCheckpoint(
        "Qwen/Qwen3-VL-2B-Instruct", 2_127_532_032, 2, 513, 3.37, "Patches of 32 px: few tokens."
    ),
    KnownCheckpoint("Qwen/Qwen2-VL-2B-Instruct", 2_208_985_600, 2, 630, 6.20, "Patches of 28 px."),
    KnownCheckpoint("OpenGVLab/InternVL3-2B-hf", 2_088_883_712, 2, 1792, 10.16, "As the 1 B, larger."),
    KnownCheckpoint(
        "Qwen/Qwen2.5-VL-3B-Instruct",
        3_754_622_976,
        2,
        630,
        8.23,
        "Patches of 28 px. For research only, by its licence.",
    ),
    KnownCheckpoint("Qwen/Qwen3-VL-4B-Instruct", 4_437_815_808, 2, 513, 5.90, "As the 2 B, larger."),
    KnownCheckpoint(
        "google/paligemma2-3b-mix-448", 3_033_127_152, 2, 1024, 5.45, f"Squashed to 448 px. {_GATED}"
    ),
    KnownCheckpoint(
        "google/gemma-3-4b-it", 4_300_079_472, 2, 256, 7.42, f"Squashed to 896 px, 16 x 16 tokens. {_GATED}"
    ),
    KnownCheckpoint(
        "google/matcha-chartqa",
        282_285_696,
        4,
        2014,
        0.50,
        "Trained on ChartQA. Encoder-decoder: its cross-attention is shown; the question is drawn into"
        " the picture.",
    ),
    KnownCheckpoint(
        "florence-community/Florence-2-base",
        231_443_968,
        2,
        577,
        0.50,
        "Encoder-decoder: its cross-attention is shown. Made for captions, boxes and reading text.",
    ),
    KnownCheckpoint(
        "Salesforce/blip2-opt-2.7b",
        3_744_761_856,
        4,
        256,
        0.94,
        "32 query tokens: no grid of its own, the map is its Q-Former's. Made for photographs.",
    ),
    KnownCheckpoint(
        "llava-hf/llava-1.5-7b-hf",
        7_062_902_784,
        2,
        576,
        8.56,
        "The classic; its processor cuts the sides of a chart off.",
    ),
)
"""The one to begin with comes first, then about by size, and families of their own kind at the end."""


def known(name: str) -> KnownCheckpoint | None:
    """Find a checkpoint in the catalogue by its id."""
    return next((entry for entry in CATALOGUE if entry.name == name), None)
