"""An LSTM's steps in one launch: each program keeps to its units, and all wait for each other after every step.

Step by step an LSTM is a chain of small products, each waiting for the one before; started one by one, most of the
time goes into starting. Here the programs stay: a program owns some ranks (rows) and some units, multiplies the hidden
states of the step before with its slice of the recurrent weights, which stays in its core's cache, applies the gates,
writes its part of the new states, and waits at a counter until the others that own the same ranks have done so too.

The number of units is a constant of the compiled kernel, or loads could not be known to be aligned.

Programs of other ranks do not wait for each other, as spellings know nothing of each other. Those that share ranks are
numbered consecutively, and a GPU starts programs in their order, so those waited for are always running.

Places are packed as in `packing`. States lie in arrays whose first rows are those before the first step. Launched for
one step at a time the kernels compute the same without any waiting, which is how they are tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from wordmint.shapes import Float, Int


@dataclass(frozen=True)
class Schedule:
    """Where the places of each step lie; on the device."""

    num_ranks: int
    num_steps: int
    offsets: Int[Tensor, " steps_and_end"]
    steps_of_block: Int[Tensor, " blocks"]  # of each block of ranks, the longest first
    state_before: Int[Tensor, " places"]  # the row of the state before each place, initial states first
    last_states: Int[Tensor, " ranks"]  # the row of each rank's last state


@dataclass(frozen=True)
class Tiling:
    """How much of the work a program owns."""

    ranks: int
    units: int
    chunk: int  # of the sum in a product
    warps: int


FEW_RANKS = Tiling(ranks=32, units=16, chunk=128, warps=4)
MANY_RANKS = Tiling(ranks=128, units=32, chunk=64, warps=8)


def tiling(num_ranks: int) -> Tiling:
    """Long sequences side by side are few; spellings are many."""
    return FEW_RANKS if num_ranks <= FEW_RANKS.ranks * 2 else MANY_RANKS


@lru_cache(maxsize=256)
def schedule(sizes: tuple[int, ...], device: torch.device) -> Schedule:
    """The schedule of packed sequences; kept, as nearly all windows of a corpus have the same."""
    steps, num_ranks = torch.tensor(sizes), sizes[0]
    offsets = torch.cat([steps.new_zeros(1), steps.cumsum(0)])
    step_of_place = torch.repeat_interleave(torch.arange(len(sizes)), steps)
    rank = torch.arange(int(offsets[-1])) - offsets[step_of_place]
    rows_before = torch.cat([steps.new_zeros(1), offsets[:-2] + num_ranks])  # of each step
    lengths = (steps > torch.arange(num_ranks)[:, None]).sum(1)
    return Schedule(
        num_ranks,
        len(sizes),
        offsets.to(device, torch.int32),
        lengths[:: tiling(num_ranks).ranks].to(device, torch.int32),
        (rows_before[step_of_place] + rank).to(device),
        (num_ranks + offsets[lengths - 1] + torch.arange(num_ranks)).to(device),
    )


def forward(
    gates: Float[Tensor, "places four_units"],
    w_hh: Float[Tensor, "four_units units"],
    hidden: Float[Tensor, "ranks units"],
    cell: Float[Tensor, "ranks units"],
    plan: Schedule,
    one_launch: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states and cells, initial ones first, and the gates after their nonlinearities."""
    (places, _), units = gates.shape, w_hh.shape[1]
    states = gates.new_empty(plan.num_ranks + places, units)
    cells = torch.empty_like(states, dtype=torch.float32)
    states[: plan.num_ranks], cells[: plan.num_ranks] = hidden, cell
    opened = torch.empty_like(gates, dtype=torch.float32)
    tile, grid, counters = _launch(plan, units, gates.device)
    for first, last in _spans(plan.num_steps, one_launch):
        _forward[grid](
            gates, w_hh, states, cells, opened, plan.offsets, plan.steps_of_block, counters,
            first, last, plan.num_ranks, units, tile.ranks, tile.units, tile.chunk, num_warps=tile.warps,
        )  # fmt: skip
    return states, cells, opened


