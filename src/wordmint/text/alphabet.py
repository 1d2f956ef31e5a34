"""The alphabet: the characters a model knows, with a dummy for the rest.

Ids 0 and 1 are the dummy and the end of a word; the characters follow in code point order, so that the same text
always gives the same ids. U+FFFD, which decoders write for damage, *is* the dummy: neither says which character it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wordmint.shapes import Array, Int
from wordmint.text.words import LINE_END

DUMMY = "\N{REPLACEMENT CHARACTER}"
DUMMY_ID = 0
END_OF_WORD_ID = 1
NUM_SPECIAL = 2
NUM_CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Alphabet:
    """The known characters, in code point order."""

    characters: tuple[str, ...]

    def __post_init__(self) -> None:
        assert all(a < b for a, b in zip(self.characters, self.characters[1:], strict=False))
        assert DUMMY not in self.characters

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_count: int) -> Alphabet:
        """Every character that occurs at least `min_count` times, and always the line end."""
        known = {character for character, count in counts.items() if count >= min_count} | {LINE_END}
        return cls(tuple(sorted(known - {DUMMY})))

    def __len__(self) -> int:
        """The number of ids: the characters, the dummy and the end of a word."""
        return NUM_SPECIAL + len(self.characters)

    @cached_property
    def id_of_code_point(self) -> Int[Array, 1114112]:
        """The id of each code point of Unicode."""
        table = np.full(NUM_CODE_POINTS, DUMMY_ID, dtype=np.int32)
        for id_, character in enumerate(self.characters, start=NUM_SPECIAL):
            table[ord(character)] = id_
        return table

    @cached_property
    def code_point_of_id(self) -> Int[Array, " ids"]:
        """The code point of each id; the end of a word has none and reads as a space."""
        return np.array([ord(DUMMY), ord(" "), *map(ord, self.characters)], dtype=np.int32)

    def spell(self, words: Iterable[str]) -> list[Int[Array, " characters"]]:
        """The spelling of each word: the ids of its characters and the end of the word."""
        return [np.append(self.id_of_code_point[code_points(word)], np.int32(END_OF_WORD_ID)) for word in words]

    def read(self, spelling: Int[Array, " characters"]) -> str:
        """The word that a spelling (with or without its end) stands for, dummies as U+FFFD."""
        ids = spelling[spelling != END_OF_WORD_ID]
        return self.code_point_of_id[ids].tobytes().decode("utf-32-le")


def code_points(text: str) -> Int[Array, " characters"]:
    """The code points of a text; halves of surrogate pairs, which stand for undecodable bytes, are some too."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.int32)
