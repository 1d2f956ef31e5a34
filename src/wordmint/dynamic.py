"""Dynamic evaluation: a model that goes on learning from the text it reads (Mikolov et al. 2010; Krause et al. 2018).

After some words their loss moves the weights one step of plain gradient descent, and the trained weights pull them
back. What was scored was scored before, so nothing is known too early. The model itself stays as it is: a copy learns.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch.nn.utils import clip_grad_norm_

from wordmint.errors import UserError
from wordmint.model.language_model import Network
from wordmint.model.mixture import WordScores

LONGEST_STEP = 1.0  # norm of a gradient


@dataclass(frozen=True)
class Dynamic:
    """How fast to learn while reading."""

    rate: float = 0.1
    decay: float = 0.01  # the share of the way back to the trained weights, each step
    words: int = 20  # of each step

    def __post_init__(self) -> None:
        if not self.rate > 0 or not 0 <= self.decay <= 1 or self.words < 1:
            raise UserError(
                f"dynamic evaluation at rate {self.rate}, decay {self.decay}, {self.words} words a step: "
                "the rate must be above 0, the decay between 0 and 1, and the words at least 1"
            )


class Learner:
    """A copy of a network that learns."""

    def __init__(self, network: Network, dynamic: Dynamic = Dynamic()) -> None:
        self.dynamic = dynamic
        if any(getattr(module, "int8", None) is not None for module in network.modules()):
            raise UserError("a model in 8-bit integers cannot learn; load it without int8")
        self.network = copy.deepcopy(network).eval()
        self.parameters = [one.requires_grad_() for one in self.network.parameters()]
        self.trained = [one.detach().clone() for one in self.parameters]

    def learn(self, scores: WordScores, num_words: int) -> None:
        """One step on words that were just scored."""
        (-scores.log_p.sum() / num_words).backward()
        norm = clip_grad_norm_(self.parameters, LONGEST_STEP)
        if norm.isfinite():
            with torch.no_grad():
                for one, trained in zip(self.parameters, self.trained, strict=True):
                    if one.grad is not None:
                        one.add_(one.grad, alpha=-self.dynamic.rate)
                    one.lerp_(trained, self.dynamic.decay)
        self.network.zero_grad(set_to_none=True)
