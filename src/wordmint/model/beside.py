"""Work beside other work: on a GPU, on a stream of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")
_streams: dict[torch.device, torch.cuda.Stream] = {}


class Beside:
    """Starts some work that later work need not wait for, until `join`. On a CPU it is done at once.

    What either side made and the other one uses is marked, or its memory could be lent anew too early. Autograd runs
    the backward pass on the same streams.
    """

    def __init__(self, device: torch.device) -> None:
        self.stream = _streams.setdefault(device, torch.cuda.Stream(device)) if device.type == "cuda" else None

    def start(self, work: Callable[[], Result], uses: Iterable[Tensor]) -> Result:
        """Do some work that uses tensors of the other side."""
        if self.stream is None:
            return work()
        self.stream.wait_stream(torch.cuda.current_stream())
        for tensor in uses:
            tensor.record_stream(self.stream)
        with torch.cuda.stream(self.stream):
            return work()

    def join(self, results: Iterable[Tensor]) -> None:
        """Wait for the work before its results are used."""
        if self.stream is None:
            return
        torch.cuda.current_stream().wait_stream(self.stream)
        for tensor in results:
            tensor.record_stream(torch.cuda.current_stream())
