"""Is one model better than another on a text? A paired bootstrap over its documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordmint.evaluation.evaluate import Evaluation
from wordmint.shapes import Array, Float

FEWEST_DOCUMENTS = 20
BLOCKS = 100  # of a text that has too few documents
RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Comparison:
    """How many of the first model's bits the second one saves, as a share, with an interval."""

    saved: float
    low: float
    high: float
    num_units: int
    unit: str  # what was drawn anew: documents, or blocks of the text

    @property
    def is_certain(self) -> bool:
        """True where the interval leaves out that they are equal."""
        return self.low > 0 or self.high < 0


def compare(first: Evaluation, second: Evaluation, seed: int = 1) -> Comparison:
    """Both must be of the same text."""
    assert first.counts == second.counts
    unit = "documents" if np.count_nonzero(first.bits_of_document) >= FEWEST_DOCUMENTS else "blocks"
    mine, theirs = (_bits_of_units(one, unit) for one in (first, second))
    drawn = np.random.default_rng(seed).multinomial(len(mine), np.full(len(mine), 1 / len(mine)), RESAMPLES)
    shares = 1 - (drawn @ theirs) / (drawn @ mine)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(shares, [tail, 1 - tail])
    return Comparison(float(1 - theirs.sum() / mine.sum()), float(low), float(high), len(mine), unit)


def _bits_of_units(evaluation: Evaluation, unit: str) -> Float[Array, " units"]:
    if unit == "documents":
        return evaluation.bits_of_document[evaluation.bits_of_document > 0]  # a document without words costs nothing
    blocks = np.array_split(evaluation.bits_of_word, min(BLOCKS, evaluation.tokens))
    return np.array([block.sum() for block in blocks])
