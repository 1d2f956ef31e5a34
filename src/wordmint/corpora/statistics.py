"""The paper's corpus statistics (tables 1–3), and what its argument rests on: Heaps' law and burstiness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordmint.corpora.corpus import LINE_END_ID, Corpus, Split
from wordmint.corpora.source import SPLITS
from wordmint.corpora.vocabulary import WORDS_PER_BLOCK, count_words
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import END_OF_WORD_ID

POINTS_PER_DECADE = 10
LEAST_WORDS = 1000  # below, the curve is still the opening sentence, and what comes again is chance
DISTINCT_WORDS = 100  # the paper's cache size


@dataclass(frozen=True)
class SplitStatistics:
    """A column of the paper's tables 1–3."""

    character_types: int  # white space included, all dummies one type
    word_types: int  # the line end included
    oov_rate: float | None  # share of tokens whose type is not in train; of train, and without train, none
    tokens: int  # words and line ends
    characters: int  # of the normalised text: one space between words, one line end a line
    dummies: int  # how many of them were too rare, or not to be read


@dataclass(frozen=True)
class Heaps:
    """Growth of the vocabulary: `types` of the first `tokens` words, and the fit types = scale · tokens ** exponent."""

    tokens: list[int]
    types: list[int]
    exponent: float | None  # none for a text too short to fit
    scale: float | None


@dataclass(frozen=True)
class Burstiness:
    """How often a word new to the text comes again within the next 100 distinct words.

    `predicted` is what the word's frequency gives by chance: its other occurrences fallen anywhere after the first.
    """

    new_words: int
    returned: float
    predicted: float

    @property
    def ratio(self) -> float | None:
        """How many times more often than by chance; none where chance has nothing to repeat."""
        return self.returned / self.predicted if self.predicted else None


@dataclass(frozen=True)
class CorpusStatistics:
    """Everything `wordmint corpus stats` says of a corpus; growth and burstiness are those of its first split.

    Of a text of fewer than 1,000 words there is no burstiness, nor a fit of its growth.
    """

    name: str
    splits: dict[str, SplitStatistics | None]
    measured_on: str
    heaps: Heaps
    burstiness: Burstiness | None


def corpus_statistics(corpus: Corpus) -> CorpusStatistics:
    """All statistics of a prepared corpus."""
    splits = {
        name: _split_statistics(corpus, corpus.splits[name]) if name in corpus.splits else None for name in SPLITS
    }
    first = next(iter(corpus.splits.values()))
    bursts = burstiness(first.words, corpus.num_types) if len(first.words) >= LEAST_WORDS else None
    return CorpusStatistics(corpus.name, splits, first.name, heaps(first.words), bursts)


def num_train_types(corpus: Corpus) -> int:
    """Types of train; as types are numbered by first occurrence, those with a lower number."""
    return _highest(corpus.splits["train"].words) + 1


def _split_statistics(corpus: Corpus, split: Split) -> SplitStatistics:
    counts = count_words(split.words, corpus.num_types)
    oov_rate = None
    if split.name != "train" and "train" in corpus.splits:
        oov_rate = float(counts[num_train_types(corpus) :].sum() / counts.sum())
    return SplitStatistics(
        character_types=_character_types(corpus, split, counts),
        word_types=int(np.count_nonzero(counts)),
        oov_rate=oov_rate,
        tokens=len(split.words),
        characters=split.num_characters,
        dummies=split.num_dummies,
    )


def _character_types(corpus: Corpus, split: Split, counts: Int[Array, " types"]) -> int:
    present = np.repeat(counts > 0, np.diff(corpus.spelling_starts))
    ids = np.unique(corpus.spellings[present])
    is_word = split.words != LINE_END_ID
    has_space = bool(np.any(is_word[:-1] & is_word[1:]))
    return int(np.count_nonzero(ids != END_OF_WORD_ID)) + has_space


def _highest(words: Int[Array, " words"]) -> int:
    return max(int(words[begin : begin + WORDS_PER_BLOCK].max()) for begin in range(0, len(words), WORDS_PER_BLOCK))


def heaps(words: Int[Array, " words"]) -> Heaps:
    """The growth of the vocabulary over a text, at evenly spaced points of a logarithmic scale."""
    num_points = int(np.log10(len(words)) * POINTS_PER_DECADE) + 1
    tokens = np.unique(np.append((10 ** (np.arange(num_points) / POINTS_PER_DECADE)).astype(np.int64), len(words)))
    types = _types_after(words, tokens)
    fitted = tokens >= min(LEAST_WORDS, tokens[len(tokens) // 2])
    if len(words) < LEAST_WORDS or fitted.sum() < 2:
        return Heaps(tokens.tolist(), types.tolist(), None, None)
    exponent, log_scale = np.polyfit(np.log(tokens[fitted]), np.log(types[fitted]), 1)
    return Heaps(tokens.tolist(), types.tolist(), float(exponent), float(np.exp(log_scale)))


def _types_after(words: Int[Array, " words"], tokens: Int[Array, " points"]) -> Int[Array, " points"]:
    """Distinct words among the first so many; counted from first occurrences, as a split need not start at type 0."""
    first = np.sort(_first_occurrences(words))
    return np.searchsorted(first, tokens - 1, side="right")


def _first_occurrences(words: Int[Array, " words"]) -> Int[Array, " types"]:
    """Where each type that occurs is first seen, in the order of the types."""
    where = np.full(_highest(words) + 1, len(words), dtype=np.int64)
    for begin in range(0, len(words), WORDS_PER_BLOCK):
        block = words[begin : begin + WORDS_PER_BLOCK]
        types, index = np.unique(block, return_index=True)
        where[types] = np.minimum(where[types], begin + index)
    return where[where < len(words)]


def burstiness(words: Int[Array, " words"], num_types: int, distinct: int = DISTINCT_WORDS) -> Burstiness:
    """How often new words come again soon; see `Burstiness`."""
    counts = count_words(words, num_types)
    first, second, window = _returns(words, num_types, distinct)
    seen = np.flatnonzero(first < len(words))
    left = np.maximum(len(words) - 1 - first[seen], 1)
    others = counts[seen] - 1
    predicted = 1 - (1 - np.minimum(window[seen] / left, 1.0)) ** others
    returned = second[seen] - first[seen] <= window[seen]
    return Burstiness(len(seen), float(returned.mean()), float(predicted.mean()))


def _returns(words: Int[Array, " words"], num_types: int, distinct: int) -> tuple[Int[Array, " types"], ...]:
    """For each type: its first and second occurrence, and how many words after the first have `distinct` types.

    One pass with a window that ends where it has seen that many types; plain loops, as every word is entered and left
    once.
    """
    text = np.ascontiguousarray(words).data  # a mapped file stays one, and its elements come as Python's integers
    length = len(text)
    first, second, window = [length] * num_types, [2 * length] * num_types, [0] * num_types
    inside = [0] * num_types
    num_inside, end = 0, 0
    for position, word in enumerate(text):
        if end > position:  # this word leaves the window
            inside[word] -= 1
            num_inside -= not inside[word]
        else:
            end = position + 1
        while num_inside < distinct and end < length:
            entering = text[end]
            num_inside += not inside[entering]
            inside[entering] += 1
            end += 1
        if first[word] == length:
            first[word] = position
            window[word] = end - 1 - position
        elif second[word] > length:
            second[word] = position
    return np.array(first), np.array(second), np.array(window)
