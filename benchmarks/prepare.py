"""Preparing a corpus and its statistics: seconds on one core and peak memory as the text grows.

    python benchmarks/prepare.py [--megabytes 10 100 500] [--vocabulary repeated growing] [--out FILE]

The text is real articles, read over and over, each time with the words of every sentence and the sentences of every
article in a new order. `repeated` leaves it at that, so that the vocabulary stays that of the articles. `growing`
also respells some of the words that occur once, as many as Heaps' law wants, so that the number of types is what a
text of this length would have. Beside them the floor: reading the bytes, splitting them, and looking every word up in
a dictionary, in the simplest loop. Every number comes from a fresh process on one core; its peak memory counts the
pages of mapped files too. Prints a table, then one JSON line; writes nothing without --out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import resource
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
BYTES_PER_MEGABYTE = 1_000_000
SEED = 20170422

Result = TypeVar("Result")


@dataclass(frozen=True)
class Measurement:
    """One step on one text; wall-clock seconds hold the noise of the machine, CPU seconds hold little of it."""

    step: str
    vocabulary: str
    megabytes: float
    tokens: int
    types: int
    seconds: float
    cpu_seconds: float
    peak_megabytes: float


# ---- the text


def real_articles() -> tuple[str, list[list[str]]]:
    """Where the articles are from, and each as its lines."""
    for folder in (SHARED_DATA / "dewiki" / "train", *sorted(SHARED_DATA.glob("wiki7/*/train"))):
        if folder.is_dir():
            texts = [path.read_text("utf-8") for path in sorted(folder.glob("*.txt"))]
            return folder.relative_to(SHARED_DATA.parent).as_posix(), [text.splitlines() for text in texts]
    from wordmint.corpora.demo import demo

    return "the embedded corpus", [document.text.splitlines() for document in demo().splits["train"]]


def write_text(folder: Path, megabytes: int, growing: bool) -> str:
    """A corpus with a file an article; valid and test are a hundredth of train each. Returns where the text is from."""
    origin, articles = real_articles()
    texts = _endless_texts(articles, growing)
    for split, share in (("train", 1.0), ("valid", 0.01), ("test", 0.01)):
        (folder / split).mkdir(parents=True)
        num_bytes = 0
        for number in count():
            if num_bytes >= share * megabytes * BYTES_PER_MEGABYTE:
                break
            num_bytes += (folder / split / f"{number:06d}.txt").write_bytes(next(texts))
    return origin


def _endless_texts(articles: list[list[str]], growing: bool) -> Iterator[bytes]:
    rng = random.Random(SEED)
    fresh_spellings = _FreshSpellings(articles)
    for repetition in count(1):
        respell = fresh_spellings.draw(repetition, rng) if growing else {}
        for lines in rng.sample(articles, len(articles)):
            yield "".join(_shuffled(lines, respell, rng)).encode()


def _shuffled(lines: list[str], respell: dict[str, str], rng: random.Random) -> Iterator[str]:
    for line in rng.sample(lines, len(lines)):
        words = line.split()
        rng.shuffle(words)
        yield " ".join([respell.get(word, word) for word in words]) + "\n"


class _FreshSpellings:
    """New words for a repetition, as many as types ~ tokens ** exponent asks for."""

    def __init__(self, articles: list[list[str]]) -> None:
        half = Counter(_words(articles[::2]))
        whole = Counter(_words(articles))
        self.exponent = math.log(len(whole) / len(half)) / math.log(whole.total() / half.total())
        self.num_types = len(whole)
        self.once = sorted(word for word, occurrences in whole.items() if occurrences == 1)

    def draw(self, repetition: int, rng: random.Random) -> dict[str, str]:
        """Words that occur once, and for each the same letters in another order; none for the first repetition."""
        if repetition == 1:
            return {}
        num_new = int(self.num_types * (repetition**self.exponent - (repetition - 1) ** self.exponent))
        chosen = rng.sample(self.once, min(num_new, len(self.once)))
        return {word: "".join(rng.sample(word, len(word))) for word in chosen}


def _words(articles: list[list[str]]) -> Iterator[str]:
    return (word for lines in articles for line in lines for word in line.split())


# ---- what is measured, each in a process of its own


def in_fresh_process(function: Callable[..., Result], *arguments: object) -> Result:
    """The function's result, from a new process on one core."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_use_one_core) as pool:
        return pool.submit(function, *arguments).result()


def _use_one_core() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure_floor(folder: Path) -> tuple[int, int, float, float, float]:
    """The least that anything in Python does with a text: every word looked up once."""
    stopwatch = _Stopwatch()
    ids: dict[str, int] = {}
    num_words = 0
    for path in sorted(folder.glob("*/*.txt")):
        for word in path.read_bytes().decode().split():
            if word not in ids:
                ids[word] = len(ids)
            num_words += 1
    return num_words, len(ids), *stopwatch.stop()


def measure_prepare(folder: Path) -> tuple[int, int, float, float, float]:
    """From files to arrays on disk."""
    from wordmint.corpora.folder import folder_corpus
    from wordmint.corpora.prepare import prepare
    from wordmint.text.documents import Encoding

    stopwatch = _Stopwatch()
    corpus = prepare(folder_corpus(folder, Encoding()))
    return sum(len(split.words) for split in corpus.splits.values()), corpus.num_types, *stopwatch.stop()


