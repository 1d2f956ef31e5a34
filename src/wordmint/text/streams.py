"""Streams and windows: how a long text becomes training steps.

A text of N words is cut into B contiguous *streams* that differ in length by at most one word; a *window* is the next
T words of every stream. State is carried from window to window, so a stream is read as one long text. No word is
dropped: only the last window may have empty places, at its end, and it says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wordmint.shapes import Array, Bool, Int

NO_WORD = -1


@dataclass(frozen=True)
class Window:
    """The next words of every stream, as word ids; `NO_WORD` where a stream has ended."""

    words: Int[Array, "streams words"]

    @property
    def present(self) -> Bool[Array, "streams words"]:
        """True where there is a word."""
        return self.words != NO_WORD


def stream_starts(num_words: int, num_streams: int) -> Int[Array, " streams_and_end"]:
    """Where each stream begins in the text, and where the last one ends; the longer streams come first."""
    lengths = np.full(num_streams, num_words // num_streams, dtype=np.int64)
    lengths[: num_words % num_streams] += 1
    return np.concatenate([[0], np.cumsum(lengths)])


def windows(text: Int[Array, " words"], num_streams: int, words_per_window: int, first: int = 0) -> Iterator[Window]:
    """The windows of a text from the one with index `first` on."""
    starts = stream_starts(len(text), num_streams)
    for index in range(first, num_windows(len(text), num_streams, words_per_window)):
        words = np.full((num_streams, words_per_window), NO_WORD, dtype=np.int32)
        for stream in range(num_streams):
            begin = starts[stream] + index * words_per_window
            part = text[begin : min(begin + words_per_window, starts[stream + 1])]
            words[stream, : len(part)] = part
        yield Window(words)


def num_windows(num_words: int, num_streams: int, words_per_window: int) -> int:
    """How many windows a text has."""
    longest_stream = -(-num_words // num_streams)
    return -(-longest_stream // words_per_window)
