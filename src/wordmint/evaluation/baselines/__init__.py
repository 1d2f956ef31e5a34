"""Simple baselines, to stand beside our models in a table: what well-known ways make of the same text."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from wordmint.corpora.corpus import Corpus
from wordmint.errors import UserError
from wordmint.evaluation.baselines.compressors import best_ppmd_order, ppmd, primed_bits, xz, zstd
from wordmint.evaluation.baselines.ngrams import CharacterNGrams, WordNGrams
from wordmint.evaluation.baselines.text import utf8
from wordmint.shapes import Array, Int

CHARACTER_ORDERS = range(5, 11)
WORD_ORDERS = range(2, 6)
DEFAULT_PPMD_ORDER = 16

Report = Callable[[str], None]


@dataclass(frozen=True)
class Baseline:
    """A row of the table."""

    name: str
    bits: float  # of the whole text, given the train text
    adapts: bool  # does it learn from the text while it reads it?
    note: str


def baselines(corpus: Corpus, split: str, report: Report = lambda _line: None) -> list[Baseline]:
    """What a split costs by each baseline that has read train; one whose library is missing is reported instead."""
    for needed in ("train", split):
        if needed not in corpus.splits:
            raise UserError(f"{corpus.name}: it has no {needed} split, and the baselines need one; add it")
    rows = []
    for row in chain(_compressors(corpus, split, report), _ngrams(corpus, split)):
        report(f"{row.name}: {row.bits:,.0f} bits")
        rows.append(row)
    return rows


def _compressors(corpus: Corpus, split: str, report: Report) -> Iterator[Baseline]:
    train, text = (utf8(corpus, corpus.splits[name].words) for name in ("train", split))
    yield Baseline("xz", primed_bits(xz, train, text), True, "xz -9e, looking back over all of train")
    if _installed("zstd", "zstandard", report):
        yield Baseline("zstd", primed_bits(zstd, train, text), True, "zstd --ultra -22, looking back over all of train")
    if _installed("PPMd", "pyppmd", report):
        order = DEFAULT_PPMD_ORDER
        if "valid" in corpus.splits:
            order = best_ppmd_order(train, utf8(corpus, corpus.splits["valid"].words))
        bits = primed_bits(ppmd(order), train, text)
        yield Baseline("PPMd", bits, True, f"variant I, contexts of up to {order} bytes, {_how_chosen(corpus)}")


def _ngrams(corpus: Corpus, split: str) -> Iterator[Baseline]:
    by_characters = CharacterNGrams(corpus)
    order, bits = _at_best_order(by_characters.bits, CHARACTER_ORDERS, corpus, split)
    yield Baseline(f"character {order}-gram", bits, False, f"modified Kneser–Ney, order {_how_chosen(corpus)}")
    del by_characters  # or two large tables would be held at once
    order, bits = _at_best_order(WordNGrams(corpus).bits, WORD_ORDERS, corpus, split)
    note = f"modified Kneser–Ney, spelled words below, order {_how_chosen(corpus)}"
    yield Baseline(f"word {order}-gram", bits, False, note)


def _at_best_order(
    bits_of: Callable[[Int[Array, " words"]], dict[int, float]], orders: range, corpus: Corpus, split: str
) -> tuple[int, float]:
    """The order that is best on valid, the highest where there is no valid, and what the split costs at it."""
    order = orders[-1]
    if "valid" in corpus.splits:
        bits_at = bits_of(corpus.splits["valid"].words)
        order = min(orders, key=lambda order: bits_at[order])
    return order, bits_of(corpus.splits[split].words)[order]


def _how_chosen(corpus: Corpus) -> str:
    return "chosen on valid" if "valid" in corpus.splits else "not chosen, for want of a valid split"


def _installed(name: str, module: str, report: Report) -> bool:
    found = importlib.util.find_spec(module) is not None
    if not found:
        report(f"{name}: not installed, pip install 'wordmint[baselines]'")
    return found