def backward(
    grad_outputs: Float[Tensor, "places units"],
    grad_hidden: Float[Tensor, "ranks units"],
    grad_cell: Float[Tensor, "ranks units"],
    w_hh: Float[Tensor, "four_units units"],
    cells: Float[Tensor, "states units"],
    opened: Float[Tensor, "places four_units"],
    plan: Schedule,
    one_launch: bool = True,
) -> tuple[Float[Tensor, "places four_units"], Float[Tensor, "ranks units"]]:
    """Gradients of what the gates were given, and of the initial cells, from those of outputs and of last states."""
    units = w_hh.shape[1]
    grad_gates = torch.empty_like(opened, dtype=w_hh.dtype)
    running = grad_cell.to(torch.float32, copy=True)
    tile, grid, counters = _launch(plan, units, w_hh.device)
    for first, last in reversed(_spans(plan.num_steps, one_launch)):
        _backward[grid](
            grad_outputs, grad_hidden, running, w_hh, cells, opened, grad_gates,
            plan.offsets, plan.steps_of_block, counters,
            first, last, plan.num_steps, plan.num_ranks, units, tile.ranks, tile.units, tile.chunk,
            num_warps=tile.warps,
        )  # fmt: skip
    return grad_gates, running


def _launch(plan: Schedule, units: int, device: torch.device) -> tuple[Tiling, tuple[int, int], Tensor]:
    tile = tiling(plan.num_ranks)
    grid = (triton.cdiv(units, tile.units), triton.cdiv(plan.num_ranks, tile.ranks))
    return tile, grid, torch.zeros(grid[1], dtype=torch.int32, device=device)


def _spans(num_steps: int, one_launch: bool) -> list[tuple[int, int]]:
    return [(0, num_steps)] if one_launch else [(step, step + 1) for step in range(num_steps)]


@triton.jit
def _tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def _wait_for_all(counter, target):
    """All programs of a block of ranks have come here: what they wrote before can be read after."""
    tl.debug_barrier()  # every thread of this program has written
    tl.atomic_add(counter, 1, sem="release", scope="gpu")
    while tl.atomic_add(counter, 0, sem="acquire", scope="gpu") < target:
        pass
    tl.debug_barrier()


