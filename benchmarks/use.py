"""Using a model of the paper's size on a CPU: scoring, completing, compressing, loading.

    python benchmarks/use.py [--units 600] [--slots 100]

Weights are drawn at random, which is the worst case for completions, as nothing stands out. Scoring is compared with
the bare matrix products of the same windows in the same run. Prints a table, then one JSON line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from cpu_floor import products_of
from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.corpus import LINE_END_ID
from wordmint.corpora.prepare import prepare
from wordmint.model.config import HCLMConfig
from wordmint.model.int8 import read_in_int8
from wordmint.model.language_model import LanguageModel, TextRules
from wordmint.model.packing import Spellings
from wordmint.model.window import Reader, Window, lay_out
from wordmint.text.documents import Encoding
from wordmint.text.streams import windows
from wordmint.use.compression import compress
from wordmint.use.model import Model

NUM_DOCUMENTS, WORDS = 16, 320


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def bare_products(lm: Model, corpus: Any, streams: int, num_words: int) -> Callable[[], object]:
    """Those of the windows that so many streams of a text are read in."""
    text, network = corpus.splits["test"].words[:num_words], lm.language_model.network
    config, alphabet_size = network.config, network.alphabet_size
    assert isinstance(config, HCLMConfig)
    spellings = Spellings(corpus.spellings, corpus.spelling_starts)
    cut, reader = windows(text, streams, min(256, 512 // streams)), Reader(streams, config.slots, LINE_END_ID)
    products: list[Any] = []
    for window in lay_out(config, cut, spellings, alphabet_size, reader):
        assert isinstance(window, Window)
        products += products_of(window, config.units, alphabet_size)
    return lambda: [one.forward() for one in products]


def scoring(lm: Model, rough: Model, corpus: Any, text: list[str]) -> list[dict[str, Any]]:
    """One text, and many side by side: float32, integers, and the products."""
    rows = []
    whole = NUM_DOCUMENTS * WORDS
    for name, texts, streams in (
        ("one text", [" ".join(text[:whole])], 1),
        ("16 texts", [" ".join(text[i * WORDS : (i + 1) * WORDS]) for i in range(NUM_DOCUMENTS)], NUM_DOCUMENTS),
    ):
        products = bare_products(lm, corpus, streams, whole)
        ours, floor = seconds(lambda texts=texts: lm.score_many(texts)), seconds(products)
        integers = seconds(lambda texts=texts: rough.score_many(texts))
        rows.append(
            {
                "what": f"scoring {name}",
                "words_per_second": round(whole / ours),
                "share_of_product_rate": round(floor / ours, 3),
                "int8_words_per_second": round(whole / integers),
                "int8_times_float32": round(ours / integers, 2),
            }
        )
    return rows


def completing(lm: Model, text: list[str]) -> dict[str, Any]:
    """Milliseconds a completion, on one thread, with a cache that is full."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    _, state = lm.read(" ".join(text[:600]) + " ", lm.start())
    times, exact = [], 0
    for word in text[600:680]:
        for typed in (word[:1], word[:3]):
            begun = time.perf_counter()
            exact += lm.complete(typed, state).is_exact
            times.append((time.perf_counter() - begun) * 1e3)
        _, state = lm.read(word + " ", state)
    torch.set_num_threads(threads)
    times = sorted(times[8:])
    return {
        "what": "completing, one thread",
        "median_milliseconds": round(statistics.median(times), 1),
        "p95_milliseconds": round(times[int(0.95 * len(times))], 1),
        "exact_share": round(exact / len(times), 2),
    }


def loading(lm: Model) -> dict[str, Any]:
    """From the command to the score of a line, in a process of its own; and how much of it is PyTorch's import."""
    with tempfile.TemporaryDirectory() as folder:
        lm.language_model.save_pretrained(folder)
        line = Path(folder, "line.txt")
        line.write_text("The cache remembers the words that it has seen .\n")
        command = [sys.executable, "-m", "wordmint", "score", folder, str(line)]
        whole = seconds(lambda: subprocess.run(command, check=True, capture_output=True))
        torch_alone = seconds(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True))
    return {"what": "load and score a line", "seconds": round(whole, 2), "torch_seconds": round(torch_alone, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--slots", type=int, default=100)
    options = parser.parse_args()
    corpus = prepare(find_sources("demo", None, Encoding())[0])
    torch.manual_seed(1)
    config = HCLMConfig(units=options.units, slots=options.slots)
    lm, rough = (Model(LanguageModel.of(config, corpus.alphabet, TextRules(), [], {})) for _ in range(2))
    rough.language_model.load_state_dict(lm.language_model.state_dict())
    read_in_int8(rough.language_model.network)
    starts, ids = corpus.spelling_starts, corpus.spellings
    spelled = [
        corpus.alphabet.read(ids[starts[word] : starts[word + 1]]) for word in corpus.splits["test"].words[:6000]
    ]
    text = [word for word in spelled if word != "\n"]
    rows = scoring(lm, rough, corpus, text)
    rows.append(completing(lm, text))
    sample = " ".join(text[:150])
    compressing = seconds(lambda: compress(lm.language_model, sample.encode()), repeats=1)
    rows.append({"what": "compressing, one thread", "characters_per_second": round(len(sample) / compressing)})
    rows.append(loading(lm))
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    device = f"cpu, {torch.get_num_threads()} threads"
    print(json.dumps({"benchmark": "use", "device": device, "units": options.units, "results": rows}))


if __name__ == "__main__":
    main()
