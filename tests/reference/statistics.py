"""Statistics of lists of words with sets and loops: the slow, obvious twin of `wordmint.corpora.statistics`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference import words as reference


def split_statistics(words: list[str], train: list[str] | None) -> dict[str, int | float | None]:
    """A column of the paper's tables 1–3; `train` is none where there is no rate of new words."""
    text = reference.join(words)
    return {
        "character_types": len(set(text)),
        "word_types": len(set(words)),
        "oov_rate": None if train is None else sum(word not in set(train) for word in words) / len(words),
        "tokens": len(words),
        "characters": len(text),
        "dummies": text.count("\ufffd"),
    }


def types_after(words: Sequence[object], tokens: int) -> int:
    return len(set(words[:tokens]))


def burstiness(words: Sequence[object], distinct: int) -> tuple[int, float, float]:
    """New words, the share that comes again soon, and the share that chance predicts."""
    returned, predicted = [], []
    for first, word in enumerate(words):
        if word in words[:first]:
            continue
        soon: list[object] = []
        for later in words[first + 1 :]:
            if len(set(soon)) == distinct:
                break
            soon.append(later)
        returned.append(word in soon)
        others = words.count(word) - 1
        share = len(soon) / max(len(words) - 1 - first, 1)
        predicted.append(1 - (1 - share) ** others)
    return len(returned), sum(returned) / len(returned), sum(predicted) / len(predicted)


def new_word_frequencies(splits: dict[str, list[str]]) -> list[int]:
    """How often each word occurs in valid and test that train lacks, in the order in which they come."""
    held_out = [word for split, words in splits.items() if split != "train" for word in words]
    return [held_out.count(word) for word in dict.fromkeys(held_out) if word not in set(splits["train"])]
