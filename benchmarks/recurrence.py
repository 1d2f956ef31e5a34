"""The LSTMs of a training step, forward and backward: cuDNN's packed ones against the steps in one launch.

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
from wordmint.model.lstm import LSTM, _StepsInOneLaunch
from wordmint.model.window import CharacterWindow, Window
from wordmint.text.documents import Encoding
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch

GPU = torch.device("cuda")
TILINGS = {
    "few": [(32, 16, 128, 4), (32, 8, 128, 4), (32, 16, 64, 4), (32, 32, 128, 4), (32, 16, 128, 8)],
    "many": [(128, 32, 64, 8), (128, 32, 128, 8), (64, 32, 64, 4), (64, 64, 64, 8), (128, 16, 64, 4)],
}


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


def one_launch(sizes: tuple[int, ...], units: int, dtype: torch.dtype) -> float:
    """The same work with the steps in one launch."""
    lstm = LSTM(units, 1, 0.0, 0.0).to(GPU, dtype).train()
    inputs = torch.randn(sum(sizes), units, device=GPU, dtype=dtype, requires_grad=True)
    zeros = torch.zeros(sizes[0], units, device=GPU, dtype=dtype)
    w_ih, w_hh, b_ih, b_hh = lstm.parameters()

    def work() -> None:
        gates = torch.nn.functional.linear(inputs, w_ih, b_ih + b_hh)
        outputs, *_ = _StepsInOneLaunch.apply(gates, w_hh, zeros, zeros, list(sizes))  # pyright: ignore
        torch.autograd.grad(outputs, [inputs, w_ih, w_hh, b_ih, b_hh], torch.ones_like(outputs))

    return milliseconds(work)


def chain_of_nothing(num_steps: int) -> float:
    """As many dependent kernels as the chain has steps, forward and backward."""
    one = torch.ones(1, device=GPU)

    def work() -> None:
        for _ in range(2 * num_steps):
            one.mul_(1.0)

    return milliseconds(work)


def best_tiling(name: str, sizes: tuple[int, ...], units: int, dtype: torch.dtype) -> list[tuple[float, Any]]:
    """All tilings tried, the fastest first."""
    tried = []
    for tile in TILINGS["few" if sizes[0] <= 64 else "many"]:
        chosen = recurrence.Tiling(*tile)
        recurrence.tiling = lambda _num_ranks, chosen=chosen: chosen
        recurrence.schedule.cache_clear()
        try:
            tried.append((one_launch(sizes, units, dtype), tile))
        except Exception as error:
            print(f"{name} {tile}: {type(error).__name__} {str(error)[:80]}")
    return sorted(tried)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tilings", action="store_true", help="try other tilings too")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    corpus = prepare(find_sources(options.corpus, options.data, Encoding())[0])
    rows, chosen = [], recurrence.tiling
    for name, (sizes, units) in shapes_of(corpus).items():
        for dtype in (torch.bfloat16, torch.float32):
            row = {
                "lstm": name,
                "precision": str(dtype).removeprefix("torch."),
                "steps": len(sizes),
                "ranks": sizes[0],
                "cudnn_milliseconds": cudnn(sizes, units, dtype),
                "one_launch_milliseconds": one_launch(sizes, units, dtype),
                "chain_floor_milliseconds": chain_of_nothing(len(sizes)),
            }
            rows.append(row)
            print("  ".join(f"{value:.3f}" if isinstance(value, float) else f"{value!s:9}" for value in row.values()))
            if options.tilings and dtype == torch.bfloat16:
                print("    ", best_tiling(name, sizes, units, dtype))
                recurrence.tiling = chosen
                recurrence.schedule.cache_clear()
    print(json.dumps({"benchmark": "recurrence", "device": torch.cuda.get_device_name(), "results": rows}))


if __name__ == "__main__":
    main()
