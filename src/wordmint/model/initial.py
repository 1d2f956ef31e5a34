"""Initial parameters: all from U(−0.08, 0.08), as in the paper."""

from __future__ import annotations

import torch
from torch import nn

REACH = 0.08


def draw_parameters(module: nn.Module) -> None:
    """Draw every parameter anew."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-REACH, REACH)
