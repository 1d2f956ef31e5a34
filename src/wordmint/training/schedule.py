"""The learning rate along training, and when training ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from wordmint.training.config import TrainingConfig


@dataclass(frozen=True)
class Position:
    """Where a training run stands."""

    epoch: int = 0
    window: int = 0  # of the epoch, the next to be learnt
    best_bits: float = math.inf  # of dev
    epochs_since_best: int = 0
    halvings: int = 0
    seconds: float = 0.0  # that the epoch took so far, over all the runs it was resumed in

    def is_over(self, config: TrainingConfig) -> bool:
        """True after the last epoch, or when dev has not improved for long enough."""
        return self.epoch >= config.epochs or 0 < config.patience <= self.epochs_since_best

    def after_epoch(self, dev_bits: float) -> Position:
        """The next epoch's beginning; an epoch that did not improve dev is a reason to halve the rate."""
        better = dev_bits < self.best_bits
        return replace(
            self,
            epoch=self.epoch + 1,
            window=0,
            seconds=0.0,
            best_bits=min(dev_bits, self.best_bits),
            epochs_since_best=0 if better else self.epochs_since_best + 1,
            halvings=self.halvings + (not better),
        )


def learning_rate(config: TrainingConfig, position: Position, num_windows: int) -> float:
    """The rate of the next step."""
    match config.schedule:
        case "halving":
            return config.learning_rate * 0.5**position.halvings
        case "cosine":
            done = (position.epoch + position.window / num_windows) / config.epochs
            return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
