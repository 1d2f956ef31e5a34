"""Streams and windows: no word dropped, none twice, and any window can be the first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordmint.shapes import Array, Int
from wordmint.text.streams import NO_WORD, Window, num_windows, stream_starts, windows

num_words_, num_streams_, words_per_window_ = st.integers(0, 120), st.integers(1, 12), st.integers(1, 9)


def some_text(num_words: int) -> Int[Array, " words"]:
    """Every word another one, so that a swap shows."""
    return np.arange(num_words, dtype=np.int32)


def join_windows(read: Iterable[Window], num_streams: int) -> list[list[int]]:
    """Each stream's words, as the windows hold them."""
    streams: list[list[int]] = [[] for _ in range(num_streams)]
    for window in read:
        for stream, (words, present) in enumerate(zip(window.words.tolist(), window.present.tolist(), strict=True)):
            streams[stream] += [word for word, is_there in zip(words, present, strict=True) if is_there]
    return streams


@given(num_words_, num_streams_, words_per_window_)
def test_windows_hold_the_text_in_order_and_nothing_else(
    num_words: int, num_streams: int, words_per_window: int
) -> None:
    text = some_text(num_words)
    streams = join_windows(windows(text, num_streams, words_per_window), num_streams)
    assert [word for stream in streams for word in stream] == text.tolist()


@given(num_words_, num_streams_)
def test_streams_differ_by_a_word_at_most_and_the_longer_come_first(num_words: int, num_streams: int) -> None:
    starts = stream_starts(num_words, num_streams)
    lengths = np.diff(starts).tolist()
    assert (starts[0], starts[-1], len(lengths)) == (0, num_words, num_streams)
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)
    streams = join_windows(windows(some_text(num_words), num_streams, 4), num_streams)
    assert list(map(len, streams)) == lengths


@given(num_words_, num_streams_, words_per_window_)
def test_empty_places_are_at_the_end_of_the_last_window_alone(
    num_words: int, num_streams: int, words_per_window: int
) -> None:
    read = list(windows(some_text(num_words), num_streams, words_per_window))
    assert all(window.words.shape == (num_streams, words_per_window) for window in read)
    assert all(window.present.all() for window in read[:-1])
    for present in read[-1].present.tolist() if read else []:
        assert present == sorted(present, reverse=True)
    assert all(window.present.any() for window in read)


@given(num_words_, num_streams_, words_per_window_, st.integers(0, 15))
def test_reading_resumes_at_any_window(num_words: int, num_streams: int, words_per_window: int, first: int) -> None:
    text = some_text(num_words)
    everything = list(windows(text, num_streams, words_per_window))
    rest = list(windows(text, num_streams, words_per_window, first))
    assert len(everything) == num_windows(num_words, num_streams, words_per_window)
    assert [w.words.tolist() for w in rest] == [w.words.tolist() for w in everything[first:]]


def test_a_picture_of_it() -> None:
    first, second = windows(some_text(7), num_streams=2, words_per_window=3)
    assert first.words.tolist() == [[0, 1, 2], [4, 5, 6]]
    assert second.words.tolist() == [[3, NO_WORD, NO_WORD], [NO_WORD] * 3]
    assert second.present.tolist() == [[True, False, False], [False] * 3]


def test_windows_do_not_share_memory_with_the_text() -> None:
    text = some_text(4)
    (window,) = windows(text, 1, 4)
    window.words[:] = 9
    assert text.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("num_streams", [1, 25])
def test_a_text_shorter_than_the_streams_is_one_window(num_streams: int) -> None:
    (window,) = windows(some_text(1), num_streams, 35)
    assert window.words[0, 0] == 0
    assert window.present.sum() == 1
