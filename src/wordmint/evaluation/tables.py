"""Evaluations as a table a person reads, and as JSON a program reads."""

from __future__ import annotations

import json
import math
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from wordmint.console import Output
from wordmint.evaluation.baselines import Baseline
from wordmint.evaluation.compare import CONFIDENCE, Comparison
from wordmint.evaluation.evaluate import Evaluation, perplexity

COUNT_NAMES = {
    "normalised": "normalised text (the paper's count)",
    "normalised_bytes": "its bytes in UTF-8",
    "respelled_words_as_written": "respelled words as written (<unk>)",
    "respelled_words_as_one_character": "respelled words as one character",
    "given": "characters as given, white space included",
    "given_bytes": "their bytes in UTF-8",
}


def as_json(evaluations: list[Evaluation], comparison: Comparison | None, baselines: list[Baseline]) -> str:
    """An object for one model; for several, a list under "models" and what became of their comparison."""
    objects = [as_object(one) for one in evaluations]
    result: dict[str, Any] = objects[0] if len(objects) == 1 else {"models": objects}
    if comparison:
        result["comparison"] = vars(comparison) | {"confidence": CONFIDENCE}
    if baselines:
        result["baselines"] = [vars(one) for one in baselines]
    return json.dumps(result, ensure_ascii=False, allow_nan=False)


def as_object(evaluation: Evaluation) -> dict[str, Any]:
    """All figures of one evaluation."""
    reading = evaluation.reading
    return {
        "model": evaluation.model,
        "bits": evaluation.bits,
        "characters": evaluation.characters,
        "bpc": evaluation.bpc,
        "bits_per_byte": evaluation.bits_per_byte,
        "tokens": evaluation.tokens,
        "word_perplexity": evaluation.word_perplexity if math.isfinite(evaluation.word_perplexity) else None,
        "oov_rate": evaluation.oov_rate,
        "dummy_characters": evaluation.dummy_characters,
        "dummy_bits": evaluation.dummy_bits,
        "dummies_paid": reading.exact,
        "bits_without_cache": evaluation.bits_without_cache,
        "counts": {
            name: {"characters": count, "bpc": evaluation.bits / count} for name, count in evaluation.counts.items()
        },
        "streams": reading.streams,
        "slots": reading.slots,
        "reset_documents": reading.reset_documents,
        "documents": len(evaluation.bits_of_document),
    }


def show(evaluations: list[Evaluation], comparison: Comparison | None, baselines: list[Baseline]) -> None:
    """Print the models, the baselines below them, and what the figures count."""
    console = Output()
    first = evaluations[0]
    console.print_whole(_results(evaluations, baselines))
    for row in baselines:
        console.print(Text(f"{row.name} {'adapts while it reads' if row.adapts else 'is frozen'}: {row.note}", "dim"))
    if comparison:
        console.print(f"\n{_compared(evaluations, comparison)}")
    console.print_whole(_counts(first))
    console.print(
        f"{first.tokens:,} tokens (words and line ends) in {len(first.bits_of_document):,} "
        f"document{'s' if len(first.bits_of_document) > 1 else ''}; {first.oov_rate:.2%} of them are words that the "
        "training text lacks"
    )
    for one in evaluations if len({e.dummy_characters for e in evaluations}) > 1 else evaluations[:1]:
        console.print(_dummies(one, len(evaluations) > 1))


def _results(evaluations: list[Evaluation], baselines: list[Baseline]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0))
    for header in ("", "Bits", "a character", "a byte", "Perplexity"):
        table.add_column(header, justify="right" if header else "left", no_wrap=True)
    for one in evaluations:
        _add(table, one, one.model, one.bits, "bold")
        if one.bits_without_cache is not None:
            _add(table, one, "  spelling every word", one.bits_without_cache)
    for row in sorted(baselines, key=lambda row: row.bits):
        _add(table, evaluations[0], row.name, row.bits)
    return table


def _add(table: Table, count: Evaluation, name: str, bits: float, style: str = "") -> None:
    table.add_row(
        Text(name),
        f"{bits:,.0f}",
        f"{bits / count.characters:.4f}",
        f"{bits / count.counts['normalised_bytes']:.4f}",
        f"{perplexity(bits, count.tokens):,.2f}",
        style=style,
    )


def _compared(evaluations: list[Evaluation], comparison: Comparison) -> str:
    first, second = evaluations[:2]
    verdict = "" if comparison.is_certain else "; they may well be equally good"
    sign, more = (1, "fewer") if comparison.saved >= 0 else (-1, "more")
    low, high = sorted((sign * comparison.low, sign * comparison.high))
    return (
        f"{second.model} needs {abs(comparison.saved):.2%} {more} bits than {first.model} "
        f"({CONFIDENCE:.0%} interval {low:.2%} to {high:.2%}, by {comparison.num_units} {comparison.unit} drawn "
        f"anew){verdict}"
    )


def _counts(evaluation: Evaluation) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 2, 0, 0))
    table.add_column("The same bits over")
    table.add_column("count", justify="right")
    table.add_column("bits each", justify="right")
    for name, count in evaluation.counts.items():
        table.add_row(COUNT_NAMES[name], f"{count:,}", f"{evaluation.bits / count:.4f}")
    return table


def _dummies(evaluation: Evaluation, named: bool) -> str:
    number = evaluation.dummy_characters
    which = f"{evaluation.model}: " if named else ""
    if not number:
        return f"{which}every character is in the alphabet"
    characters = f"{which}{number:,} character{'s' if number > 1 else ''} that the alphabet lacks"
    if evaluation.reading.exact:
        return f"{characters}; {evaluation.dummy_bits:,.0f} of the bits say which they are"
    return f"{characters}: which they are is not paid for (--exact would add {evaluation.dummy_bits:,.0f} bits)"