def measure_statistics(folder: Path) -> tuple[int, int, float, float, float]:
    """The paper's tables, growth and burstiness, of a corpus that is prepared."""
    from wordmint.corpora.folder import folder_corpus
    from wordmint.corpora.prepare import prepare
    from wordmint.corpora.statistics import corpus_statistics
    from wordmint.text.documents import Encoding

    corpus = prepare(folder_corpus(folder, Encoding()))
    stopwatch = _Stopwatch()
    found = corpus_statistics(corpus)
    return sum(split.tokens for split in found.splits.values() if split), corpus.num_types, *stopwatch.stop()


# "prepare again" reads every byte to see that nothing has changed.
STEPS = {
    "floor": measure_floor,
    "prepare": measure_prepare,
    "prepare again": measure_prepare,
    "statistics": measure_statistics,
}


class _Stopwatch:
    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def stop(self) -> tuple[float, float, float]:
        """Wall-clock seconds, CPU seconds, and the peak memory of the process in megabytes."""
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return wall, cpu, peak_bytes / BYTES_PER_MEGABYTE


def measure_all(megabytes: int, vocabulary: str) -> tuple[str, list[Measurement]]:
    """Every step on a new text of this size."""
    with TemporaryDirectory(prefix="wordmint-benchmark-") as scratch:
        os.environ["WORDMINT_HOME"] = str(Path(scratch, "home"))
        folder = Path(scratch, "text")
        origin = in_fresh_process(write_text, folder, megabytes, vocabulary == "growing")
        actual = sum(path.stat().st_size for path in folder.glob("*/*.txt")) / BYTES_PER_MEGABYTE
        found = []
        for step, function in STEPS.items():
            print(f"{step}: {megabytes} MB, {vocabulary} vocabulary …", file=sys.stderr)
            found.append(Measurement(step, vocabulary, actual, *in_fresh_process(function, folder)))
    return origin, found


# ---- how it is shown


def table(found: list[Measurement]) -> str:
    """Markdown, sorted by step so that growth is seen downwards."""
    header = (
        "step",
        "vocabulary",
        "MB",
        "tokens",
        "types",
        "wall s",
        "CPU s",
        "MB/s (CPU)",
        "peak MB",
        "× floor (CPU)",
    )
    floors = {(one.vocabulary, one.megabytes): one.cpu_seconds for one in found if one.step == "floor"}
    order = {step: place for place, step in enumerate(STEPS)}
    rows = [
        _row(one, floors[one.vocabulary, one.megabytes])
        for one in sorted(found, key=lambda one: (order[one.step], one.vocabulary, one.megabytes))
    ]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [_line(row, widths) for row in (header, *rows)]
    ruler = "|".join(["", *("-" * (width + 1) + (":" if i > 1 else "-") for i, width in enumerate(widths)), ""])
    return "\n".join([lines[0], ruler, *lines[1:]])


def _row(one: Measurement, floor_seconds: float) -> tuple[str, ...]:
    speed = one.megabytes / one.cpu_seconds
    numbers = (f"{one.megabytes:.0f}", f"{one.tokens:,}", f"{one.types:,}", f"{one.seconds:.2f}")
    more = (f"{one.cpu_seconds:.2f}", f"{speed:.1f}", f"{one.peak_megabytes:.0f}")
    return (one.step, one.vocabulary, *numbers, *more, f"{one.cpu_seconds / floor_seconds:.2f}")


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return f"| {' | '.join(cells)} |"


def conditions(origin: str) -> dict[str, str]:
    """What a number means nothing without."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    cpu_lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    model = next((line.split(":")[1].strip() for line in cpu_lines if line.startswith("model name")), "unknown")
    return {
        "command": shlex.join(["python", *sys.argv]),
        "commit": commit.stdout.strip(),
        "date": date.today().isoformat(),
        "hardware": f"one core of {os.cpu_count()}, {model}",
        "python": platform.python_version(),
        "text": f"articles of {origin}, repeated with fresh shuffles",
    }


def report(found: list[Measurement], about: dict[str, str]) -> str:
    """The table, what it was measured on, and one JSON line."""
    facts = "\n".join(f"- {name}: {value}" for name, value in about.items())
    line = json.dumps({"benchmark": "prepare", **about, "measurements": [asdict(one) for one in found]})
    return f"{facts}\n\n{table(found)}\n\n{line}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--vocabulary", choices=["repeated", "growing"], nargs="+", default=["repeated", "growing"])
    parser.add_argument("--out", type=Path, help="also write what is printed to this file")
    options = parser.parse_args()
    found: list[Measurement] = []
    origin = ""
    for vocabulary in options.vocabulary:
        for megabytes in options.megabytes:
            origin, some = measure_all(megabytes, vocabulary)
            found += some
    text = report(found, conditions(origin))
    print(text)
    if options.out:
        options.out.write_text(f"# Preparing a corpus, and its statistics\n\n{text}\n", "utf-8")


if __name__ == "__main__":
    main()
