"""N-grams of characters and of words: interpolated modified Kneser–Ney (Chen & Goodman 1999), frozen after train.

    p(s | context) = (count(context, s) − discount) / count(context) + left(context) · p(s | shorter context)

Only the longest n-grams are counted by how often they occur; those they fall back on, by how many different symbols
come before them. Below the n-grams of one symbol stands a base distribution: for characters all are the same, for words
it is the probability of the spelling. So every text has a finite cost. Every step is a sort or a lookup of whole
arrays, and one pass over the lengths gives the model of every order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wordmint.corpora.corpus import LINE_END_ID, Corpus
from wordmint.evaluation.baselines.text import characters, spell
from wordmint.shapes import Array, Float, Int
from wordmint.text.alphabet import END_OF_WORD_ID

MAX_CHARACTER_ORDER = 10  # each further one takes longer, and wins less than 0.005 bits per character on PTB
MAX_WORD_ORDER = 5
UNKNOWN = -1  # the number of an n-gram that train lacks
FALLBACK_DISCOUNTS = (0.0, 0.5, 1.0, 1.5)  # KenLM's, where a text is too regular to estimate them


class Text(NamedTuple):
    """Symbols, and how many before each its context may reach; one that reaches none is given, not predicted."""

    symbols: Int[Array, " symbols"]
    reach: Int[Array, " symbols"]


class Share(NamedTuple):
    """How n-grams of one length divide the probability: their own part, and what is left to shorter ones (nats)."""

    log_own: Float[Array, " ngrams"]
    log_left: Float[Array, " contexts"]


class Level(NamedTuple):
    """All n-grams of one length; an n-gram's number is its place in `keys`, a context's that of a shorter n-gram."""

    keys: Int[Array, " ngrams"]  # context * num_symbols + last symbol, ascending
    longest: Share  # where there are no longer n-grams
    inner: Share  # where there are


class CharacterNGrams:
    """Characters given the characters before them, spaces and line ends among them."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        train = self._text(corpus.splits["train"].words)
        self.levels = fit(train, len(corpus.alphabet), MAX_CHARACTER_ORDER)

    def bits(self, words: Int[Array, " words"]) -> dict[int, float]:
        """The bits of a text for each order."""
        text = self._text(words)
        log_base = np.full(len(text.symbols), -math.log(len(self.corpus.alphabet)))
        return _bits_by_order(log_ps(self.levels, text, log_base))

    def _text(self, words: Int[Array, " words"]) -> Text:
        line_end = self.corpus.spellings[LINE_END_ID]
        return running(characters(self.corpus, words), int(line_end))


class WordNGrams:
    """Words, line ends among them, given the words before them; below stands the spelling."""

    def __init__(self, corpus: Corpus) -> None:
        self.speller = Speller(corpus)
        self.log_p_spelling = self.speller.log_p(*spell(corpus, np.arange(corpus.num_types)))
        train = running(corpus.splits["train"].words, LINE_END_ID)
        self.levels = fit(train, corpus.num_types, MAX_WORD_ORDER)

    def bits(self, words: Int[Array, " words"]) -> dict[int, float]:
        """The bits of a text for each order."""
        text = running(words, LINE_END_ID)
        return _bits_by_order(log_ps(self.levels, text, self.log_p_spelling[text.symbols]))


class Speller:
    """Words as spellings, ends included: character n-grams over the distinct words of train, each taken by itself.

    Distinct, as it is asked for words that occur once rather than for "the".
    """

    def __init__(self, corpus: Corpus) -> None:
        self.alphabet_size = len(corpus.alphabet)
        types = np.unique(corpus.splits["train"].words)
        self.levels = fit(separate(*spell(corpus, types)), self.alphabet_size, MAX_CHARACTER_ORDER)

    def log_p(self, spellings: Int[Array, " characters"], stops: Int[Array, " words"]) -> Float[Array, " words"]:
        """The log probability of each word (nats)."""
        starts = np.concatenate([[0], stops[:-1]])
        return np.add.reduceat(self.log_p_characters(spellings, stops), starts)

    def log_p_characters(
        self, spellings: Int[Array, " characters"], stops: Int[Array, " words"]
    ) -> Float[Array, " characters"]:
        """The log probability of each character, and each end, of words (nats)."""
        text = separate(spellings, stops)
        log_base = np.full(len(text.symbols), -math.log(self.alphabet_size))
        *_, highest = log_ps(self.levels, text, log_base)
        return highest


def running(symbols: Int[Array, " symbols"], given: int) -> Text:
    """A text read from its start to its end, as if a given symbol stood before it."""
    return Text(np.concatenate([[given], symbols]).astype(np.int64), np.arange(len(symbols) + 1))


def separate(spellings: Int[Array, " characters"], stops: Int[Array, " words"]) -> Text:
    """Words that know nothing of each other: a context reaches back to the end of the word before and no further."""
    starts = np.concatenate([[0], stops[:-1]])
    reach = np.arange(1, len(spellings) + 1) - np.repeat(starts, stops - starts)
    return Text(np.concatenate([[END_OF_WORD_ID], spellings]).astype(np.int64), np.concatenate([[0], reach]))


