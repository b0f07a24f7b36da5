"""The ways to make a map, by name: what each is, where it comes from, what it needs and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gazelab.core.errors import AttentionError

MethodName = Literal["mean", "max", "raw", "rollout", "relevance", "relative", "ag_cam", "value_norm"]
Needs = Literal["trace", "second question", "values", "full matrices", "gradients"]

NEUTRAL_QUESTION = "Write a general description of the image."
"""What relative attention divides by, word for word that of Zhang et al. 2025."""


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """One way to make a map.

    Attributes
    ----------
    name : str
    label : str
        For a list.
    about : str
        What it shows, in one sentence.
    source : str
        Authors, year, title, address.
    needs : str
        "trace": a kept trace will do. All others need the model: "second question" answers a neutral question
        too; "values", "full matrices" and "gradients" run the answer once more and keep each layer's queries,
        keys and values, from which weights are computed a few rows at a time: no N×N matrix is kept.
    cost : str
        In passes of the model over the picture.
    kinds : tuple of str
        Models that it is defined for: "self" (decoder-only), "cross" (encoder-decoder).
    """

    name: MethodName
    label: str
    about: str
    source: str
    needs: Needs
    cost: str
    kinds: tuple[str, ...] = ("self", "cross")

    @property
    def needs_model(self) -> bool:
        """Whether a trace alone does not do."""
        return self.needs != "trace"

    def to_json(self) -> dict[str, object]:
        """Give JSON-ready values, for a list of methods."""
        return {
            "name": self.name,
            "label": self.label,
            "about": self.about,
            "source": self.source,
            "needs": self.needs,
            "cost": self.cost,
            "kinds": list(self.kinds),
        }


_VASWANI = "Vaswani et al. 2017, Attention is all you need, https://arxiv.org/abs/1706.03762"

METHODS: dict[str, MethodEntry] = {
    entry.name: entry
    for entry in (
        MethodEntry(
            "mean",
            "Mean attention",
            "The mean of the chosen layers, heads and tokens: where the answer's tokens looked.",
            _VASWANI,
            "trace",
            "none",
        ),
        MethodEntry(
            "max",
            "Maximum attention",
            "The largest weight that any chosen layer, head and token put on a patch.",
            _VASWANI,
            "trace",
            "none",
        ),
        MethodEntry(
            "raw",
            "One head",
            "One layer, one head, one token, as it is.",
            _VASWANI,
            "trace",
            "none",
        ),
        MethodEntry(
            "rollout",
            "Attention rollout",
            "Attention followed through all layers down to the patches, half of each layer taken as passed on"
            " unchanged.",
            "Abnar and Zuidema 2020, Quantifying attention flow in transformers,"
            " https://arxiv.org/abs/2005.00928",
            "full matrices",
            "one more answer, and every layer's attention once",
            ("self",),
        ),
        MethodEntry(
            "relevance",
            "Gradient × attention relevance",
            "Attention that raises the token's logit, followed through all layers down to the patches.",
            "Chefer, Gur and Wolf 2021, Generic attention-model explainability for interpreting bi-modal and"
            " encoder-decoder transformers, https://arxiv.org/abs/2103.15679",
            "gradients",
            "one more answer, and a backward pass and every layer's attention for each token",
        ),
        MethodEntry(
            "relative",
            "Relative attention",
            "Attention with this question, divided by attention with a neutral one: what the question adds.",
            "Zhang et al. 2025, MLLMs know where to look, https://arxiv.org/abs/2502.17422",
            "second question",
            "one more pass, for the neutral question",
        ),
        MethodEntry(
            "ag_cam",
            "Attention-guided CAM",
            "Scores before the softmax, squashed to 0..1, where more attention would raise the token's"
            " logit.",
            "Leem and Seo 2024, Attention guided CAM, https://arxiv.org/abs/2402.04563",
            "gradients",
            "one more answer, and a backward pass for each token",
        ),
        MethodEntry(
            "value_norm",
            "Value-norm weighted",
            "Attention times the length of what it carries: a patch that adds little counts little.",
            "Kobayashi et al. 2020, Attention is not only a weight, https://arxiv.org/abs/2004.10102",
            "values",
            "one more answer",
        ),
    )
}
"""Every method, in the order of a list."""


def method_of(name: str) -> MethodEntry:
    """Find a method by its name.

    Raises
    ------
    AttentionError
        There is none of that name.
    """
    if name not in METHODS:
        raise AttentionError(
            f'"{name}" is no way to make a map.', todo=f"Use one of {', '.join(get_args(MethodName))}."
        )
    return METHODS[name]
