"""The text that is paid for: the normalised text, the same for compressors and n-grams as for our models."""

from __future__ import annotations

import numpy as np

from wordmint.corpora.corpus import LINE_END_ID, Corpus
from wordmint.shapes import Array, Int


def spell(corpus: Corpus, words: Int[Array, " words"]) -> tuple[Int[Array, " characters"], Int[Array, " words"]]:
    """The spellings of words, one after the other and each with its end, and where each of them stops."""
    starts = np.asarray(corpus.spelling_starts)
    lengths = np.diff(starts)[words]
    stops = np.cumsum(lengths)
    places = np.arange(stops[-1]) + np.repeat(starts[words] - (stops - lengths), lengths)
    return np.asarray(corpus.spellings)[places], stops


def characters(corpus: Corpus, words: Int[Array, " words"]) -> Int[Array, " characters"]:
    """The normalised text of words in alphabet ids; where it has a space, the end of a word stands."""
    ids, stops = spell(corpus, words)
    is_line_end = words == LINE_END_ID
    has_no_space = is_line_end | np.append(is_line_end[1:], True)
    return np.delete(ids, stops[has_no_space] - 1)


def utf8(corpus: Corpus, words: Int[Array, " words"]) -> bytes:
    """The normalised text of words as a compressor reads it."""
    code_points = corpus.alphabet.code_point_of_id[characters(corpus, words)]
    return code_points.tobytes().decode("utf-32-le").encode()
