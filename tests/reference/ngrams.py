"""Interpolated modified Kneser–Ney from the formulas of Chen & Goodman (1999), with sets and loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

Gram = tuple[int, ...]


class KneserNeyTwin:
    """Reads sequences of symbols; the first of each is given."""

    def __init__(self, sequences: Sequence[Sequence[int]], order: int, base: Callable[[int], float]) -> None:
        self.sequences = [tuple(sequence) for sequence in sequences]
        self.order = order
        self.base = base
        self.counts = {length: self.counted(length) for length in range(1, order + 1)}
        self.discounts = {length: estimated_discounts(self.counts[length]) for length in range(1, order + 1)}

    def occurrences(self, length: int) -> list[tuple[Gram, int | None]]:
        """Every n-gram that ends in a symbol that is not given, with the symbol before it."""
        found = []
        for sequence in self.sequences:
            for end in range(1, len(sequence)):
                start = end - length + 1
                if start >= 0:
                    found.append((sequence[start : end + 1], sequence[start - 1] if start > 0 else None))
        return found

    def counted(self, length: int) -> Counter[Gram]:
        occurrences = self.occurrences(length)
        if length == self.order:
            return Counter(gram for gram, _ in occurrences)
        preceded = Counter(gram for gram, _ in {(gram, before) for gram, before in occurrences if before is not None})
        return preceded + Counter(gram for gram, before in occurrences if before is None)

    def p(self, symbol: int, context: Gram) -> float:
        """The probability of a symbol after all that stands before it in its sequence."""
        context = context[len(context) - min(len(context), self.order - 1) :]
        return self.smoothed(symbol, context)

    def smoothed(self, symbol: int, context: Gram) -> float:
        lower = self.smoothed(symbol, context[1:]) if context else self.base(symbol)
        length = len(context) + 1
        follow = {gram[-1]: count for gram, count in self.counts[length].items() if gram[:-1] == context}
        if not follow:
            return lower
        total = sum(follow.values())
        discount = {other: self.discounts[length][min(count, 3)] for other, count in follow.items()}
        left = sum(discount.values()) / total
        own = (follow[symbol] - discount[symbol]) / total if symbol in follow else 0.0
        return own + left * lower

    def ps(self, sequence: Sequence[int]) -> list[float]:
        """The probability of each symbol of a sequence but the first."""
        return [self.p(sequence[end], tuple(sequence[:end])) for end in range(1, len(sequence))]


def estimated_discounts(counts: Counter[Gram]) -> list[float]:
    n = Counter(counts.values())
    if not (n[1] and n[2] and n[3]):
        return [0, 0.5, 1, 1.5]
    y = n[1] / (n[1] + 2 * n[2])
    discounts = [0, 1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
    return discounts if all(discount > 0 for discount in discounts[1:]) else [0, 0.5, 1, 1.5]
