"""The live interface of the embedded chart reader: picture and question in, tokens with their look out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from gazelab.attention.chartreader.network import ChartReaderNetwork, NetworkConfig
from gazelab.attention.chartreader.preprocess import shrink, to_input
from gazelab.attention.chartreader.spelling import SpellingTokenizer
from gazelab.attention.chartreader.tokenizer import SPECIAL, Tokenizer
from gazelab.core.errors import AttentionError
from gazelab.core.geometry import PatchGrid

WEIGHTS = Path(__file__).parent / "weights" / "chartreader.safetensors"
TRAINING_ONLY = "heads."
WORKING_SIGN = "="
TOP = 5


def tokenizer_of(config: NetworkConfig, tokens: Sequence[str]) -> Tokenizer | SpellingTokenizer:
    """Make the tokenizer of a network: of characters, or of whole words.

    Raises
    ------
    ValueError
        The tokens are not those of such a tokenizer.
    """
    return (SpellingTokenizer if config.characters else Tokenizer).from_tokens(tokens)


@dataclass(frozen=True, eq=False)
class AnswerStep:
    """One generated token and where the model looked while it chose it.

    Attributes
    ----------
    token : str
    token_id : int
    probability : float
        Of this token, 0..1.
    top : tuple
        ((token, probability), …) of the most probable tokens, best first.
    weights : numpy.ndarray, shape (layer, head, row, col), float32
        Cross-attention of the position that predicts this token. Each head's map sums to 1: all of the
        cross-attention of this model falls on the picture.
    """

    token: str
    token_id: int
    probability: float
    top: tuple[tuple[str, float], ...]
    weights: NDArray[np.float32]


class ChartReader:
    """A small teaching model that reads charts like the synthetic ones (not a research checkpoint).

    Parameters
    ----------
    network
        With weights loaded.
    tokenizer
        Of the same vocabulary.
    facts
        What is known of the weights: seed, curve, held-out scores (the JSON beside them).
    revision
        SHA-256 of the weight file, empty for weights that come from no file.
    """

    model_id = "gazelab/chartreader"

    def __init__(
        self,
        network: ChartReaderNetwork,
        tokenizer: Tokenizer | SpellingTokenizer,
        facts: dict[str, Any] | None = None,
        revision: str = "",
    ) -> None:
        self.network = network.eval()
        self.tokenizer = tokenizer
        self.facts = facts or {}
        self.revision = revision

    @classmethod
    def load(cls, path: Path | None = None) -> ChartReader:
        """Load weights (safetensors) with the JSON of the same name beside them.

        Parameters
        ----------
        path
            The weight file; the one inside the package by default.

        Raises
        ------
        AttentionError
            A file is missing or broken, or weights and description do not fit.
        """
        path = WEIGHTS if path is None else path
        try:
            facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            data = path.read_bytes()
            config = NetworkConfig.from_json(facts["network"])
            tokenizer = tokenizer_of(config, facts["tokens"])
            network = ChartReaderNetwork(config)
            tensors = {n: v.float() for n, v in load_file(path).items() if not n.startswith(TRAINING_ONLY)}
            network.load_state_dict(tensors)
        except FileNotFoundError as fault:
            raise AttentionError(
                "the chart reader's weights are missing.",
                where=fault.filename or path,
                todo="Reinstall gazelab, or train them: gazelab train-chartreader.",
            ) from fault
        except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as fault:
            raise AttentionError(
                f"the chart reader's weights cannot be used ({fault}).",
                where=path,
                todo="Use a weight file and a JSON that were written together.",
            ) from fault
        return cls(network, tokenizer, facts, hashlib.sha256(data).hexdigest())

    def grid(self, picture_width_px: int, picture_height_px: int) -> PatchGrid:
        """Lay the cells over a picture: it is stretched to the model's size, nothing cropped or padded."""
        config = self.network.config
        return PatchGrid.stretched(config.rows, config.columns, picture_width_px, picture_height_px)

    def unknown_words(self, question: str) -> tuple[str, ...]:
        """List the words of a question that this model cannot read (in full)."""
        return self.tokenizer.unknown_pieces(question)

    def answer(self, picture: NDArray[np.uint8], question: str, max_tokens: int = 16) -> Iterator[AnswerStep]:
        """Answer a question, one token at a time, by always taking the most probable token.

        The first token is never the end: there is an answer to every question, and a look to show.

        Parameters
        ----------
        picture
            (height, width, 3) uint8 RGB of any size.
        question
            Any text; words that it does not know are spelled.
        max_tokens
            Stop here if the model has not ended its answer.

        Yields
        ------
        AnswerStep
            As soon as each token is known; the end token itself is not given.
        """
        config = self.network.config
        small = shrink(picture, config.picture_width_px, config.picture_height_px)
        with torch.inference_mode():
            memory = self.network.encode(to_input(small[None]))
        ids: list[Any] = [*self.tokenizer.question(question, config.positions - max_tokens)]
        for k in range(max_tokens):
            # Set at each step: a mode left on while the generator is paused would leak to the caller.
            with torch.inference_mode():
                logits, weights = self.network.decode(torch.tensor([ids]), memory)
            looks = torch.stack([layer[0, :, -1] for layer in weights])
            step = self._step(logits[0, -1], looks, may_end=k > 0)
            if step.token_id == self.tokenizer.end:
                return
            ids.append(self.tokenizer.row(step.token_id))
            yield step

    def _step(self, logits: torch.Tensor, weights: torch.Tensor, *, may_end: bool) -> AnswerStep:
        config = self.network.config
        # What is no answer is never chosen: a start or padding token has no text.
        barred = [self.tokenizer.id_of(t) for t in SPECIAL if not (may_end and t == SPECIAL[3])]
        logits = logits.float().index_fill(0, torch.tensor(barred), float("-inf"))
        best = logits.softmax(0).topk(TOP)
        tokens = tuple(
            (self.tokenizer.tokens[i], p)
            for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        )
        maps = weights.float().view(*weights.shape[:-1], config.rows, config.columns)
        return AnswerStep(
            token=tokens[0][0],
            token_id=int(best.indices[0]),
            probability=tokens[0][1],
            top=tokens,
            weights=maps.numpy(),
        )

    def answer_text(self, steps: Iterable[AnswerStep]) -> str:
        """Give the answer that the steps spell: what stands after the working ("62-35=27" gives "27")."""
        text = self.tokenizer.decode([step.token_id for step in steps])
        return text.rpartition(WORKING_SIGN)[2].strip()
