"""An LSTM's steps on a GPU, in bfloat16: few ranks in one launch (`recurrence.cu`), many ranks step by step.

Step by step an LSTM is a chain of products, each waiting for the one before. With many ranks a product is large and
the library's is best; what remains of a step is one kernel. With few ranks nearly all time would go into starting and
into reading the weights again, so one launch takes all such steps. Packed sequences lose ranks as they go on: the first
steps are the large ones.

Places are packed as in `packing`. States lie in arrays whose first rows are those before the first step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from wordmint.shapes import Float, Int

RANKS_OF_PROGRAM, UNITS_OF_TILE, THREADS = 32, 8, 256  # as in recurrence.cu
FEW_RANKS = 96  # at most this many go in one launch


@dataclass(frozen=True)
class Schedule:
    """Where the places of each step lie."""

    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    first_of_few: int  # from this step on there are few ranks
    offsets: Int[Tensor, " steps_and_end"]  # these three on the device
    state_before: Int[Tensor, " places"]  # the row of the state before each place, initial states first
    last_states: Int[Tensor, " ranks"]  # the row of each rank's last state

    @property
    def num_ranks(self) -> int:
        """How many sequences there are."""
        return self.sizes[0]

    def rows_before(self, step: int) -> slice:
        """Where the states lie that a step starts from."""
        first = self.num_ranks + self.starts[step - 1] if step else 0
        return slice(first, first + self.sizes[step])

    def places(self, step: int) -> slice:
        """Where a step's places lie."""
        return slice(self.starts[step], self.starts[step] + self.sizes[step])


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
        sizes,
        tuple(accumulate(sizes, initial=0))[:-1],
        sum(size > FEW_RANKS for size in sizes),
        offsets.to(device, torch.int32),
        (rows_before[step_of_place] + rank).to(device),
        (num_ranks + offsets[lengths - 1] + torch.arange(num_ranks)).to(device),
    )


def suits(units: int, device: torch.device) -> bool:
    """True where the kernels can run: rows of 16 bytes, and as many programs at once as wait for each other."""
    if device.type != "cuda" or units % UNITS_OF_TILE or torch.version.hip:
        return False
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    is_new_enough = torch.cuda.get_device_capability(device) >= (8, 0)
    return is_new_enough and units <= min(MOST_UNITS, processors * UNITS_OF_TILE)


MOST_UNITS = 1024  # or the weights would not fit into registers