@triton.jit(do_not_specialize=["first", "last", "num_ranks"])
def _forward(
    gates, w_hh, states, cells, opened, offsets, steps_of_block, counters,
    first, last, num_ranks,
    units: tl.constexpr, RANKS: tl.constexpr, UNITS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(1)
    ranks = block * RANKS + tl.arange(0, RANKS)
    u = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    end = tl.minimum(last, tl.load(steps_of_block + block))
    for step in range(first, end):
        begin = tl.load(offsets + step)
        going = ranks < tl.load(offsets + step + 1) - begin
        before = tl.load(offsets + step - 1, step > 0, other=0) + tl.where(step > 0, num_ranks, 0)
        mask = going[:, None] & (u < units)[None, :]
        at = (begin + ranks).to(tl.int64)[:, None] * (4 * units) + u[None, :]
        i = tl.load(gates + at, mask, other=0.0).to(tl.float32)
        f = tl.load(gates + at + units, mask, other=0.0).to(tl.float32)
        g = tl.load(gates + at + 2 * units, mask, other=0.0).to(tl.float32)
        o = tl.load(gates + at + 3 * units, mask, other=0.0).to(tl.float32)
        for begin_k in range(0, units, CHUNK):
            k = begin_k + tl.arange(0, CHUNK)
            rows = (before + ranks).to(tl.int64)[:, None] * units + k[None, :]
            h = tl.load(states + rows, going[:, None] & (k < units)[None, :], other=0.0, cache_modifier=".cg")
            weights = w_hh + u[None, :] * units + k[:, None]
            inside = (k < units)[:, None] & (u < units)[None, :]
            i = tl.dot(h, tl.load(weights, inside, other=0.0), i)
            f = tl.dot(h, tl.load(weights + units * units, inside, other=0.0), f)
            g = tl.dot(h, tl.load(weights + 2 * units * units, inside, other=0.0), g)
            o = tl.dot(h, tl.load(weights + 3 * units * units, inside, other=0.0), o)
        i, f, g, o = tl.sigmoid(i), tl.sigmoid(f), _tanh(g), tl.sigmoid(o)
        own = ranks.to(tl.int64)[:, None] * units + u[None, :]
        here = (num_ranks + begin).to(tl.int64) * units + own
        c = f * tl.load(cells + before.to(tl.int64) * units + own, mask, other=0.0) + i * g
        tl.store(cells + here, c, mask)
        tl.store(states + here, (o * _tanh(c)).to(states.dtype.element_ty), mask)
        tl.store(opened + at, i, mask)
        tl.store(opened + at + units, f, mask)
        tl.store(opened + at + 2 * units, g, mask)
        tl.store(opened + at + 3 * units, o, mask)
        if step + 1 < end:
            _wait_for_all(counters + block, (step - first + 1) * tl.num_programs(0))


@triton.jit(do_not_specialize=["first", "last", "num_steps", "num_ranks"])
def _backward(
    grad_outputs, grad_hidden, running, w_hh, cells, opened, grad_gates, offsets, steps_of_block, counters,
    first, last, num_steps, num_ranks,
    units: tl.constexpr, RANKS: tl.constexpr, UNITS: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(1)
    ranks = block * RANKS + tl.arange(0, RANKS)
    u = tl.program_id(0) * UNITS + tl.arange(0, UNITS)
    end = tl.minimum(last, tl.load(steps_of_block + block))
    for back in range(0, end - first):
        step = end - 1 - back
        begin = tl.load(offsets + step)
        after = tl.load(offsets + step + 1)
        before = tl.load(offsets + step - 1, step > 0, other=0) + tl.where(step > 0, num_ranks, 0)
        going = ranks < after - begin
        size_after = tl.load(offsets + tl.minimum(step + 2, num_steps)) - after
        going_on = ranks < tl.where(step + 1 < num_steps, size_after, 0)
        mask = going[:, None] & (u < units)[None, :]
        own = ranks.to(tl.int64)[:, None] * units + u[None, :]
        dh = tl.load(grad_outputs + begin.to(tl.int64) * units + own, mask, other=0.0).to(tl.float32)
        dh += tl.load(grad_hidden + own, mask & ~going_on[:, None], other=0.0).to(tl.float32)
        for begin_k in range(0, 4 * units, CHUNK):
            k = begin_k + tl.arange(0, CHUNK)
            rows = (after + ranks).to(tl.int64)[:, None] * (4 * units) + k[None, :]
            in_sum = going_on[:, None] & (k < 4 * units)[None, :]
            d = tl.load(grad_gates + rows, in_sum, other=0.0, cache_modifier=".cg")
            inside = (k < 4 * units)[:, None] & (u < units)[None, :]
            dh = tl.dot(d, tl.load(w_hh + k[:, None] * units + u[None, :], inside, other=0.0), dh)
        at = (begin + ranks).to(tl.int64)[:, None] * (4 * units) + u[None, :]
        i = tl.load(opened + at, mask, other=0.0)
        f = tl.load(opened + at + units, mask, other=0.0)
        g = tl.load(opened + at + 2 * units, mask, other=0.0)
        o = tl.load(opened + at + 3 * units, mask, other=0.0)
        tanh = _tanh(tl.load(cells + (num_ranks + begin).to(tl.int64) * units + own, mask, other=0.0))
        c_before = tl.load(cells + before.to(tl.int64) * units + own, mask, other=0.0)
        dc = tl.load(running + own, mask, other=0.0) + dh * o * (1.0 - tanh * tanh)
        tl.store(running + own, dc * f, mask)
        kind = grad_gates.dtype.element_ty
        tl.store(grad_gates + at, (dc * g * i * (1.0 - i)).to(kind), mask)
        tl.store(grad_gates + at + units, (dc * c_before * f * (1.0 - f)).to(kind), mask)
        tl.store(grad_gates + at + 2 * units, (dc * i * (1.0 - g * g)).to(kind), mask)
        tl.store(grad_gates + at + 3 * units, (dh * tanh * o * (1.0 - o)).to(kind), mask)
        if back + 1 < end - first:
            _wait_for_all(counters + block, (back + 1) * tl.num_programs(0))
