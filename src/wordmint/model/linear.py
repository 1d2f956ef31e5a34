"""Linear layers.

On a GPU in bfloat16 the gradients of weights come in float32, as sums of products are, without being rounded in
between; and a bias's gradient is a product with ones, as summing many short rows takes four times as long.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from wordmint.shapes import Float

ROWS = 8  # of ones: the fewest that tensor cores take


class Linear(nn.Linear):
    """PyTorch's, computed by `affine`."""

    def forward(self, input: Float[Tensor, "*shape units"]) -> Float[Tensor, "*shape others"]:
        """Weights times values plus bias."""
        return affine(input, self.weight, self.bias)


def affine(
    values: Float[Tensor, "*shape units"], weight: Float[Tensor, "others units"], bias: Float[Tensor, " others"] | None
) -> Float[Tensor, "*shape others"]:
    """Under autocast in its precision."""
    if values.is_cuda and torch.is_autocast_enabled("cuda") and weight.dtype == torch.float32:
        with torch.autocast("cuda", enabled=False):
            return _Affine.apply(values.to(torch.get_autocast_dtype("cuda")), weight, bias)  # pyright: ignore
    return linear(values, weight, bias)


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rounded = weight.to(values.dtype)
        ctx.save_for_backward(values, rounded)
        return linear(values, rounded, None if bias is None else bias.to(values.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor, Tensor | None]:  # pyright: ignore
        values, weight = ctx.saved_tensors
        rows = grads[0].reshape(-1, weight.shape[0])
        grad_weight = torch.mm(rows.T, values.reshape(-1, weight.shape[1]), out_dtype=torch.float32)
        grad_bias = None
        if ctx.needs_input_grad[2]:
            grad_bias = torch.mm(rows.new_ones(ROWS, len(rows)), rows, out_dtype=torch.float32)[0]
        grad_values = (rows @ weight).view_as(values) if ctx.needs_input_grad[0] else None
        return grad_values, grad_weight, grad_bias
