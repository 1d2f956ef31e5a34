"""Rows of a table, by number. On a GPU the gradient is a product with a one-hot matrix: sorting the numbers first, as
PyTorch does, takes ten times as long for tables as small as ours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from wordmint.shapes import Float, Int

MOST_ONE_HOT = 1 << 24  # values


def lookup(table: Float[Tensor, "rows units"], numbers: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape units"]:
    """Under autocast the rows come in its precision."""
    if not table.is_cuda or len(table) * numbers.numel() > MOST_ONE_HOT:
        return table[numbers]
    if torch.is_autocast_enabled("cuda"):
        table = table.to(torch.get_autocast_dtype("cuda"))
    return _Lookup.apply(table, numbers)  # pyright: ignore


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, numbers: Tensor) -> Tensor:
        ctx.save_for_backward(numbers)
        ctx.num_rows = len(table)
        return table[numbers]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:  # pyright: ignore
        (numbers,), (grad,) = ctx.saved_tensors, grads
        rows = torch.arange(-(-ctx.num_rows // 8) * 8, device=grad.device)  # rows of 16 bytes: see `softmax`
        one_hot = (numbers.view(-1, 1) == rows).to(grad)
        return (one_hot.T @ grad.reshape(-1, grad.shape[-1]))[: ctx.num_rows], None
