"""The LSTM of every part: over packed sequences (see `packing`), with recurrent weights that may be thinned out.

The weights are PyTorch's, and on a GPU so is the computation (cuDNN). On a CPU PyTorch's own is slow where sequences
are packed: each step of its backward pass fills a gradient as large as all steps. So there the steps are written out,
forward and backward, with one product for the gradient of the recurrent weights; a test compares the two. On a GPU
training in bfloat16 does the same with kernels of its own (`kernels.recurrence`).
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import dropout
from torch.nn.utils.rnn import PackedSequence

from wordmint.model.linear import affine
from wordmint.shapes import Float, Int

WITH_KERNELS = True  # of our own; a test compares with cuDNN
Recurrent = tuple[Float[Tensor, "layers ranks units"], Float[Tensor, "layers ranks units"]]
sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


class LSTM(nn.LSTM):
    """In training, each call may drop a share of the recurrent weights (DropConnect); the paper drops none."""

    def __init__(self, units: int, layers: int, between_layers: float, recurrent: float = 0.0) -> None:
        super().__init__(units, units, layers, dropout=between_layers if layers > 1 else 0.0)
        self.recurrent = recurrent
        self.int8: Any = None  # what `int8` makes of it

    def read(
        self,
        inputs: Float[Tensor, "places units"],
        sizes: Int[Tensor, " steps"],
        before: Recurrent | None = None,
        last: Int[Tensor, " ranks"] | None = None,
    ) -> tuple[Float[Tensor, "places units"], Recurrent]:
        """Outputs at every place, and the state of every rank after its last step, or, as constants, at given places.

        cuDNN knows nothing of states in between, so places are given only where it does not compute.
        """
        if self.int8 is not None and not self.training:
            return self.int8.read(inputs, sizes, before)
        with_kernels = WITH_KERNELS and self.training and _suits_kernels(inputs, self.hidden_size)
        if inputs.is_cuda and not with_kernels:
            assert last is None
            return self._read_with_cudnn(inputs, sizes, before)
        take_steps: Any = _StepsWithKernels.apply if with_kernels else _Steps.apply
        outputs, after, steps = inputs, [], sizes.tolist()
        for layer in range(self.num_layers):
            w_ih, w_hh, b_ih, b_hh = (getattr(self, f"{name}_l{layer}") for name in _WEIGHTS)
            w_hh = self._thinned(w_hh)
            start = [part[layer] for part in before] if before else [None, None]
            if layer:
                outputs = dropout(outputs, self.dropout, self.training)
            gates = affine(outputs, w_ih, b_ih + b_hh)
            outputs, *ended = take_steps(gates if with_kernels else gates.to(w_hh.dtype), w_hh, *start, steps, last)
            after.append(ended)
        hidden, cell = (torch.stack(parts) for parts in zip(*after, strict=True))
        return outputs, (hidden, cell)

    def _thinned(self, weight: Tensor) -> Tensor:
        return dropout(weight, self.recurrent, self.training)

    def _read_with_cudnn(self, inputs: Tensor, sizes: Tensor, before: Recurrent | None) -> tuple[Tensor, Recurrent]:
        whole = self._flat_weights
        if self.training and self.recurrent:
            named = zip(self._flat_weights_names, whole, strict=True)
            thinned: list[Any] = [
                self._thinned(w) if name.startswith("weight_hh") else w for name, w in named if w is not None
            ]
            self._flat_weights = thinned
        try:
            if sizes[0] == sizes[-1]:  # nothing ends early: cuDNN is faster without packing
                outputs, after = self(inputs.view(len(sizes), -1, self.input_size), before)
                return outputs.flatten(0, 1), after
            packed, after = self(PackedSequence(inputs, sizes), before)
            return packed.data, after
        finally:
            self._flat_weights = whole


_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Steps(torch.autograd.Function):
    """One layer, step after step; gates lie in PyTorch's order: input, forget, candidate, output."""

    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        w_hh: Tensor,
        hidden: Tensor | None,
        cell: Tensor | None,
        steps: list[int],
        last: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        units = w_hh.shape[1]
        if hidden is None or cell is None:
            hidden = cell = gates.new_zeros(steps[0], units)
        outputs, cells = gates.new_empty(len(gates), units), gates.new_empty(len(gates), units)
        h, c = hidden, cell
        for begin, end in pairwise(accumulate(steps, initial=0)):
            gate = gates[begin:end].addmm_(h[: end - begin], w_hh.T)  # in place: nothing else holds them
            gate[:, : 2 * units].sigmoid_()
            gate[:, 2 * units : 3 * units].tanh_()
            gate[:, 3 * units :].sigmoid_()
            i, f, g, o = gate.chunk(4, 1)
            c = torch.addcmul(i * g, f, c[: end - begin], out=cells[begin:end])
            h = torch.mul(o, c.tanh(), out=outputs[begin:end])
        ctx.save_for_backward(gates, w_hh, hidden, cell, outputs, cells)
        ctx.steps = steps
        return outputs, *_states_at(last, _last_places(steps, hidden), outputs, cells, ctx)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        gates, w_hh, hidden, cell, outputs, cells = ctx.saved_tensors
        grad_gates = torch.empty_like(gates)
        grad_outputs, dh, dc = grads[0], grads[1].clone(), grads[2].clone()
        bounds = list(accumulate(ctx.steps, initial=0))
        for step in reversed(range(len(ctx.steps))):
            begin, end = bounds[step : step + 2]
            num = end - begin
            before = cells[bounds[step - 1] : bounds[step - 1] + num] if step else cell
            i, f, g, o = gates[begin:end].chunk(4, 1)
            di, df, dg, do = grad_gates[begin:end].chunk(4, 1)
            tanh = cells[begin:end].tanh()
            up = dh[:num].add_(grad_outputs[begin:end])
            down = dc[:num].add_(tanh_backward(up * o, tanh))
            sigmoid_backward.grad_input(up * tanh, o, grad_input=do)
            sigmoid_backward.grad_input(down * g, i, grad_input=di)
            sigmoid_backward.grad_input(down * before, f, grad_input=df)
            tanh_backward.grad_input(down * i, g, grad_input=dg)
            down.mul_(f)
            torch.mm(grad_gates[begin:end], w_hh, out=up)
        earlier = torch.cat([hidden, *(outputs[bounds[s - 1] :][:n] for s, n in enumerate(ctx.steps) if s)])
        is_given = ctx.needs_input_grad[2]
        return grad_gates, grad_gates.T @ earlier, dh if is_given else None, dc if is_given else None, None, None


