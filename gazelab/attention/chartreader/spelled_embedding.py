"""Words as sums of their letters: one vector for each letter in each place of a word.

The same vectors compose the words of a question, name what a cell of the picture shows, and write the
answer. So a word that was never seen finds its cell by the likeness of the letters, and an answer is
written by copying a cell's vector and reading it place by place.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from gazelab.attention.chartreader.spelling import SLOTS
from gazelab.attention.chartreader.tokenizer import SPECIAL, SYMBOLS

_FIRST_DIGIT = len(SPECIAL)
_FIRST_SIGN = _FIRST_DIGIT + 10
_FIRST_LETTER = len(SPECIAL) + len(SYMBOLS)


class SpelledEmbedding(nn.Module):
    """Token vectors, and one vector for each (place, character) of a spelled word.

    Parameters
    ----------
    tokens, characters
        How many tokens there are, and how many of them (the first) can stand in an answer.
    width
        Model width.
    """

    def __init__(self, tokens: int, characters: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(tokens, width) / math.sqrt(width))
        self.places = nn.Parameter(torch.randn(SLOTS, characters, width) / math.sqrt(width))

    def forward(self, ids: Tensor) -> Tensor:
        """(..., token, row) to (..., token, width), scaled by sqrt(width) as in Vaswani et al. 2017."""
        letters = ids[..., 1:]
        known = (letters != 0).to(self.places.dtype).unsqueeze(-1)
        place = torch.arange(SLOTS) * self.places.shape[1]
        spelled = functional.embedding(letters + place, self.places.flatten(0, 1)) * known
        # Divided by the root of the number of letters, so that a word is as long a vector as a token.
        composed = spelled.sum(-2) / known.sum(-2).clamp(min=1.0).sqrt()
        return (functional.embedding(ids[..., 0], self.weight) + composed) * math.sqrt(self.weight.shape[1])

    def letters(self, x: Tensor) -> Tensor:
        """(..., width) to (..., place, character): how much a vector speaks for each letter in each place."""
        places, characters, _ = self.places.shape
        flat = functional.linear(x, self.places.flatten(0, 1))
        return flat.view(*x.shape[:-1], places, characters)

    def logits(self, x: Tensor, ids: Tensor) -> Tensor:
        """(..., token, width) to (..., token, character): the next character of the answer.

        It is read in the place where it will stand: the first character after a sign or after the
        question in place 0, the next in place 1, and so on.
        """
        place = next_places(ids[..., 0])[..., None, None].expand(*x.shape[:-1], 1, self.places.shape[1])
        return self.letters(x).gather(-2, place).squeeze(-2)


def next_places(tokens: Tensor) -> Tensor:
    """(..., token) ids to the place in its word of the character that follows each of them."""
    digit = (tokens >= _FIRST_DIGIT) & (tokens < _FIRST_SIGN)
    is_letter = digit | (tokens >= _FIRST_LETTER)
    index = torch.arange(tokens.shape[-1]).expand(tokens.shape)
    # Words of a question count as letters here, but none of them lies between <answer> and the answer.
    boundary = torch.where(is_letter, -1, index).cummax(-1).values
    return (index - boundary).clamp(max=SLOTS - 1)
