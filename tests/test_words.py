"""Words and their offsets: against the slow twin, over all of Unicode, and wherever the text is cut."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import words as reference
from tests.text_strategies import ODD_WORDS, WHITE_SPACE, cuts, texts
from tests.text_strategies import words as any_word
from wordmint.text.words import LINE_END, Segmentation, join, uncut, word_lines, words

cut_texts = texts.flatmap(lambda text: st.tuples(st.just(text), cuts(text)))


def split(text: str) -> list[str]:
    return [word.text for word in words([text])]


@given(cut_texts)
def test_words_are_those_of_the_slow_twin_wherever_the_text_is_cut(text_and_pieces: tuple[str, list[str]]) -> None:
    text, pieces = text_and_pieces
    assert [tuple(word) for word in words(pieces)] == reference.words(text)


@given(cut_texts)
def test_the_fast_way_gives_the_same_words(text_and_pieces: tuple[str, list[str]]) -> None:
    text, pieces = text_and_pieces
    lines = list(word_lines(pieces))
    assert [word for line in lines for word in line] == split(text)
    assert all(LINE_END not in line[:-1] for line in lines)


@given(cut_texts)
def test_no_piece_parts_a_word_and_nothing_is_lost(text_and_pieces: tuple[str, list[str]]) -> None:
    text, pieces = text_and_pieces
    joined = list(uncut(pieces))
    assert "".join(joined) == text
    assert all(piece[-1].isspace() for piece in joined[:-1])
    assert all(joined)


@given(texts)
def test_offsets_give_back_the_original(text: str) -> None:
    position, rebuilt = 0, ""
    for number, word in enumerate(found := list(words([text]))):
        is_virtual = number == len(found) - 1 and word.start == len(text)
        assert text[word.start : word.end] == ("" if is_virtual else word.text)
        between = text[position : word.start]
        assert not between.strip()
        assert LINE_END not in between
        rebuilt += between + text[word.start : word.end]
        position = word.end
    assert rebuilt + text[position:] == text
    assert not text[position:].strip()


@given(texts)
def test_the_normalised_text_is_its_words_joined(text: str) -> None:
    normalised = join(split(text))
    assert normalised == reference.join(split(text))
    assert split(normalised) == split(text)
    assert join(split(normalised)) == normalised


@given(st.lists(st.lists(any_word, max_size=4), max_size=4))
def test_words_survive_being_joined(lines: list[list[str]]) -> None:
    text = [word for line in lines for word in [*line, LINE_END]]
    assert split(join(text)) == text


def test_white_space_is_the_same_for_every_part_over_all_of_unicode() -> None:
    pattern = re.compile(r"\s")
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    assert "".join(pattern.findall(everything)) == WHITE_SPACE
    between = "a" + "a".join(everything) + "a"
    assert len(between.split()) == len(WHITE_SPACE) + 1


@pytest.mark.parametrize("space", WHITE_SPACE, ids=lambda character: f"U+{ord(character):04X}")
def test_every_white_space_parts_words_and_only_one_is_a_line_end(space: str) -> None:
    expected = ["a", LINE_END, "b", LINE_END] if space == "\n" else ["a", "b", LINE_END]
    assert split(f"a{space}b") == expected


@pytest.mark.parametrize("word", ODD_WORDS.values(), ids=ODD_WORDS)
def test_odd_words_stay_whole(word: str) -> None:
    assert list(words([f" {word}\n"])) == [(word, 1, len(word) + 1), ("\n", len(word) + 1, len(word) + 2)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t ", []),
        ("\n", ["\n"]),
        ("\n\n", ["\n", "\n"]),
        ("a", ["a", "\n"]),
        ("a\n", ["a", "\n"]),
        ("a\n ", ["a", "\n"]),
        ("a\r\nb\r\n", ["a", "\n", "b", "\n"]),
        ("a\rb", ["a", "b", "\n"]),
        ("a\u2028b\u2029c\x85d\fe\vf", ["a", "b", "c", "d", "e", "f", "\n"]),
        ("  a   b  \n", ["a", "b", "\n"]),
    ],
)
def test_lines(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_the_line_end_of_an_unfinished_line_has_no_length() -> None:
    assert list(words(["a  "])) == [("a", 0, 1), ("\n", 3, 3)]


def test_a_word_of_thousands_of_pieces_is_one_word() -> None:
    assert list(words(["x" * 1000] * 5000)) == [("x" * 5_000_000, 0, 5_000_000), ("\n", 5_000_000, 5_000_000)]


def test_the_papers_segmentation_is_the_default() -> None:
    assert list(words(["a b"], Segmentation("whitespace"))) == list(words(["a b"]))
    assert list(word_lines(["a b"], Segmentation.WHITESPACE)) == list(word_lines(["a b"]))
