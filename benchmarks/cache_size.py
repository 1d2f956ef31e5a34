"""What the size of the cache costs: time a word and memory, when a text is read as one stream and in a training step.

    python benchmarks/cache_size.py [--units 600] [--slots 0 100 1000 10000] [--words 4096]

Each size runs in a process of its own, so that its peak memory is its own. The text has many more distinct words than
the largest cache has slots, so every cache is full when the clock starts. Prints a table, then one JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import torch

from wordmint.evaluation.score import score_text
from wordmint.model.config import HCLMConfig
from wordmint.model.language_model import build
from wordmint.model.packing import Spellings
from wordmint.model.window import Reader, lay_out
from wordmint.text.streams import windows
from wordmint.training.config import TrainingConfig
from wordmint.training.step import Step

ALPHABET = 60
NUM_TYPES = 20_000
CHARACTERS_A_WORD = 5


def made_text(num_words: int, seed: int = 1) -> tuple[np.ndarray, Spellings]:
    """First every type once, to fill the cache; then words as often as Zipf says."""
    random = np.random.default_rng(seed)
    ids = random.integers(2, ALPHABET, (NUM_TYPES, CHARACTERS_A_WORD + 1)).astype(np.int32)
    ids[:, -1] = 1
    share = 1 / np.arange(1, NUM_TYPES + 1)
    drawn = random.choice(NUM_TYPES, num_words, p=share / share.sum())
    starts = np.arange(NUM_TYPES + 1) * (CHARACTERS_A_WORD + 1)
    return drawn.astype(np.int32), Spellings(ids.ravel(), starts)


def measure(slots: int, units: int, num_words: int) -> dict[str, float]:
    """Milliseconds a word when read, a training step, and how far memory rose in each."""
    torch.manual_seed(1)
    network = build(HCLMConfig(units=units, slots=max(slots, 1)), ALPHABET)
    words, spellings = made_text(num_words)
    before = peak_mebibytes()
    score_text(network, words[:512], spellings, 0, num_slots=slots)
    begun = time.perf_counter()
    score_text(network, words, spellings, 0, num_slots=slots)
    read = (time.perf_counter() - begun) / num_words * 1e3
    after_reading = peak_mebibytes()
    return {
        "slots": slots,
        "read_milliseconds_a_word": round(read, 4),
        "read_mebibytes": round(after_reading - before, 1),
        **training_step(slots, units, words, spellings),
    }


def training_step(slots: int, units: int, words: np.ndarray, spellings: Spellings) -> dict[str, float]:
    """A step of ten streams; where the cache is large a step is long, so few are taken."""
    network = build(HCLMConfig(units=units, slots=slots), ALPHABET)
    config = TrainingConfig(streams=10)
    step, state = Step(network, config), network.start(10)
    reader = Reader(10, slots, 0)
    laid_out = list(lay_out(network.config, windows(words[:1400], 10, 35), spellings, ALPHABET, reader))
    before, times = peak_mebibytes(), []
    for window in laid_out[:4]:
        begun = time.perf_counter()
        state = step(window, state)
        times.append(time.perf_counter() - begun)
    return {
        "step_milliseconds": round(sorted(times)[len(times) // 2] * 1e3, 1),
        "step_mebibytes": round(peak_mebibytes() - before, 1),
    }


def peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--slots", type=int, nargs="+", default=[0, 100, 1000, 10_000])
    parser.add_argument("--words", type=int, default=4096)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options.one, options.units, options.words)))
        return
    results = []
    for slots in options.slots:
        command = [sys.executable, __file__, "--one", str(slots), "--units", str(options.units)]
        output = subprocess.run([*command, "--words", str(options.words)], check=True, capture_output=True, text=True)
        results.append(json.loads(output.stdout.splitlines()[-1]))
        print("  ".join(f"{name} {value:>9,}" for name, value in results[-1].items()))
    device = f"cpu, {torch.get_num_threads()} threads"
    print(json.dumps({"benchmark": "cache_size", "device": device, "units": options.units, "results": results}))


if __name__ == "__main__":
    main()
