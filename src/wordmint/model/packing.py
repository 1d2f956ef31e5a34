"""Packing: spellings of many lengths laid out so that an LSTM reads them side by side without padding.

The longest comes first. All first characters lie together, then all second ones, and so on:

    w o r d ⌂        rank 0
    a ⌂              rank 1       →   w a b | o ⌂ ⌂ | r | d | ⌂       sizes 3 3 1 1 1
    b ⌂              rank 2

A *profile* lends every rank at least its own length, so that all windows of a corpus have one shape; places past the
end of a spelling hold nothing that is ever read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordmint.shapes import Array, Int

NOTHING = -1  # an index where there is nothing


@dataclass(frozen=True)
class Spellings:
    """The spellings of word types, one after the other: alphabet ids, each with its end of word."""

    ids: Int[Array, " characters"]
    starts: Int[Array, " types_and_end"]

    def lengths(self, types: Int[Array, " words"]) -> Int[Array, " words"]:
        """How long each word's spelling is."""
        return self.starts[types + 1] - self.starts[types]


@dataclass(frozen=True)
class Packing:
    """Where each character of some spellings goes."""

    lengths: Int[Array, " ranks"]  # of the places lent to each rank, longest first
    sizes: Int[Array, " steps"]  # how many spellings have a place at each step

    @classmethod
    def of(cls, lengths: Int[Array, " ranks"]) -> Packing:
        """The packing of spellings with these lengths, longest first."""
        longest = int(lengths[0]) if len(lengths) else 0
        ended_by = np.bincount(lengths, minlength=longest + 1).cumsum()
        return cls(lengths, len(lengths) - ended_by[:longest])

    def holds(self, lengths: Int[Array, " ranks"]) -> bool:
        """True where spellings of these lengths, longest first, find their places here."""
        return len(lengths) <= len(self.lengths) and bool((lengths <= self.lengths[: len(lengths)]).all())

    @property
    def num_places(self) -> int:
        """The length of the packed array."""
        return int(self.lengths.sum())

    def place(self, rank: Int[Array, " n"], step: Int[Array, " n"]) -> Int[Array, " n"]:
        """Where in the packed array the character of a rank at a step lies."""
        return np.concatenate([[0], self.sizes.cumsum()])[step] + rank

    def characters(self, spellings: Spellings, types: Int[Array, " ranks"]) -> Int[Array, " places"]:
        """The characters of the types, packed; `NOTHING` in the places past an end."""
        lengths = spellings.lengths(types)
        firsts = np.cumsum(lengths) - lengths
        ranks = np.repeat(np.arange(len(types)), lengths)
        steps = np.arange(len(ranks)) - np.repeat(firsts, lengths)
        packed = np.full(self.num_places, NOTHING, dtype=np.int64)
        packed[self.place(ranks, steps)] = spellings.ids[np.repeat(spellings.starts[types], lengths) + steps]
        return packed


def packing_for(lengths: Int[Array, " ranks"], profile: Packing | None) -> Packing:
    """The profile where it holds the spellings, else a packing of their own."""
    return profile if profile and profile.holds(lengths) else Packing.of(lengths)


def longest_first(spellings: Spellings, types: Int[Array, " words"]) -> Int[Array, " words"]:
    """The order that packing wants, the same every time."""
    return np.argsort(-spellings.lengths(types), kind="stable")
