"""The gate and the mixture: spell or copy (section 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from wordmint.model.linear import Linear
from wordmint.shapes import Bool, Float


class WordScores(NamedTuple):
    """Log-probabilities, in nats, of the words of a window; all 0 where a stream has ended."""

    log_p_spell: Float[Tensor, "streams words"]
    log_p_copy: Float[Tensor, "streams words"]  # −∞ for a word that is not in the cache
    log_gate: Float[Tensor, "streams words"]  # of spelling
    log_p: Float[Tensor, "streams words"]

    @property
    def p_copied(self) -> Float[Tensor, "streams words"]:
        """The posterior probability that the word was copied."""
        return -torch.expm1(self.log_gate + self.log_p_spell - self.log_p)

    @classmethod
    def of_spelling(cls, log_p_spell: Float[Tensor, "streams words"]) -> WordScores:
        """Where there is no cache, every word is spelled."""
        certain, never = torch.zeros_like(log_p_spell), torch.full_like(log_p_spell, -torch.inf)
        return cls(log_p_spell, never, certain, log_p_spell)


class Gate(nn.Module):
    """λ_t = σ(MLP(h_t)), the probability of spelling; the MLP has two non-linear layers."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(Linear(units, units), nn.Tanh(), Linear(units, units), nn.Tanh())
        self.out = nn.Linear(units, 1)

    def forward(self, context: Float[Tensor, "streams words units"]) -> Float[Tensor, "streams words"]:
        """γ_t; the paper prints λ = 1/(1 − e^−γ), which is no probability: docs/decisions/0011."""
        return self.out(self.mlp(context)).squeeze(-1).to(self.out.weight.dtype)


def mix(
    log_p_spell: Float[Tensor, "streams words"],
    log_p_copy: Float[Tensor, "streams words"],
    gamma: Float[Tensor, "streams words"],
    cache_is_empty: Bool[Tensor, "streams words"],
) -> WordScores:
    """λ p_lm + (1 − λ) p_ptr in log space; where the cache is empty, λ = 1."""
    log_gate = torch.where(cache_is_empty, 0.0, logsigmoid(gamma))
    log_not_gate = torch.where(cache_is_empty, -torch.inf, logsigmoid(-gamma))
    log_p = torch.logaddexp(log_gate + log_p_spell, log_not_gate + log_p_copy)
    return WordScores(log_p_spell, log_p_copy, log_gate, log_p)
