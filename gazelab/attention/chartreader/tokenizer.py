"""Words and digits to token ids and back."""

from __future__ import annotations

import re
from collections.abc import Sequence

PAD, START, ASK, END, UNKNOWN = "<pad>", "<start>", "<answer>", "<end>", "<unk>"
SPECIAL = (PAD, START, ASK, END, UNKNOWN)
SYMBOLS = (*"0123456789", ",", "=", ".", "-", "%")

_PIECES = re.compile(r"<[a-z]+>|[^\W\d_]+(?:'[a-z]+)?|\d+|[,=.%-]")


class Tokenizer:
    """A closed vocabulary of lower-case words, digits and a few signs.

    Words outside it become `<unk>`; a number that is no word of the vocabulary (as a year may
    be) becomes its digits. Text that spells a special token is split like any other text, so a
    question can't smuggle one in.

    Parameters
    ----------
    words
        The words, lower case; special tokens, digits and signs are added.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.tokens: tuple[str, ...] = tuple(dict.fromkeys((*SPECIAL, *SYMBOLS, *words)))
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        self.pad, self.start, self.ask, self.end, self.unknown = (self._ids[t] for t in SPECIAL)

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> Tokenizer:
        """Make the tokenizer that has exactly these tokens, in this order.

        Raises
        ------
        ValueError
            The tokens are not those of a tokenizer.
        """
        made = cls(tokens[len(SPECIAL) + len(SYMBOLS) :])
        if made.tokens != tuple(tokens):
            raise ValueError("the list of tokens does not begin with the special tokens and digits")
        return made

    def __len__(self) -> int:
        return len(self.tokens)

    def id_of(self, token: str) -> int:
        """Id of one token, that of `<unk>` if it is not in the vocabulary."""
        return self._ids.get(token, self.unknown)

    def row(self, token_id: int) -> int:
        """Give what stands for one token in a network's input: its id."""
        return token_id

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without start and end."""
        return [i for piece in _PIECES.findall(text.lower()) for i in self._piece(piece)]

    def _piece(self, piece: str) -> list[int]:
        if piece in self._ids and piece not in SPECIAL:
            return [self._ids[piece]]
        if piece.isascii() and piece.isdigit():
            return [self._ids[digit] for digit in piece]
        return [self.unknown]

    def unknown_pieces(self, text: str) -> tuple[str, ...]:
        """List the pieces of a text that become `<unk>`."""
        return tuple(p for p in _PIECES.findall(text.lower()) if self._piece(p) == [self.unknown])

    def question(self, text: str, longest: int | None = None) -> list[int]:
        """Start, the question's words, and the token after which the answer begins.

        Signs between words are left out; at most `longest` ids are kept, the words at the end going first.
        """
        words = [i for i in self.encode(text) if self.tokens[i] not in (",", ".", "=", "-", "%")]
        if longest is not None:
            words = words[: longest - 2]
        return [self.start, *words, self.ask]

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the ids: digits and signs are joined, words are set apart by a space."""
        text = ""
        for i in ids:
            token = self.tokens[i]
            if token in (PAD, START, ASK, END):
                continue
            joined = token in SYMBOLS and (not text or text[-1] in "".join(SYMBOLS))
            text += token if joined or not text or text[-1] == "=" else f" {token}"
        return text
