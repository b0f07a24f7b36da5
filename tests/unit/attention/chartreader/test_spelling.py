import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gazelab.attention.chartreader.spelled_embedding import SpelledEmbedding, next_places
from gazelab.attention.chartreader.spelling import LONGEST, ROW, SpellingTokenizer
from gazelab.attention.chartreader.tokenizer import SPECIAL

WORDS = ("what", "is", "the", "value", "of", "red")


@pytest.fixture
def tokenizer() -> SpellingTokenizer:
    return SpellingTokenizer(WORDS)


def spelled(tokenizer: SpellingTokenizer, row: list[int]) -> str:
    return "".join(tokenizer.tokens[i] for i in row[1:] if i != tokenizer.pad)


def test_known_words_stay_words_and_others_are_spelled(tokenizer: SpellingTokenizer) -> None:
    rows = tokenizer.question("What is the value of Zebra 2015?")
    assert [tokenizer.tokens[row[0]] for row in rows[1:6]] == ["what", "is", "the", "value", "of"]
    assert [spelled(tokenizer, row) for row in rows[6:8]] == ["zebra<end>", "2015<end>"]
    assert [tokenizer.tokens[row[0]] for row in (rows[0], rows[-1])] == ["<start>", "<answer>"]
    assert all(len(row) == ROW for row in rows)


def test_accents_are_read_as_plain_letters_and_long_words_by_their_first_ones(
    tokenizer: SpellingTokenizer,
) -> None:
    assert spelled(tokenizer, tokenizer.question("Côte")[1]) == "cote<end>"
    assert spelled(tokenizer, tokenizer.question("Ouagadougous")[1]) == "ouagadougo<end>"
    assert tokenizer.unknown_pieces("Côte of Ouagadougous and 图表") == ("ouagadougous", "图表")


@pytest.mark.parametrize("special", [*SPECIAL, "<image>", "<|image_pad|>"])
def test_V14_a_question_cannot_hold_a_special_token(tokenizer: SpellingTokenizer, special: str) -> None:
    rows = tokenizer.question(f"What is {special} value?")
    inside = [tokenizer.tokens[row[0]] for row in rows[1:-1]]
    assert not set(inside) & {"<pad>", "<start>", "<answer>", "<end>"}


@given(st.text(max_size=60))
def test_V14_any_text_becomes_rows_of_known_ids(text: str) -> None:
    tokenizer = SpellingTokenizer(WORDS)
    for row in tokenizer.question(text, 20):
        assert len(row) == ROW
        assert all(0 <= i < len(tokenizer) for i in row)
        assert all(i < tokenizer.n_characters for i in row[1:])


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789-=,", max_size=20))
def test_an_answer_comes_back_as_it_was_written(answer: str) -> None:
    tokenizer = SpellingTokenizer(WORDS)
    assert tokenizer.decode([*tokenizer.encode(answer), tokenizer.end]) == answer


def test_the_place_of_the_next_character_starts_anew_after_each_sign(tokenizer: SpellingTokenizer) -> None:
    text = [tokenizer.start, tokenizer.id_of("value"), tokenizer.ask, *tokenizer.encode("62-35=27")]
    assert next_places(torch.tensor(text))[2:].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_places_never_exceed_the_longest_word(tokenizer: SpellingTokenizer) -> None:
    text = torch.tensor([tokenizer.ask, *tokenizer.encode("x" * 30)])
    assert next_places(text).max() == LONGEST


def test_a_word_is_the_sum_of_its_letters_each_in_its_place(tokenizer: SpellingTokenizer) -> None:
    torch.manual_seed(0)
    embedding = SpelledEmbedding(len(tokenizer), tokenizer.n_characters, 16)
    vector = embedding(torch.tensor(tokenizer.question("ab")))[1]
    a, b = tokenizer.encode("ab")
    parts = embedding.places[0, a] + embedding.places[1, b] + embedding.places[2, tokenizer.end]
    expected = (embedding.weight[tokenizer.unknown] + parts / 3**0.5) * 4
    assert torch.allclose(vector, expected, atol=1e-6)


def test_a_copied_word_is_written_letter_by_letter() -> None:
    """The same vector at every step gives the whole word: the place alone tells which letter is next."""
    torch.manual_seed(0)
    tokenizer = SpellingTokenizer(WORDS)
    embedding = SpelledEmbedding(len(tokenizer), tokenizer.n_characters, 256)
    letters = torch.tensor(tokenizer.spell("kiwi"))
    word = embedding.places[torch.arange(5), letters[:5]].sum(0)
    ids = [tokenizer.ask]
    for _ in range(5):
        x = word.expand(1, len(ids), -1)
        rows = torch.tensor([[tokenizer.row(i) for i in ids]])
        ids.append(int(embedding.logits(x, rows)[0, -1].argmax()))
    assert tokenizer.decode(ids) == "kiwi"
    assert ids[-1] == tokenizer.end
