"""A training step and reading one stream on a CPU, against the bare matrix products that they cannot do without.

    python benchmarks/cpu_floor.py [--units 600] [--slots 100] [--steps 6]

The products are those of the three LSTMs and the softmax, with the shapes of the same windows, forward and backward,
and nothing around them. They and the real thing take turns in one run. Prints a table, then one JSON line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from itertools import islice

import torch

from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.corpus import LINE_END_ID, Corpus
from wordmint.corpora.prepare import prepare
from wordmint.model.config import HCLMConfig
from wordmint.model.language_model import Network, build
from wordmint.model.packing import Spellings
from wordmint.model.window import Reader, Window, lay_out
from wordmint.text.documents import Encoding
from wordmint.text.streams import windows
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch
from wordmint.training.step import Step


class Products:
    """The matrix products of one LSTM with packed sequences."""

    def __init__(self, sizes: list[int], units: int) -> None:
        self.sizes, places = sizes, sum(sizes)
        self.inputs, self.gates = torch.randn(places, units), torch.randn(places, 4 * units)
        self.w_ih, self.w_hh = torch.randn(4 * units, units), torch.randn(4 * units, units)

    def forward(self) -> None:
        torch.mm(self.inputs, self.w_ih.T)
        for size in self.sizes:
            torch.mm(self.inputs[:size], self.w_hh.T)

    def backward(self) -> None:
        for size in self.sizes:
            torch.mm(self.gates[:size], self.w_hh)
        torch.mm(self.gates, self.w_ih)
        torch.mm(self.gates.T, self.inputs)
        torch.mm(self.gates.T, self.inputs)


class Softmax:
    """Those of the softmax over the alphabet."""

    def __init__(self, places: int, units: int, alphabet: int) -> None:
        self.hidden, self.weight = torch.randn(places, units), torch.randn(alphabet, units)
        self.logits = torch.randn(places, alphabet)

    def forward(self) -> None:
        torch.mm(self.hidden, self.weight.T)

    def backward(self) -> None:
        torch.mm(self.logits, self.weight)
        torch.mm(self.logits.T, self.hidden)


def products_of(window: Window, units: int, alphabet: int) -> list[Products | Softmax]:
    """All of a window's."""
    streams, words = window.present.shape
    return [
        Products(window.reading.sizes.tolist(), units),
        Products([streams] * words, units),
        Products(window.spelling.sizes.tolist(), units),
        Softmax(len(window.spelling.targets), units, alphabet),
    ]


def milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


def compare(name: str, turns: list[tuple[Callable[[], object], Callable[[], object]]]) -> dict[str, float | str]:
    """The real thing and its products, turn by turn; the first turn warms up."""
    real, bare = zip(*((milliseconds(one), milliseconds(other)) for one, other in turns), strict=True)
    ours, floor = statistics.median(real[1:]), statistics.median(bare[1:])
    row = {"what": name, "milliseconds": round(ours, 1), "products_milliseconds": round(floor, 1)}
    return row | {"ratio": round(ours / floor, 2)}


def training(network: Network, corpus: Corpus, num_steps: int) -> dict[str, float | str]:
    config = TrainingConfig()
    epoch = Epoch(corpus, network.config, config, torch.device("cpu"))
    step, state, turns = Step(network.train(), config), network.start(config.streams), []

    def learn(window: Window) -> None:
        nonlocal state
        state = step(window, state)

    for window in islice(epoch.windows(), num_steps):
        assert isinstance(window, Window)
        products = products_of(window, network.config.units, network.alphabet_size)
        turns.append(
            (lambda window=window: learn(window), lambda all_=products: [(p.forward(), p.backward()) for p in all_])
        )
    return compare("training step", turns)


def reading(network: Network, corpus: Corpus, num_windows: int) -> dict[str, float | str]:
    text, spellings = corpus.splits["test"].words, Spellings(corpus.spellings, corpus.spelling_starts)
    state, turns = network.eval().start(1), []
    reader = Reader(1, state.keys.shape[1], LINE_END_ID)

    def read(window: Window) -> None:
        nonlocal state
        with torch.inference_mode():
            _, state = network(window, state)

    laid_out = lay_out(network.config, windows(text, 1, 512), spellings, network.alphabet_size, reader)
    for window in islice(laid_out, num_windows):
        assert isinstance(window, Window)
        products = products_of(window, network.config.units, network.alphabet_size)
        turns.append((lambda window=window: read(window), lambda all_=products: [p.forward() for p in all_]))
    return compare("reading 512 words of one stream", turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--slots", type=int, default=100)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    corpus = prepare(find_sources("demo", None, Encoding())[0])
    torch.manual_seed(1)
    network = build(HCLMConfig(units=options.units, slots=options.slots), len(corpus.alphabet))
    results = [training(network, corpus, options.steps), reading(network, corpus, 2 * options.steps)]
    for row in results:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    device = f"cpu, {torch.get_num_threads()} threads"
    print(json.dumps({"benchmark": "cpu_floor", "device": device, "units": options.units, "results": results}))


if __name__ == "__main__":
    main()
