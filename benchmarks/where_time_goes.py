"""The training step on a GPU, kernel by kernel: where its time goes.

    python benchmarks/where_time_goes.py [--corpus ptb --data DIR] [--precision bfloat16] [--top 25]

Profiles replays of the step's graph for HCLM and HCLM with cache at the paper's sizes. Prints, for each, the kernels'
times a step, how much of the step the GPU was busy, and one JSON line.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from train_step import Timed
from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.prepare import prepare
from wordmint.model.config import CharLSTMConfig, HCLMConfig, ModelConfig
from wordmint.text.documents import Encoding
from wordmint.training.config import TrainingConfig

STEPS = 20
MODELS: dict[str, ModelConfig] = {"lstm": CharLSTMConfig(), "hclm": HCLMConfig(slots=0), "hclm-cache": HCLMConfig()}


def kernels(timed: Timed) -> tuple[dict[str, tuple[float, float]], float]:
    """Microseconds and launches a step of each kernel; microseconds of a whole step, by the GPU's clock."""
    for number in range(10):
        timed.run(number)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for number in range(STEPS):
        timed.state = timed.step(timed.windows[number % len(timed.windows)], timed.state)
    end.record()
    end.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for number in range(STEPS):
            timed.state = timed.step(timed.windows[number % len(timed.windows)], timed.state)
        torch.cuda.synchronize()
    found: dict[str, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for event in profiled.key_averages():
        micros, launches = found[event.key]
        found[event.key] = (micros + event.self_device_time_total / STEPS, launches + event.count / STEPS)
    return found, start.elapsed_time(end) / STEPS * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--models", nargs="+", default=["hclm", "hclm-cache"])
    parser.add_argument("--top", type=int, default=25)
    options = parser.parse_args()
    corpus = prepare(find_sources(options.corpus, options.data, Encoding())[0])
    config, rows = replace(TrainingConfig(), precision=options.precision), []
    for name in options.models:
        found, whole = kernels(Timed(name, corpus, MODELS[name], config, STEPS))
        busy = sum(micros for micros, _ in found.values())
        print(f"{name}: a step takes {whole:.0f} µs; kernels {busy:.0f} µs in {sum(n for _, n in found.values()):.0f}")
        ordered = sorted(found.items(), key=lambda item: -item[1][0])
        for key, (micros, launches) in ordered[: options.top]:
            print(f"  {micros:8.1f} µs  {launches:6.1f} ×  {key[:110]}")
        rows.append({"model": name, "step_microseconds": whole, "kernel_microseconds": busy})
    print(json.dumps({"benchmark": "where_time_goes", "device": torch.cuda.get_device_name(), "results": rows}))


if __name__ == "__main__":
    main()
