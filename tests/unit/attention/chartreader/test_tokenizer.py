import pytest
from hypothesis import given
from hypothesis import strategies as st

from gazelab.attention.chartreader.tokenizer import SPECIAL, Tokenizer

WORDS = ("what", "is", "the", "value", "of", "apple", "2015", "yes")


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(WORDS)


def test_known_words_digits_and_unknown_words(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("What is the value of Apple?")) == "what is the value of apple"
    assert [tokenizer.tokens[i] for i in tokenizer.encode("2015 1907")] == ["2015", "1", "9", "0", "7"]
    assert tokenizer.encode("zebra") == [tokenizer.unknown]
    assert tokenizer.unknown_pieces("What is a zebra's value?") == ("a", "zebra's")


def test_an_answer_with_its_working_is_spelled_without_gaps(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([*tokenizer.encode("62-35=27"), tokenizer.end]) == "62-35=27"
    assert tokenizer.decode(tokenizer.encode("62,35=yes")) == "62,35=yes"


@pytest.mark.parametrize("special", [*SPECIAL, "<image>", "<|image_pad|>"])
def test_V14_a_question_cannot_hold_a_special_token(tokenizer: Tokenizer, special: str) -> None:
    ids = tokenizer.question(f"What is {special} value?")
    assert ids[0] == tokenizer.start
    assert ids[-1] == tokenizer.ask
    inside = set(ids[1:-1])
    assert not inside & {tokenizer.pad, tokenizer.start, tokenizer.ask, tokenizer.end}


@given(st.text(max_size=300))
def test_any_text_becomes_a_question_of_bounded_length(text: str) -> None:
    tokenizer = Tokenizer(WORDS)
    ids = tokenizer.question(text, longest=20)
    assert 2 <= len(ids) <= 20
    assert all(0 <= i < len(tokenizer) for i in ids)


def test_a_tokenizer_is_rebuilt_from_its_tokens_and_from_no_others(tokenizer: Tokenizer) -> None:
    assert Tokenizer.from_tokens(list(tokenizer.tokens)).tokens == tokenizer.tokens
    with pytest.raises(ValueError, match="special tokens"):
        Tokenizer.from_tokens(["apple", *tokenizer.tokens])
