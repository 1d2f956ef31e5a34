"""minicons' calls: `IncrementalLMScorer(MODEL).token_score([...], surprisal=True, base_two=True)`.

Tokens are words, whole and with their first one scored; each text is read by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from wordmint.use.model import Model

Texts = str | list[str]


def _mean(log_p: torch.Tensor) -> float:
    return log_p.mean(0).item()


class IncrementalLMScorer:
    """A model that answers as minicons' scorers do."""

    def __init__(self, model: str | Model, device: str = "cpu") -> None:
        self.lm = model if isinstance(model, Model) else Model.load(model, device)

    def token_score(
        self, batch: Texts, surprisal: bool = False, prob: bool = False, base_two: bool = False
    ) -> list[list[tuple[str, float]]]:
        """Each text's words with their log-probabilities, surprisals or probabilities."""
        if surprisal and prob:
            raise ValueError("surprisal or prob, not both")
        unit = math.log(2) if base_two else 1.0

        def shown(log_p: float) -> float:
            return math.exp(log_p) if prob else -log_p / unit if surprisal else log_p / unit

        return [
            [(text, shown(log_p)) for text, log_p in zip(scores.text, scores.log_p.tolist(), strict=True)]
            for scores in self._scores(batch)
        ]

    def sequence_score(
        self, batch: Texts, reduction: Callable[[torch.Tensor], Any] = _mean, base_two: bool = False
    ) -> list[Any]:
        """Of each text the words' log-probabilities, reduced to one number; the mean unless told otherwise."""
        unit = math.log(2) if base_two else 1.0
        return [reduction(torch.from_numpy(scores.log_p) / unit) for scores in self._scores(batch)]

    def compute_stats(self, batch: Texts) -> list[list[float]]:
        """Each text's log-probabilities."""
        return [scores.log_p.tolist() for scores in self._scores(batch)]

    def _scores(self, batch: Texts) -> list[Any]:
        return self.lm.score_many([batch] if isinstance(batch, str) else batch)
