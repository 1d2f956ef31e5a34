"""A text as a model reads it: its words as types that the model can tell apart, and what its characters count."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from wordmint.errors import UserError
from wordmint.model.language_model import LanguageModel
from wordmint.model.packing import Spellings
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import Alphabet
from wordmint.text.documents import Document
from wordmint.text.words import LINE_END, word_lines

LINE_END_TYPE = 0
LONGEST_WORD = 100_000
NORMALISED, NORMALISED_BYTES = "normalised", "normalised_bytes"


@dataclass(frozen=True)
class ModelText:
    """Words in order; two that differ in rare characters alone are one type to the model and two to the text."""

    words: Int[Array, " words"]
    types: list[str]  # as they are spelled for the model, rare characters still themselves
    model_types: Int[Array, " types"]
    spellings: Spellings  # of the model's types
    document_starts: Int[Array, " documents_and_end"]
    document_names: list[str]
    counts: dict[str, int]  # what "per character" may mean, by name

    @property
    def model_words(self) -> Int[Array, " words"]:
        """The words as the model's types."""
        return self.model_types[self.words]

    @property
    def num_characters(self) -> int:
        """The paper's count: of the normalised text."""
        return self.counts[NORMALISED]

    def unknown_characters(self, alphabet: Alphabet) -> tuple[str, Int[Array, " unknown"]]:
        """Every character that an alphabet lacks, in the order of the text, and the word that each stands in."""
        known = set(alphabet.characters)
        unknown = ["".join(character for character in type_ if character not in known) for type_ in self.types]
        num_unknown = np.array([len(some) for some in unknown])[self.words]
        with_some = np.flatnonzero(num_unknown)
        characters = "".join(unknown[word] for word in self.words[with_some].tolist())
        return characters, np.repeat(with_some, num_unknown[with_some])


def read_text(documents: Iterable[Document], model: LanguageModel) -> ModelText:
    """Read documents by a model's rules: its segmentation, the words it respells, its alphabet."""
    numbers, given = _Numbers(), _Given()
    words, starts, names = array("i"), [0], list[str]()
    for document in documents:
        for line in word_lines(given.counted(document.pieces), model.rules.segmentation):
            words.extend(map(numbers.__getitem__, line))
        starts.append(len(words))
        names.append(document.name)
    if not words:
        raise UserError("the text holds no words; give a file with some text")
    written = list(numbers)
    longest = max(map(len, written))
    if longest > LONGEST_WORD:  # all characters of a word are read at once
        raise UserError(
            f"the text has a word of {longest:,} characters; a word may have {LONGEST_WORD:,}, so put white space into "
            "it or leave it out"
        )
    respell = model.rules.respell
    types = [respell.get(one, one) for one in written]
    numbered = np.frombuffer(words, dtype=np.int32)
    counts = _counts(numbered, written, types) | {"given": given.characters, "given_bytes": given.num_bytes}
    model_types, spellings = _spelled(types, model.alphabet)
    return ModelText(numbered, types, model_types, spellings, np.array(starts), names, counts)


class _Numbers(dict[str, int]):
    """Word as written → its number, in the order of first occurrence; the line end is 0."""

    def __init__(self) -> None:
        super().__init__({LINE_END: LINE_END_TYPE})

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class _Given:
    """Counts a text while it passes."""

    def __init__(self) -> None:
        self.characters = self.num_bytes = 0

    def counted(self, pieces: Iterable[str]) -> Iterator[str]:
        for piece in pieces:
            self.characters += len(piece)
            self.num_bytes += len(piece.encode())
            yield piece


def _counts(words: Int[Array, " words"], written: list[str], types: list[str]) -> dict[str, int]:
    """Characters of the text by several conventions; where no word is respelled they say nothing more."""
    occurrences = np.bincount(words, minlength=len(types))
    is_line_end = words == LINE_END_TYPE
    num_spaces = int(np.count_nonzero(~is_line_end[:-1] & ~is_line_end[1:]))

    def total(lengths: Iterable[int]) -> int:
        return int(occurrences @ np.fromiter(lengths, np.int64, len(types))) + num_spaces

    counts = {NORMALISED: total(map(len, types)), NORMALISED_BYTES: total(len(one.encode()) for one in types)}
    if written != types:
        pairs = list(zip(written, types, strict=True))
        counts["respelled_words_as_written"] = total(len(old) for old, _ in pairs)
        counts["respelled_words_as_one_character"] = total(len(new) if old == new else 1 for old, new in pairs)
    return counts


def _spelled(types: list[str], alphabet: Alphabet) -> tuple[Int[Array, " types"], Spellings]:
    """The model's type of each type, and the spellings of the model's types."""
    number_of: dict[bytes, int] = {}
    spelled = alphabet.spell(types)
    model_types = np.array([number_of.setdefault(one.tobytes(), len(number_of)) for one in spelled], dtype=np.int32)
    _, firsts = np.unique(model_types, return_index=True)
    kept = [spelled[first] for first in firsts]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in kept])])
    return model_types, Spellings(np.concatenate(kept), starts)
