"""Questions as words and answers as characters: words outside the small vocabulary are spelled.

A label that was never seen in training is still made of known letters, so it can be found in the picture
and written as an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gazelab.attention.chartreader.tokenizer import ASK, END, PAD, SPECIAL, START, SYMBOLS, UNKNOWN

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
CHARACTERS = (*SYMBOLS, *LETTERS)
LONGEST = 10
"""Letters of a word that are read; of a longer word, the first ones."""
SLOTS = LONGEST + 1
"""Places of a spelled word: its letters and the end after them."""
ROW = 1 + SLOTS
"""Numbers of one token: its id, then the letters that it is spelled with (0 where there is none)."""

_PIECES = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+|[,=.%-]")

Row = list[int]


class SpellingTokenizer:
    """Special tokens, characters and a few words; every other word of a question is spelled.

    A token is a row of numbers: (id, letter, letter, …). Words of the vocabulary and characters of an
    answer have no letters; a spelled word has the id of `<unk>` and its letters, ended by `<end>`.

    Parameters
    ----------
    words
        Words that are known as a whole, lower case; special tokens and characters are added.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens: tuple[str, ...] = tuple(dict.fromkeys((*SPECIAL, *CHARACTERS, *words)))
        self.n_characters = len(SPECIAL) + len(CHARACTERS)
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        self.pad, self.start, self.ask, self.end, self.unknown = (self._ids[t] for t in SPECIAL)

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> SpellingTokenizer:
        """Make the tokenizer that has exactly these tokens, in this order.

        Raises
        ------
        ValueError
            The tokens are not those of a tokenizer.
        """
        made = cls(tokens[len(SPECIAL) + len(CHARACTERS) :])
        if made.tokens != tuple(tokens):
            raise ValueError("the list of tokens does not begin with the special tokens and characters")
        return made

    def __len__(self) -> int:
        return len(self.tokens)

    def id_of(self, token: str) -> int:
        """Id of one token, that of `<unk>` if it is not in the vocabulary."""
        return self._ids.get(token, self.unknown)

    def row(self, token_id: int) -> Row:
        """One token without letters."""
        return [token_id] + [self.pad] * SLOTS

    def spell(self, word: str) -> Row:
        """Letters of a word in their slots, ended by `<end>`; what is no known character is left out."""
        letters = [self._ids[c] for c in plain(word) if c in CHARACTERS][:LONGEST]
        letters.append(self.end)
        return letters + [self.pad] * (SLOTS - len(letters))

    def question(self, text: str, longest: int | None = None) -> list[Row]:
        """Start, the question's words, and the token after which the answer begins.

        Signs between words are left out; at most `longest` rows are kept, the words at the end going first.
        """
        words = [self._word(piece) for piece in _PIECES.findall(plain(text)) if piece not in SYMBOLS[10:]]
        if longest is not None:
            words = words[: longest - 2]
        return [self.row(self.start), *words, self.row(self.ask)]

    def _word(self, piece: str) -> Row:
        if piece in self._ids and piece not in CHARACTERS:
            return self.row(self._ids[piece])
        return [self.unknown, *self.spell(piece)]

    def encode(self, answer: str) -> list[int]:
        """Ids of an answer's characters; what is no known character is left out."""
        return [self._ids[c] for c in plain(answer) if c in CHARACTERS]

    def unknown_pieces(self, text: str) -> tuple[str, ...]:
        """List the words of a text that cannot be spelled in full: too long, or in another script."""
        words = (piece for piece in _PIECES.findall(plain(text)) if piece not in self._ids)
        return tuple(w for w in words if len(w) > LONGEST or any(c not in CHARACTERS for c in w))

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the ids of an answer."""
        return "".join(self.tokens[i] for i in ids if self.tokens[i] not in (PAD, START, ASK, END, UNKNOWN))


def plain(text: str) -> str:
    """Lower case without accents: "Côte" becomes "cote"."""
    parts = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in parts if not unicodedata.combining(c))
