"""Documents as rows, a word or a character each, in memory that does not grow with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from wordmint.dynamic import Learner
from wordmint.model.language_model import LanguageModel
from wordmint.text.alphabet import END_OF_WORD_ID
from wordmint.text.documents import Document
from wordmint.text.words import LINE_END, Word
from wordmint.use.characters import begin
from wordmint.use.prediction import predict
from wordmint.use.reading import ended, part_words, read, read_many, spelled_words
from wordmint.use.scores import Scores
from wordmint.use.state import TextState

BITS = math.log(2)
CHARACTERS_AT_ONCE = 1 << 16
DOCUMENTS_AT_ONCE, SHORT = 16, 1 << 18  # documents of fewer characters are read side by side


class WordRow(NamedTuple):
    """A word of a document. Offsets are characters of the document, lines count from 1."""

    document: str
    line: int
    start: int
    end: int
    word: str
    surprisal: float
    bits_per_character: float  # its end of word counts as a character too
    p_copied: float
    gate: float  # the probability of spelling
    slot: int  # of the cache, where the word stood; −1: nowhere
    first: bool  # not seen before in this reading


class CharacterRow(NamedTuple):
    """A character of a word; a space is the end of the word."""

    document: str
    line: int
    start: int
    word: str
    character: str
    surprisal: float


class _Place:
    """Where a reading is: its document, the line, the words seen."""

    def __init__(self, name: str, first: int, seen: set[str]) -> None:
        self.name, self.first, self.line, self.seen = name, first, 1, seen

    def rows(self, scores: Scores, unit: float) -> list[WordRow]:
        surprisals, p_copied = -scores.log_p / unit, scores.p_copied
        bits, gates = scores.surprisal, np.exp(scores.log_gate)
        rows = []
        for place, word in enumerate(scores.text):
            start, end = int(scores.start[place]) - self.first, int(scores.end[place]) - self.first
            is_first = word not in self.seen
            self.seen.add(word)
            told = (word, float(surprisals[place]), float(bits[place]) / (len(word) + 1))
            copying = (float(p_copied[place]), float(gates[place]), int(scores.slot[place]))
            rows.append(WordRow(self.name, self.line, start, end, *told, *copying, is_first))
            self.line += word == LINE_END
        return rows


def word_rows(
    model: LanguageModel,
    documents: Iterable[Document],
    state: TextState,
    reset: bool = False,
    unit: float = BITS,
    learner: Learner | None = None,
) -> Iterator[tuple[list[WordRow], TextState]]:
    """Some rows at a time, each time with the state after them.

    Each document begins with what was read before it, or, reset, with the given state. A last line without a line end
    is given one, as `evaluate` does. The unit is in nats.
    """
    before = ended(model, state)
    if reset:
        yield from _side_by_side(model, documents, before, unit)
        return
    seen = set[str]()
    for document in documents:
        for rows, after in _along(model, document, before, unit, seen, learner):
            yield rows, after
            before = after


def _along(
    model: LanguageModel,
    document: Document,
    state: TextState,
    unit: float,
    seen: set[str],
    learner: Learner | None = None,
) -> Iterator[tuple[list[WordRow], TextState]]:
    place, last = _Place(document.name, state.position, seen), LINE_END
    for piece in _short(document.pieces):
        scores, state = read(model, piece, state, learner=learner)
        last = piece[-1]
        yield place.rows(scores, unit), state
    if last != LINE_END:
        yield _closed(model, place, state, unit, learner)


def _closed(
    model: LanguageModel, place: _Place, state: TextState, unit: float, learner: Learner | None
) -> tuple[list[WordRow], TextState]:
    """The line end that a last line without one is given; it stands for no character."""
    scores, after = read(model, LINE_END, state, learner=learner)
    scores.end[-1] = scores.start[-1]
    return place.rows(scores, unit), replace(after, position=state.position)


def _side_by_side(
    model: LanguageModel, documents: Iterable[Document], state: TextState, unit: float
) -> Iterator[tuple[list[WordRow], TextState]]:
    waiting: list[tuple[str, str]] = []

    def read_waiting() -> Iterator[tuple[list[WordRow], TextState]]:
        texts = [text if text.endswith(LINE_END) or not text else text + LINE_END for _, text in waiting]
        results = read_many(model, texts, [state] * len(texts)) if texts else []
        for (name, text), (scores, after) in zip(waiting, results, strict=True):
            np.minimum(scores.end, state.position + len(text), out=scores.end)
            yield _Place(name, state.position, set()).rows(scores, unit), after
        waiting.clear()

    for document in documents:
        pieces, text = iter(_short(document.pieces)), ""
        for piece in pieces:
            text += piece
            if len(text) > SHORT:
                break
        if len(text) > SHORT:
            yield from read_waiting()
            yield from _along(model, Document(document.name, chain([text], pieces)), state, unit, set())
            continue
        waiting.append((document.name, text))
        if len(waiting) == DOCUMENTS_AT_ONCE:
            yield from read_waiting()
    yield from read_waiting()


def character_rows(
    model: LanguageModel,
    documents: Iterable[Document],
    state: TextState,
    reset: bool = False,
    unit: float = BITS,
) -> Iterator[tuple[list[CharacterRow], TextState]]:
    """A row a character; each of them is asked for by itself, which takes its time."""
    state = fresh = ended(model, state)
    for document in documents:
        state = fresh if reset else state
        first, line, last = state.position, 1, LINE_END
        for piece in chain(_short(document.pieces), [""]):
            end = not piece and last != LINE_END
            text = piece or LINE_END * end
            found, pending = part_words(model, text, state, end=False)
            start, rows = state.position, list[CharacterRow]()
            for word, spelled in zip(found, spelled_words(model, found), strict=True):
                more, state = _characters(model, word, spelled, state, (document.name, line, first), unit)
                rows += more
                line += word.text == LINE_END
            state = replace(state, pending=pending, position=start + len(piece))
            last = text[-1:] or last
            yield rows, state


def _characters(
    model: LanguageModel, word: Word, spelled: str, state: TextState, where: tuple[str, int, int], unit: float
) -> tuple[list[CharacterRow], TextState]:
    (name, line, first), prediction, rows = where, predict(model, [state]), list[CharacterRow]()
    prefix = begin(prediction)
    for place, character in enumerate(model.alphabet.spell([spelled])[0].tolist()):
        cost = -float(prefix.log_next_character()[character]) / unit
        is_end = character == END_OF_WORD_ID
        shown = " " if is_end else spelled[place]
        rows.append(CharacterRow(name, line, min(word.start + place, word.end) - first, word.text, shown, cost))
        if not is_end:
            prefix = prefix.go_on(character)
    return rows, prediction.after([spelled])[0]


def _short(pieces: Iterable[str]) -> Iterator[str]:
    """The same text in short pieces, none of them empty."""
    for piece in pieces:
        for begin_ in range(0, len(piece), CHARACTERS_AT_ONCE):
            yield piece[begin_ : begin_ + CHARACTERS_AT_ONCE]
