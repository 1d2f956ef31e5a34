"""The LSTMs of a training step in bfloat16, forward and backward: cuDNN's packed ones against our kernels.

    python benchmarks/recurrence.py [--corpus ptb --data DIR]        (on a GPU)

The shapes are those of a real window at the paper's sizes: encoder and decoder (600 units, spellings packed), context
(600 units, 25 streams, 35 words) and the baseline (1000 units, characters packed). Prints a table, then one JSON line.
The floor of a chain of steps is measured too: as many dependent launches of nothing, in a graph.
"""

from __future__ import annotations

import argparse
import json
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.prepare import prepare
from wordmint.model.config import CharLSTMConfig, HCLMConfig
from wordmint.model.kernels import recurrence
from wordmint.model.lstm import LSTM, _StepsWithKernels
from wordmint.model.window import CharacterWindow, Window
from wordmint.text.documents import Encoding
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch

GPU = torch.device("cuda")
FEW = (32, 64, 96, 128, 192)  # ranks that may count as few


def shapes_of(corpus: Any) -> dict[str, tuple[tuple[int, ...], int]]:
    """Sizes a step, and units, of each LSTM in a window from the middle of an epoch's beginning."""
    config = TrainingConfig()
    (window,) = islice(Epoch(corpus, HCLMConfig(), config, GPU).windows(), 20, 21)
    (characters,) = islice(Epoch(corpus, CharLSTMConfig(), config, GPU).windows(), 20, 21)
    assert isinstance(window, Window)
    assert isinstance(characters, CharacterWindow)
    return {
        "encoder": (tuple(window.reading.sizes.tolist()), 600),
        "context": ((config.streams,) * config.words_per_window, 600),
        "decoder": (tuple(window.spelling.sizes.tolist()), 600),
        "baseline": (tuple(characters.sequence.sizes.tolist()), 1000),
    }


def milliseconds(work: Any, repeats: int = 30) -> float:
    """The median of replays of a graph: without what Python costs."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def cudnn(sizes: tuple[int, ...], units: int, dtype: torch.dtype) -> float:
    """PyTorch's LSTM over a packed sequence, its input projection included."""
    lstm = LSTM(units, 1, 0.0, 0.0).to(GPU, dtype).train()
    inputs = torch.randn(sum(sizes), units, device=GPU, dtype=dtype, requires_grad=True)
    packed_sizes = torch.tensor(sizes)

    def work() -> None:
        outputs, _ = lstm(PackedSequence(inputs, packed_sizes))
        torch.autograd.grad(outputs.data, [inputs, *lstm.parameters()], torch.ones_like(outputs.data))

    return milliseconds(work)


def with_kernels(sizes: tuple[int, ...], units: int, is_first_given: bool) -> float:
    """The same work with our kernels."""
    lstm = LSTM(units, 1, 0.0, 0.0).to(GPU, torch.bfloat16).train()
    inputs = torch.randn(sum(sizes), units, device=GPU, dtype=torch.bfloat16, requires_grad=True)
    zeros = torch.zeros(sizes[0], units, device=GPU, dtype=torch.bfloat16) if is_first_given else None
    w_ih, w_hh, b_ih, b_hh = lstm.parameters()

    def work() -> None:
        gates = torch.nn.functional.linear(inputs, w_ih, b_ih + b_hh)
        outputs, *_ = _StepsWithKernels.apply(gates, w_hh, zeros, zeros, list(sizes), None)  # pyright: ignore
        torch.autograd.grad(outputs, [inputs, w_ih, w_hh, b_ih, b_hh], torch.ones_like(outputs))

    return milliseconds(work)


def products(sizes: tuple[int, ...], units: int) -> float:
    """The products of all that alone, each as one: what no order of steps can undercut."""
    inputs = torch.randn(sum(sizes), units, device=GPU, dtype=torch.bfloat16)
    gates = torch.randn(sum(sizes), 4 * units, device=GPU, dtype=torch.bfloat16)
    weight = torch.randn(4 * units, units, device=GPU, dtype=torch.bfloat16)

    def work() -> None:
        for _ in range(2):  # of inputs, and of hidden states
            _ = inputs @ weight.T, gates @ weight, gates.T @ inputs

    return milliseconds(work)


def chain_of_nothing(num_steps: int) -> float:
    """As many dependent kernels as the chain has steps, forward and backward."""
    one = torch.ones(1, device=GPU)

    def work() -> None:
        for _ in range(2 * num_steps):
            one.mul_(1.0)

    return milliseconds(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    corpus = prepare(find_sources(options.corpus, options.data, Encoding())[0])
    rows = []
    print("lstm       steps  ranks   cuDNN  products  chain   ours with few =", *FEW)
    for name, (sizes, units) in shapes_of(corpus).items():
        ours = {}
        for few in FEW:
            recurrence.FEW_RANKS = few
            recurrence.schedule.cache_clear()
            ours[few] = with_kernels(sizes, units, is_first_given=name != "encoder")
        rest = cudnn(sizes, units, torch.bfloat16), products(sizes, units), chain_of_nothing(len(sizes))
        print(f"{name:9} {len(sizes):6} {sizes[0]:6}", *(f"{one:8.3f}" for one in (*rest, *ours.values())))
        times = dict(zip(("cudnn", "products", "chain"), rest, strict=True)) | {f"ours_{few}": ours[few] for few in FEW}
        rows.append({"lstm": name, "sizes": sizes, "milliseconds": times})
    print(json.dumps({"benchmark": "recurrence", "device": torch.cuda.get_device_name(), "results": rows}))


if __name__ == "__main__":
    main()
