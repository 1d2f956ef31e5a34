"""The scores of words as a small table that becomes pandas, polars or arrow without needing them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wordmint.evaluation.score import TextScores
from wordmint.shapes import Array, Float, Int

NO_SLOT = -1


class WordScore(NamedTuple):
    """One word's row; log-probabilities in nats."""

    text: str
    start: int
    end: int
    log_p: float
    log_p_spell: float
    log_p_copy: float  # −∞ for a word that was not in the cache
    log_gate: float  # of spelling
    slot: int  # where it stood in the cache; −1: nowhere

    @property
    def surprisal(self) -> float:
        """In bits."""
        return -self.log_p / math.log(2)

    @property
    def p_copied(self) -> float:
        """The posterior probability that the word was copied."""
        return min(max(-math.expm1(self.log_gate + self.log_p_spell - self.log_p), 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class Scores:
    """A row a word, in the order of the text; `start` and `end` count characters from the start of the reading."""

    text: list[str]
    start: Int[Array, " words"]
    end: Int[Array, " words"]
    log_p: Float[Array, " words"]
    log_p_spell: Float[Array, " words"]
    log_p_copy: Float[Array, " words"]
    log_gate: Float[Array, " words"]
    slot: Int[Array, " words"]

    @classmethod
    def of(cls, words: Sequence[tuple[str, int, int]], scores: TextScores, slots: Sequence[int]) -> Scores:
        """Words with their offsets, what a model says of them, and where they stood in the cache."""
        return cls(
            [text for text, _, _ in words],
            np.array([start for _, start, _ in words], dtype=np.int64),
            np.array([end for _, _, end in words], dtype=np.int64),
            scores.log_p,
            scores.log_p_spell,
            scores.log_p_copy,
            scores.log_gate,
            np.array(slots, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, row: int) -> WordScore:
        return WordScore(*(_plain(column[row]) for column in self.columns().values()))

    def __iter__(self) -> Iterator[WordScore]:
        return (self[row] for row in range(len(self)))

    @property
    def surprisal(self) -> Float[Array, " words"]:
        """In bits."""
        return -self.log_p / math.log(2)

    @property
    def p_copied(self) -> Float[Array, " words"]:
        """The posterior probability that each word was copied."""
        return np.clip(-np.expm1(self.log_gate + self.log_p_spell - self.log_p), 0.0, 1.0) + 0.0  # no −0

    @property
    def bits(self) -> float:
        """Of all words together."""
        return math.fsum(self.surprisal)

    def columns(self) -> dict[str, Any]:
        """The columns by name."""
        return dict(vars(self))

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        import pandas

        return pandas.DataFrame(self._with_more())

    def to_polars(self) -> Any:
        """A polars data frame."""
        import polars

        return polars.DataFrame(self._with_more())

    def to_arrow(self) -> Any:
        """An arrow table."""
        import pyarrow

        return pyarrow.table(self._with_more())

    def _with_more(self) -> dict[str, Any]:
        return {**self.columns(), "surprisal": self.surprisal, "p_copied": self.p_copied}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
