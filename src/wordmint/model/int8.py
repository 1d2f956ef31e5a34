"""Reading in 8-bit integers on a CPU: the products of the LSTMs, several times as fast, and the bits nearly the same.

Weights are rounded once, each row by its own scale; what they are multiplied with is rounded as it comes (PyTorch's
dynamic quantisation). All else, and the words one character at a time of `use`, stays float32.
"""

from __future__ import annotations

import warnings
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from wordmint.errors import UserError
from wordmint.model.lstm import LSTM, Recurrent
from wordmint.shapes import Float, Int

LARGEST = 127


class Int8Steps:
    """One LSTM's products in integers, step after step."""

    def __init__(self, lstm: LSTM) -> None:
        layers = range(lstm.num_layers)
        self.from_inputs = [
            _packed(getattr(lstm, f"weight_ih_l{n}"), getattr(lstm, f"bias_ih_l{n}") + getattr(lstm, f"bias_hh_l{n}"))
            for n in layers
        ]
        self.from_hidden = [_packed(getattr(lstm, f"weight_hh_l{n}"), None) for n in layers]

    def read(
        self, inputs: Float[Tensor, "places units"], sizes: Int[Tensor, " steps"], before: Recurrent | None
    ) -> tuple[Float[Tensor, "places units"], Recurrent]:
        """As `LSTM.read`."""
        steps, hidden, cell = sizes.tolist(), list[Tensor](), list[Tensor]()
        outputs = inputs
        for layer, (from_inputs, from_hidden) in enumerate(zip(self.from_inputs, self.from_hidden, strict=True)):
            zeros = inputs.new_zeros(steps[0], inputs.shape[1])
            h, c = (part[layer].clone() for part in before) if before else (zeros, zeros.clone())
            gates, outputs = _times(outputs, from_inputs), inputs.new_empty(len(inputs), h.shape[1])
            last_h, last_c = torch.empty_like(h), torch.empty_like(c)
            for begin, end in pairwise(accumulate(steps, initial=0)):
                num = end - begin
                last_h[num : len(h)], last_c[num : len(c)] = h[num:], c[num:]  # these have ended
                i, f, g, o = (gates[begin:end] + _times(h[:num], from_hidden)).chunk(4, 1)
                c = f.sigmoid_() * c[:num] + i.sigmoid_() * g.tanh_()
                h = outputs[begin:end] = o.sigmoid_() * c.tanh()
            last_h[: len(h)], last_c[: len(c)] = h, c
            hidden.append(last_h)
            cell.append(last_c)
        return outputs, (torch.stack(hidden), torch.stack(cell))


def read_in_int8(network: torch.nn.Module) -> None:
    """From now on a network on a CPU reads in integers, except in training."""
    if next(network.parameters()).is_cuda:
        raise UserError("int8 is for reading on a CPU; leave it away, or take --device cpu")
    if "fbgemm" not in torch.backends.quantized.supported_engines or not hasattr(torch, "quantize_per_channel"):
        raise UserError("int8: this build of PyTorch has no integer products for this processor; leave it away")
    torch.backends.quantized.engine = "fbgemm"
    for module in network.modules():
        if isinstance(module, LSTM):
            module.int8 = Int8Steps(module)


def _packed(weight: Tensor, bias: Tensor | None) -> Any:
    weight = weight.detach().float()
    scales = (weight.abs().amax(1) / LARGEST).clamp(min=1e-12)
    zeros = torch.zeros(len(weight), dtype=torch.long)
    with warnings.catch_warnings():  # PyTorch means to move these functions to another package one day
        warnings.simplefilter("ignore")
        rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(rounded, None if bias is None else bias.detach().float())


def _times(values: Tensor, packed: Any) -> Tensor:
    return torch.ops.quantized.linear_dynamic(values, packed, True)