def fit(text: Text, num_symbols: int, max_order: int) -> list[Level]:
    """The n-grams of a text, from one symbol to `max_order`."""
    levels = []
    grams = _single(text, num_symbols)
    while grams.order < max_order:
        longer = _longer(grams, text, num_symbols)
        longest = _share(grams, grams.counts, num_symbols)
        inner = _share(grams, _count_preceding(grams, longer, text), num_symbols)
        levels.append(Level(grams.keys, longest, inner))
        grams = longer
    longest = _share(grams, grams.counts, num_symbols)
    return [*levels, Level(grams.keys, longest, inner=longest)]


def log_ps(levels: list[Level], text: Text, log_base: Float[Array, " symbols"]) -> Iterator[Float[Array, " predicted"]]:
    """The log probability of each symbol that is not given (nats): by n-grams of one symbol, then of two, and so on."""
    num_symbols = len(levels[0].keys)
    contexts = np.zeros_like(text.symbols)
    log_p = log_base
    for order, level in enumerate(levels, start=1):
        if len(level.keys) == 0:  # train is too short for n-grams as long as this
            yield log_p[text.reach > 0]
            continue
        found = _find(level.keys, contexts * num_symbols + text.symbols)
        yield _mix(level.longest, contexts, found, log_p)[text.reach > 0]
        log_p = _mix(level.inner, contexts, found, log_p)
        contexts = np.where(text.reach >= order, np.roll(found, 1), UNKNOWN)


def _find(keys: Int[Array, " ngrams"], wanted: Int[Array, " symbols"]) -> Int[Array, " symbols"]:
    """The number of each n-gram; where already the context is unknown its key is negative, as none is."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, UNKNOWN)


def _mix(
    share: Share, contexts: Int[Array, " symbols"], found: Int[Array, " symbols"], log_p: Float[Array, " symbols"]
) -> Float[Array, " symbols"]:
    """Interpolate with what shorter n-grams say; after an unknown context they say it all."""
    log_own = np.where(found == UNKNOWN, -np.inf, share.log_own[found])
    log_left = np.where(contexts == UNKNOWN, 0.0, share.log_left[contexts])
    return np.logaddexp(log_own, log_left + log_p)


class _Grams(NamedTuple):
    """The n-grams of a text that have one length."""

    order: int
    keys: Int[Array, " ngrams"]
    counts: Int[Array, " ngrams"]
    ids: Int[Array, " symbols"]  # the number of the n-gram that ends at each place, where one does
    num_contexts: int


def _single(text: Text, num_symbols: int) -> _Grams:
    """Every symbol, those that never occur included: so a symbol is its own number, and a given one has one too."""
    counts = np.bincount(text.symbols[text.reach > 0], minlength=num_symbols)
    return _Grams(1, np.arange(num_symbols), counts, text.symbols, num_contexts=1)


def _longer(grams: _Grams, text: Text, num_symbols: int) -> _Grams:
    """The n-grams that are one symbol longer."""
    ends = np.flatnonzero(text.reach >= grams.order)
    keys = grams.ids[ends - 1] * num_symbols + text.symbols[ends]
    keys, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
    ids = np.full(len(text.symbols), UNKNOWN)
    ids[ends] = numbers
    return _Grams(grams.order + 1, keys, counts, ids, num_contexts=len(grams.keys))


def _count_preceding(grams: _Grams, longer: _Grams, text: Text) -> Int[Array, " ngrams"]:
    """How many different symbols precede each n-gram; where none can, each time it occurs counts as one."""
    ends = np.flatnonzero(text.reach >= grams.order)
    end_of_longer = np.zeros(len(longer.keys), dtype=np.int64)
    end_of_longer[longer.ids[ends]] = ends  # any place where it ends, as the n-gram within is the same in all
    at_start = (text.reach == grams.order - 1) & (text.reach > 0)
    inside, first = (np.bincount(grams.ids[ends], minlength=len(grams.keys)) for ends in (end_of_longer, at_start))
    return inside + first


def _share(grams: _Grams, counts: Int[Array, " ngrams"], num_symbols: int) -> Share:
    """What the n-grams keep of their counts, and what their contexts hand on."""
    taken = _discounts(counts)[np.minimum(counts, 3)]
    contexts = grams.keys // num_symbols
    total = np.bincount(contexts, counts, grams.num_contexts)
    left = np.bincount(contexts, taken, grams.num_contexts)
    all_left = np.ones(grams.num_contexts)
    with np.errstate(divide="ignore"):  # an n-gram may keep nothing
        log_own = np.log(counts - taken) - np.log(total)[contexts]
    return Share(log_own, np.log(np.divide(left, total, out=all_left, where=total > 0)))


def _discounts(counts: Int[Array, " ngrams"]) -> Float[Array, " counts"]:
    """What is taken off a count of 0, 1, 2, and 3 or more: estimated from how many n-grams have each count."""
    n1, n2, n3, n4 = (np.count_nonzero(counts == count) for count in range(1, 5))
    if min(n1, n2, n3) == 0:
        return np.array(FALLBACK_DISCOUNTS)
    y = n1 / (n1 + 2 * n2)
    discounts = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    return discounts if np.all(discounts[1:] > 0) else np.array(FALLBACK_DISCOUNTS)


def _bits_by_order(log_ps: Iterator[Float[Array, " predicted"]]) -> dict[int, float]:
    return {order: float(-log_p.sum() / math.log(2)) for order, log_p in enumerate(log_ps, start=1)}
