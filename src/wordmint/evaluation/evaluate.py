"""What a text costs a model: sums of bits, each with what it may be divided by."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wordmint.dynamic import Dynamic, Learner
from wordmint.evaluation.escapes import escape_bits
from wordmint.evaluation.score import TextScores, score_text
from wordmint.evaluation.text import LINE_END_TYPE, NORMALISED, NORMALISED_BYTES, ModelText
from wordmint.model.language_model import LanguageModel, has_cache
from wordmint.shapes import Array, Float


@dataclass(frozen=True)
class Reading:
    """How a text is read; one stream, from its start to its end, is the only way that is quite fair."""

    streams: int = 1
    slots: int | None = None  # of the cache; none: as in training
    reset_documents: bool = False  # begin each document without knowing those before it
    exact: bool = False  # pay for which character each dummy is
    dynamic: Dynamic | None = None  # go on learning while reading


@dataclass(frozen=True)
class Evaluation:
    """The cost of a text, in bits."""

    model: str
    bits: float
    bits_without_cache: float | None  # of the same weights where the gate always spells
    dummy_bits: float  # for naming the dummies; in `bits` only if the reading was exact
    dummy_characters: int
    tokens: int
    oov_tokens: int
    counts: dict[str, int]
    reading: Reading
    bits_of_word: Float[Array, " words"]
    bits_of_document: Float[Array, " documents"]

    @property
    def characters(self) -> int:
        """The paper's count."""
        return self.counts[NORMALISED]

    @property
    def bpc(self) -> float:
        """Bits per character of the normalised text."""
        return self.bits / self.characters

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of the normalised text in UTF-8."""
        return self.bits / self.counts[NORMALISED_BYTES]

    @property
    def word_perplexity(self) -> float:
        """Of words and line ends; infinite where no number is large enough."""
        return perplexity(self.bits, self.tokens)

    @property
    def oov_rate(self) -> float:
        """The share of tokens whose word the training text lacks."""
        return self.oov_tokens / self.tokens


def evaluate(
    model: LanguageModel,
    text: ModelText,
    reading: Reading = Reading(),
    name: str = "model",
    report: Callable[[int], None] = lambda _num_words: None,
) -> Evaluation:
    """Score a text and count."""
    scores = _scores(model, text, reading, report)
    bits_of_word = -scores.log_p / math.log(2)
    unknown, where = text.unknown_characters(model.alphabet)
    dummy_bits = escape_bits(unknown, model.alphabet)
    paid = math.fsum(dummy_bits) if reading.exact else 0.0
    if reading.exact:
        np.add.at(bits_of_word, where, dummy_bits)
    ends = np.concatenate([[0.0], np.cumsum(bits_of_word)])
    return Evaluation(
        model=name,
        bits=float(bits_of_word.sum()),
        bits_without_cache=float(-scores.log_p_spell.sum() / math.log(2)) + paid
        if _has_cache(model, reading)
        else None,
        dummy_bits=math.fsum(dummy_bits),
        dummy_characters=len(unknown),
        tokens=len(text.words),
        oov_tokens=int(np.count_nonzero(~_known_types(model, text)[text.model_words])),
        counts=text.counts,
        reading=reading,
        bits_of_word=bits_of_word,
        bits_of_document=np.diff(ends[text.document_starts]),
    )


def perplexity(bits: float, tokens: int) -> float:
    """Two to the bits a token."""
    exponent = bits / tokens
    return 2**exponent if exponent < sys.float_info.max_exp else math.inf


def _scores(model: LanguageModel, text: ModelText, reading: Reading, report: Callable[[int], None]) -> TextScores:
    words = text.model_words
    if not reading.reset_documents:
        parts = [words]
    else:
        parts = [part for part in np.split(words, text.document_starts[1:-1]) if len(part)]
    scores = [
        score_text(
            model.network,
            part,
            text.spellings,
            LINE_END_TYPE,
            reading.streams,
            reading.slots,
            report,
            Learner(model.network, reading.dynamic) if reading.dynamic else None,
        )
        for part in parts
    ]
    return TextScores(*(np.concatenate(columns) for columns in zip(*scores, strict=True)))


def _has_cache(model: LanguageModel, reading: Reading) -> bool:
    return has_cache(model.network) and reading.slots != 0


def _known_types(model: LanguageModel, text: ModelText) -> Array:
    """Which of the model's types occurred in its training text."""
    bounds = pairwise(text.spellings.starts)
    return model.has_seen([model.alphabet.read(text.spellings.ids[begin:end]) for begin, end in bounds])
