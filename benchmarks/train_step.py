"""The training step of LSTM, HCLM and HCLM with cache, on the same windows, in one run.

    python benchmarks/train_step.py [--corpus ptb --data DIR] [--units 600] [--precision float32 bfloat16] [--slots 100]

Prints a table, then one JSON line. A step is forward, backward, clipping and Adam. The models take turns, so that a
noisy machine disturbs them alike; the figure is the median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch

from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.corpus import Corpus
from wordmint.corpora.prepare import prepare
from wordmint.model.config import CharLSTMConfig, HCLMConfig, ModelConfig
from wordmint.model.language_model import build
from wordmint.model.state import State
from wordmint.text.documents import Encoding
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch
from wordmint.training.loop import make_step

WARM_UP = 6
BURST = 5  # steps between two looks at the clock: waiting for the GPU after each would not be how training runs


class Timed:
    """A model in training, timed a step at a time."""

    def __init__(self, name: str, corpus: Corpus, model: ModelConfig, config: TrainingConfig, num_windows: int) -> None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(1)
        self.name, self.milliseconds = name, list[float]()
        self.network = build(model, len(corpus.alphabet)).to(device)
        epoch = Epoch(corpus, model, config, device)
        self.windows = list(islice(epoch.windows(), num_windows))
        self.characters = corpus.splits["train"].num_characters / epoch.num_windows
        self.step = make_step(self.network, config)
        self.state: State = self.network.start(epoch.num_streams)

    def run(self, number: int) -> None:
        _wait()
        began = time.perf_counter()
        for place in range(number * BURST, (number + 1) * BURST):
            self.state = self.step(self.windows[place % len(self.windows)], self.state)
        _wait()
        if number >= WARM_UP:
            self.milliseconds.append((time.perf_counter() - began) / BURST * 1e3)

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--lstm-units", type=int, default=1000)
    parser.add_argument("--slots", type=int, nargs="+", default=[100])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--precision", nargs="+", default=["float32"])
    options = parser.parse_args()
    corpus = prepare(find_sources(options.corpus, options.data, Encoding())[0])
    models: list[tuple[str, ModelConfig]] = [
        ("lstm", CharLSTMConfig(units=options.lstm_units)),
        ("hclm", HCLMConfig(units=options.units, slots=0)),
        *((f"hclm-cache-{slots}", HCLMConfig(units=options.units, slots=slots)) for slots in options.slots),
    ]
    results = []
    for precision in options.precision:
        config = replace(TrainingConfig(), precision=precision)
        timed = [Timed(name, corpus, model, config, options.steps) for name, model in models]
        for number in range(WARM_UP + options.steps):
            for one in timed:
                one.run(number)
        base = timed[1].median
        for one in timed:
            results.append(
                {
                    "model": one.name,
                    "precision": precision,
                    "step_milliseconds": round(one.median, 3),
                    "characters_per_second": round(one.characters / one.median * 1e3),
                    "over_hclm": round(one.median / base - 1, 4),
                }
            )
        del timed
    for row in results:
        print(
            f"{row['model']:16} {row['precision']:9} {row['step_milliseconds']:9.2f} ms  "
            f"{row['characters_per_second']:>10,} characters/s  {row['over_hclm']:+7.1%} of hclm"
        )
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"cpu, {torch.get_num_threads()} threads"
    print(json.dumps({"benchmark": "train_step", "device": device, "corpus": corpus.name, "results": results}))


if __name__ == "__main__":
    main()
