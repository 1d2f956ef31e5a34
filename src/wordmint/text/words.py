"""Words: what stands between white space; the line end is a word too, spelled "\\n".

Segmentation by white space is the paper's. It keeps the text up to runs of white space: joining a line's words with
one space gives the *normalised* text, whose length is what "per character" counts. Every word remembers where it
stood in the original text, so the original is at hand wherever it is needed.

Line ends are "\\n" alone. The "\\r" of a CRLF, a form feed, U+2028 and every other white space only part words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

LINE_END = "\n"


class Segmentation(StrEnum):
    """How text falls into words. White space is the paper's way; another way would be one more member here."""

    WHITESPACE = "whitespace"


class Word(NamedTuple):
    """A word and the half-open range of characters, in the original text, that it was read from."""

    text: str
    start: int
    end: int


def words(pieces: Iterable[str], segmentation: Segmentation = Segmentation.WHITESPACE) -> Iterator[Word]:
    """The words of a document with their offsets; a last line without a line end is given one, of length 0."""
    offset, word = 0, Word(LINE_END, 0, 0)
    for piece in uncut(pieces, segmentation):
        for match in _WORD.finditer(piece):
            word = Word(match.group(), offset + match.start(), offset + match.end())
            yield word
        offset += len(piece)
    if word.text != LINE_END:
        yield Word(LINE_END, offset, offset)


def word_lines(pieces: Iterable[str], segmentation: Segmentation = Segmentation.WHITESPACE) -> Iterator[list[str]]:
    """The same words without offsets, some at a time: the fast way through a corpus.

    Each list is a line with its line end, or a part of one; together they are the texts of `words`.
    """
    line: list[str] = [LINE_END]
    for piece in uncut(pieces, segmentation):
        *whole, rest = piece.split("\n")
        for text in whole:
            line = text.split()
            line.append(LINE_END)
            yield line
        if part := rest.split():
            yield (line := part)
    if line[-1] != LINE_END:
        yield [LINE_END]


def join(texts: Iterable[str]) -> str:
    """The normalised text of words: one space between the words of a line, each line closed by its line end."""
    parts: list[str] = []
    previous = LINE_END
    for text in texts:
        if LINE_END not in (previous, text):
            parts.append(" ")
        parts.append(text)
        previous = text
    return "".join(parts)


def uncut(pieces: Iterable[str], segmentation: Segmentation = Segmentation.WHITESPACE) -> Iterator[str]:
    """The same text, in pieces that never part a word: each but the last ends in white space."""
    match segmentation:
        case Segmentation.WHITESPACE:
            return _cut_at_white_space(pieces)


def _cut_at_white_space(pieces: Iterable[str]) -> Iterator[str]:
    held: list[str] = []  # a list, as one word may span thousands of pieces
    for piece in pieces:
        if not piece:
            continue
        num_open = 0 if piece[-1].isspace() else len(piece.rsplit(None, 1)[-1])
        cut = len(piece) - num_open
        if cut:
            yield "".join([*held, piece[:cut]])
            held = []
        held.append(piece[cut:])
    if rest := "".join(held):
        yield rest


# `str.split` and the pattern's \s agree on what white space is (a test compares them over all of Unicode).
_WORD = re.compile(r"\n|\S+")
