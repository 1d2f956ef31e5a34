"""How a model is trained, as typed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class TrainingConfig:
    """The paper's settings, where it prints them; the rest is settled in docs/decisions."""

    epochs: int = 40
    streams: int = 25  # the batch
    words_per_window: int = 35
    learning_rate: float = 0.002
    schedule: Literal["halving", "cosine"] = "halving"
    max_gradient_norm: float = 10.0
    averaging: float = 0.0  # decay of an average of the weights, which then is the model; 0: none
    precision: Literal["float32", "bfloat16"] = "float32"  # of matrix products; log-probabilities are float32
    patience: int = 5  # epochs without a better dev result before training stops; 0: never
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "streams", "words_per_window"):
            if getattr(self, name) < 1:
                raise ValueError(f"training.{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 <= self.averaging < 1:
            raise ValueError(f"training.averaging is {self.averaging}; it must be at least 0 and below 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"training.seed is {self.seed}; it must lie between 0 and 2^63")
        if self.learning_rate <= 0 or self.max_gradient_norm <= 0:
            raise ValueError("training.learning_rate and training.max_gradient_norm must be above 0")
