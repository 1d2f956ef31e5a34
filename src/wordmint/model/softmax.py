"""The softmax over the alphabet."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from wordmint.model.linear import affine
from wordmint.model.packing import NOTHING
from wordmint.shapes import Float, Int

NEVER = -1e4  # so small a logit that its probability is 0


class Softmax(nn.Linear):
    """From hidden units to a character."""

    def nats(self, hidden: Float[Tensor, "places units"], targets: Int[Tensor, " places"]) -> Float[Tensor, " places"]:
        """What each character costs; 0 where there is nothing to be predicted."""
        logits = self._logits(hidden).to(self.weight.dtype)
        return cross_entropy(logits, targets, ignore_index=NOTHING, reduction="none")

    def _logits(self, hidden: Tensor) -> Float[Tensor, "places characters"]:
        if not (hidden.is_cuda and torch.is_autocast_enabled("cuda")):
            return self(hidden)
        missing = -self.out_features % 8  # or rows are no multiple of 16 bytes, and products take three times as long
        return affine(hidden, pad(self.weight, (0, 0, 0, missing)), pad(self.bias, (0, missing), value=NEVER))
