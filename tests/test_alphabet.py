"""The alphabet: ids, the rule for rare characters, and spelling there and back."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text_strategies import ODD_WORDS, characters, words
from wordmint.text.alphabet import DUMMY, DUMMY_ID, END_OF_WORD_ID, NUM_SPECIAL, Alphabet, code_points

known_characters = st.lists(characters, max_size=20)


def alphabet_of(known: list[str]) -> Alphabet:
    return Alphabet.from_counts(Counter(known), min_count=1)


@given(known_characters, st.lists(words, max_size=5))
def test_reading_a_spelling_gives_the_word_with_dummies_for_unknown_characters(
    known: list[str], texts: list[str]
) -> None:
    alphabet = alphabet_of(known)
    spellings = alphabet.spell(texts)
    expected = ["".join(c if c in alphabet.characters else DUMMY for c in text) for text in texts]
    assert [alphabet.read(spelling) for spelling in spellings] == expected
    assert [alphabet.read(spelling[:-1]) for spelling in spellings] == expected


@given(known_characters, words)
def test_a_spelling_is_an_id_a_character_and_the_end(known: list[str], word: str) -> None:
    alphabet = alphabet_of(known)
    (spelling,) = alphabet.spell([word])
    ids = {character: NUM_SPECIAL + number for number, character in enumerate(alphabet.characters)}
    assert spelling.tolist() == [*(ids.get(character, DUMMY_ID) for character in word), END_OF_WORD_ID]
    assert spelling.dtype == np.int32
    assert spelling.max() < len(alphabet)


@given(st.lists(words, min_size=1, max_size=5))
def test_a_word_of_known_characters_comes_back_whole(texts: list[str]) -> None:
    alphabet = alphabet_of([*"".join(texts)])
    assert [alphabet.read(spelling) for spelling in alphabet.spell(texts)] == texts


@given(st.dictionaries(characters, st.integers(0, 50), max_size=20), st.integers(1, 30))
def test_characters_below_the_threshold_are_unknown(counts: dict[str, int], min_count: int) -> None:
    alphabet = Alphabet.from_counts(counts, min_count)
    for character, count in counts.items():
        is_known = character != DUMMY and (count >= min_count or character == "\n")
        assert (character in alphabet.characters) == is_known
        assert (alphabet.id_of_code_point[ord(character)] != DUMMY_ID) == is_known


@given(st.dictionaries(characters, st.integers(1, 9), max_size=20))
def test_the_order_of_the_counts_does_not_matter(counts: dict[str, int]) -> None:
    alphabet = Alphabet.from_counts(counts, 1)
    assert alphabet == Alphabet.from_counts(dict(reversed(counts.items())), 1)
    assert list(alphabet.characters) == sorted(alphabet.characters)


def test_the_line_end_is_always_known() -> None:
    assert Alphabet.from_counts({}, 25).characters == ("\n",)


def test_ids_are_what_the_models_rely_on() -> None:
    alphabet = Alphabet.from_counts({"b": 25, "a": 25, "z": 24}, 25)
    assert alphabet.characters == ("\n", "a", "b")
    assert len(alphabet) == 5
    assert [spelling.tolist() for spelling in alphabet.spell(["ab", "z", "\n", ""])] == [[3, 4, 1], [0, 1], [2, 1], [1]]


def test_the_replacement_character_is_the_dummy_and_never_known() -> None:
    alphabet = Alphabet.from_counts({"a": 100, "\ufffd": 100}, 1)
    assert alphabet.characters == ("\n", "a")
    (spelling,) = alphabet.spell(["a\ufffd"])
    assert spelling.tolist() == [3, DUMMY_ID, END_OF_WORD_ID]
    assert alphabet.read(spelling) == "a\ufffd"


def test_characters_that_look_alike_are_not_the_same() -> None:
    composed, decomposed = "é", unicodedata.normalize("NFD", "é")
    alphabet = Alphabet.from_counts(dict.fromkeys(composed, 25), 25)
    assert alphabet.read(alphabet.spell([composed])[0]) == composed
    assert alphabet.read(alphabet.spell([decomposed])[0]) == DUMMY * 2


@pytest.mark.parametrize("characters", [("b", "a"), ("a", "a"), (DUMMY,)])
def test_an_alphabet_out_of_order_is_refused(characters: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError):
        Alphabet(characters)


@pytest.mark.parametrize("word", ODD_WORDS.values(), ids=ODD_WORDS)
def test_code_points_are_those_of_python(word: str) -> None:
    assert code_points(word).tolist() == [ord(character) for character in word]