def cast_weights(w_hh: Float[Tensor, "four_units units"]) -> tuple[Tensor, Tensor]:
    """The recurrent weights in bfloat16, as they are and transposed."""
    if w_hh.dtype != torch.float32:
        weights = w_hh.to(torch.bfloat16)
        return weights, weights.T.contiguous()
    rows, units = w_hh.shape
    as_is = torch.empty_like(w_hh, dtype=torch.bfloat16, memory_format=torch.contiguous_format)
    transposed = as_is.new_empty(units, rows)
    grid = (-(-units // 32), -(-rows // 32), 1)
    _kernels(units, 1, w_hh.device)["cast_weights"](grid, (THREADS, 1, 1), [w_hh.contiguous(), as_is, transposed])
    return as_is, transposed


def forward(
    gates: Float[Tensor, "places four_units"],
    w_hh: Float[Tensor, "four_units units"],
    hidden: Float[Tensor, "ranks units"] | None,
    cell: Float[Tensor, "ranks units"] | None,
    plan: Schedule,
) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states and cells, initial ones first, and the gates after their nonlinearities.

    Without hidden states and cells it begins with zeros. The gates' sums are changed in place.
    """
    (num_places, _), units = gates.shape, w_hh.shape[1]
    states = gates.new_empty(plan.num_ranks + num_places, units)
    cells = torch.empty_like(states, dtype=torch.float32)
    states[: plan.num_ranks], cells[: plan.num_ranks] = 0 if hidden is None else hidden, 0 if cell is None else cell
    opened = torch.empty_like(gates)
    for step in range(plan.first_of_few):
        if step or hidden is not None:
            gates[plan.places(step)].addmm_(states[plan.rows_before(step)], w_hh.T)
        arguments = [gates, states, cells, opened, plan.offsets, step, plan.num_ranks]
        _each_pair("forward_step", plan.sizes[step], units, gates.device)(arguments)
    if plan.first_of_few < len(plan.sizes):
        launch, counters = _all_steps("forward_steps", plan, units, gates.device)
        steps = [plan.first_of_few, len(plan.sizes)]
        launch([gates, w_hh, states, cells, opened, plan.offsets, counters, *steps, plan.num_ranks])
    return states, cells, opened


def backward(
    grad_outputs: Float[Tensor, "places units"],
    grad_hidden: Float[Tensor, "ranks units"],
    grad_cell: Float[Tensor, "ranks units"],
    weights: tuple[Float[Tensor, "four_units units"], Float[Tensor, "units four_units"]],
    cells: Float[Tensor, "states units"],
    opened: Float[Tensor, "places four_units"],
    plan: Schedule,
) -> tuple[Float[Tensor, "places four_units"], Float[Tensor, "ranks units"]]:
    """Gradients of what the gates were given, and of the initial cells, from those of outputs and of last states."""
    (w_hh, transposed), num_steps = weights, len(plan.sizes)
    units = w_hh.shape[1]
    grad_gates = torch.empty_like(opened)
    grad_outputs, grad_hidden = grad_outputs.to(opened.dtype), grad_hidden.float()
    running = grad_cell.to(torch.float32, copy=True)
    rest = [cells, opened, grad_gates, plan.offsets]
    if plan.first_of_few < num_steps:
        launch, counters = _all_steps("backward_steps", plan, units, w_hh.device)
        steps = [plan.first_of_few, num_steps, num_steps]
        launch([grad_outputs, grad_hidden, running, transposed, *rest, counters, *steps, plan.num_ranks])
    for step in reversed(range(plan.first_of_few)):
        after = grad_gates[plan.places(step + 1)] if step + 1 < num_steps else grad_gates[:0]
        arguments = [after @ w_hh, grad_outputs, grad_hidden, running, *rest, step, num_steps, plan.num_ranks]
        _each_pair("backward_step", plan.sizes[step], units, w_hh.device)(arguments)
    return grad_gates, running


def _each_pair(name: str, num_ranks: int, units: int, device: torch.device) -> Any:
    """Starts a kernel with a thread for every two units of every rank."""
    kernel, blocks = _kernels(units, 1, device)[name], -(-num_ranks * units // 2 // THREADS)
    return lambda arguments: kernel((blocks, 1, 1), (THREADS, 1, 1), arguments)


def _all_steps(name: str, plan: Schedule, units: int, device: torch.device) -> tuple[Any, Tensor]:
    """Starts a kernel whose programs stay; and the counters at which they wait."""
    blocks = -(-plan.sizes[plan.first_of_few] // RANKS_OF_PROGRAM)
    slices = -(-units // UNITS_OF_TILE)
    tiles = 1 if slices * blocks <= torch.cuda.get_device_properties(device).multi_processor_count else 2
    kernel, grid = _kernels(units, tiles, device)[name], (-(-slices // tiles), blocks, 1)
    counters = torch.zeros(blocks, dtype=torch.int32, device=device)
    return lambda arguments: kernel(grid, (THREADS, 1, 1), arguments), counters


@lru_cache
def _kernels(units: int, tiles: int, device: torch.device) -> dict[str, Any]:
    """Compiled by PyTorch's own copy of NVIDIA's run-time compiler; takes a second."""
    from torch.cuda._utils import _cuda_load_module, _nvrtc_compile  # pyright: ignore

    source = files(__package__).joinpath("recurrence.cu").read_text(encoding="utf-8")
    with torch.cuda.device(device):
        options = [f"-DUNITS={units}", f"-DTILES={tiles}"]
        binary, _ = _nvrtc_compile(source, "forward_steps", nvcc_options=options)
        names = ["cast_weights", "forward_steps", "forward_step", "backward_steps", "backward_step"]
        kernels = _cuda_load_module(binary, names)
    assert isinstance(kernels, dict)
    return kernels
