"""The step as one CUDA graph: recorded once, then started as a whole, so that Python's cost vanishes.

A graph reads and writes fixed memory. So a window and a state are copied into the buffers it was recorded with; the
learning rate is such a buffer too, and PyTorch moves the random numbers on between replays. Windows of another shape
take the ordinary step, on the same weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from wordmint.model.language_model import Network
from wordmint.model.state import State
from wordmint.model.window import AnyWindow, in_one_piece, map_tensors, memory_of
from wordmint.training.config import TrainingConfig
from wordmint.training.step import Step

WARM_UP_STEPS = 3  # real steps, after which every library has allocated what it needs


class GraphStep(Step):
    """Records the first shape that it meets twice in a row; `Profile` sees to it that nearly all windows have it."""

    def __init__(self, model: Network, config: TrainingConfig) -> None:
        super().__init__(model, config)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.num_eager = 0
        self.last: AnyWindow | None = None  # that took the ordinary step
        self.window: AnyWindow
        self.before: State
        self.after: State

    def __call__(self, window: AnyWindow, state: State) -> State:
        if self.graph is None:
            if self.num_eager < WARM_UP_STEPS or not self._comes_again(window):
                self.num_eager, self.last = self.num_eager + 1, window
                return self._on_side_stream(window, state)
            self._record(window, state)
        if not _same_shape(window, self.window):
            return self._on_side_stream(window, state)
        memory_of(self.window).copy_(memory_of(window))
        for mine, given in zip(_leaves(self.before), _leaves(state), strict=True):
            mine.copy_(given)
        assert self.graph is not None
        self.graph.replay()
        self.count_update()
        return self.after

    def _comes_again(self, window: AnyWindow) -> bool:
        """Not so the last window of a text, in which streams end, nor one with an odd long word."""
        is_full = getattr(window, "lengths", None) is None
        return is_full and self.last is not None and _same_shape(window, self.last)

    def _on_side_stream(self, window: AnyWindow, state: State) -> State:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            after = super().__call__(window, state)
        torch.cuda.current_stream().wait_stream(stream)
        return after

    def _record(self, window: AnyWindow, state: State) -> None:
        self.window, self.before = in_one_piece(window, self.device), map_tensors(state, Tensor.clone)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.after = self._learn(self.window, self.before)


def _leaves(value: Any) -> Iterator[Tensor]:
    for field in fields(value):
        part = getattr(value, field.name)
        if is_dataclass(part):
            yield from _leaves(part)
        elif isinstance(part, Tensor):
            yield part


def _same_shape(one: AnyWindow, other: AnyWindow) -> bool:
    mine, theirs = list(_leaves(one)), list(_leaves(other))
    if len(mine) != len(theirs):
        return False
    return all(a.shape == b.shape and (a.is_cuda or torch.equal(a, b)) for a, b in zip(mine, theirs, strict=True))
