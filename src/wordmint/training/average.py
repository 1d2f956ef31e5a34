"""An exponential average of the weights along training, which is often a better model than the last weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """Begins at zero and is corrected for that when it is used, as Adam's moments are."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.parameters = list(model.parameters())
        self.decay = decay
        self.num_updates = 0
        self.sums = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def update(self) -> None:
        """Take the weights of one more step in; the count is the caller's, as a captured step does not count."""
        for total, parameter in zip(self.sums, self.parameters, strict=True):
            total.lerp_(parameter, 1 - self.decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside, the model has the averaged weights."""
        kept = [parameter.detach().clone() for parameter in self.parameters]
        correction = 1 - self.decay**self.num_updates
        self._set([total / correction for total in self.sums])
        try:
            yield
        finally:
            self._set(kept)

    @torch.no_grad()
    def _set(self, values: list[Tensor]) -> None:
        for parameter, value in zip(self.parameters, values, strict=True):
            parameter.copy_(value)