class _StepsWithKernels(torch.autograd.Function):
    """The same on a GPU, in bfloat16; cells and sums are float32."""

    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        w_hh: Tensor,
        hidden: Tensor | None,
        cell: Tensor | None,
        steps: list[int],
        last: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        from wordmint.model.kernels import recurrence

        plan, weights = recurrence.schedule(tuple(steps), gates.device), recurrence.cast_weights(w_hh)
        states, cells, opened = recurrence.forward(gates.contiguous(), weights[0], hidden, cell, plan)
        ctx.save_for_backward(*weights, states, cells, opened)
        ctx.plan, ctx.dtype = plan, w_hh.dtype
        rows = None if last is None else plan.num_ranks + last
        return states[plan.num_ranks :], *_states_at(rows, plan.last_states, states, cells, ctx)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        from wordmint.model.kernels import recurrence

        (*weights, states, cells, opened), plan = ctx.saved_tensors, ctx.plan
        grad_outputs, grad_hidden, grad_cell = (grad.contiguous() for grad in grads)
        grad_gates, grad_first_cell = recurrence.backward(
            grad_outputs, grad_hidden, grad_cell, (weights[0], weights[1]), cells, opened, plan
        )
        grad_w_hh = torch.mm(grad_gates.T, states[plan.state_before], out_dtype=ctx.dtype)
        if not ctx.needs_input_grad[2]:
            return grad_gates, grad_w_hh, None, None, None, None
        return grad_gates, grad_w_hh, grad_gates[: plan.num_ranks] @ weights[0], grad_first_cell, None, None


def _suits_kernels(inputs: Tensor, units: int) -> bool:
    """True where the gates will come in bfloat16 on a GPU that the kernels can run on."""
    if not inputs.is_cuda:
        return False
    from wordmint.model.kernels import recurrence

    is_autocast = torch.is_autocast_enabled("cuda")
    dtype = torch.get_autocast_dtype("cuda") if is_autocast else inputs.dtype
    return dtype == torch.bfloat16 and recurrence.suits(units, inputs.device)


def _states_at(given: Tensor | None, last: Tensor, hidden: Tensor, cells: Tensor, ctx: Any) -> tuple[Tensor, Tensor]:
    """Hidden states and cells at the last places; at given ones they are constants."""
    if given is None:
        return hidden[last], cells[last]
    states = hidden[given], cells[given]
    ctx.mark_non_differentiable(*states)
    return states


def _last_places(steps: list[int], like: Tensor) -> Int[Tensor, " ranks"]:
    """Where the last output of each rank lies."""
    sizes = torch.tensor(steps, device=like.device)
    ranks = torch.arange(steps[0], device=like.device)
    lengths = (sizes > ranks[:, None]).sum(1)
    return (sizes.cumsum(0) - sizes)[lengths - 1] + ranks
