"""A prepared corpus in dictionaries and strings: the slow, obvious twin of `wordmint.corpora.prepare`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tests.reference import words as reference

DUMMY = "\ufffd"
Texts = Mapping[str, Mapping[str, str]]  # split → document → text


@dataclass(frozen=True)
class SlowSplit:
    words: list[str]  # rare characters are already the dummy
    document_starts: list[int]
    document_names: list[str]


@dataclass(frozen=True)
class SlowCorpus:
    types: list[str]  # in the order in which they first occur, after the line end
    characters: list[str]
    splits: dict[str, SlowSplit]

    def ids(self, split: str) -> list[int]:
        return [self.types.index(word) for word in self.splits[split].words]


def prepare(texts: Texts, min_character_count: int, respell: Mapping[str, str]) -> SlowCorpus:
    documents = {
        split: {
            name: [respell.get(word, word) for word, _, _ in reference.words(text)] for name, text in sorted(of.items())
        }
        for split, of in texts.items()
    }
    counts = Counter(c for of in documents.values() for words in of.values() for word in words for c in word)
    known = {character for character, count in counts.items() if count >= min_character_count}
    known = (known | {"\n"}) - {DUMMY}
    splits = {split: _split(of, known) for split, of in documents.items()}
    types = ["\n"]
    for split in splits.values():
        for word in split.words:
            if word not in types:
                types.append(word)
    return SlowCorpus(types, sorted(known), splits)


def _split(documents: Mapping[str, list[str]], known: set[str]) -> SlowSplit:
    words: list[str] = []
    starts = [0]
    for document in documents.values():
        words += ["".join(c if c in known else DUMMY for c in word) for word in document]
        starts.append(len(words))
    return SlowSplit(words, starts, list(documents))
