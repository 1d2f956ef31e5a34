"""A prepared corpus: arrays on disk, mapped into memory, never loaded whole.

    meta.json                     what it is, and the size of every file below
    spellings.i32                 the spelling of every word type, one after the other (alphabet ids, end included)
    spelling_starts.i64           where each begins, and where the last ends
    {split}.words.i32             the text as word types
    {split}.document_starts.i64   where each document begins, and where the last ends
    {split}.documents.json        their names

Word types are numbered in the order in which they first occur, valid after train and test after valid; the line end
is 0. So the number of types seen up to any word is a running maximum, and a word is out of vocabulary if and only if
its number is not below the number of types in train. Rare characters are already the dummy: two words that differ in
them alone are one type.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wordmint.corpora.source import SPLITS
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import Alphabet

FORMAT_VERSION = 1
META = "meta.json"
LINE_END_ID = 0


@dataclass(frozen=True)
class Split:
    """One part of a corpus: a text of word types."""

    name: str
    words: Int[Array, " words"]
    document_starts: Int[Array, " documents_and_end"]
    num_characters: int  # of the normalised text
    num_dummies: int  # characters that were too rare to be known
    folder: Path

    @cached_property
    def document_names(self) -> list[str]:
        """The documents' names, in order."""
        return json.loads((self.folder / f"{self.name}.documents.json").read_text("utf-8"))


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus; `splits` has those that its source has."""

    name: str
    fingerprint: str
    alphabet: Alphabet
    spellings: Int[Array, " characters"]
    spelling_starts: Int[Array, " types_and_end"]
    splits: dict[str, Split]
    shared_documents: list[tuple[str, str]]  # the same text in two splits: "train/a.txt", "test/b.txt"

    @property
    def num_types(self) -> int:
        """Distinct words of all splits, the line end among them."""
        return len(self.spelling_starts) - 1

    def word(self, type_id: int) -> str:
        """The word of a type, dummies as U+FFFD."""
        begin, end = self.spelling_starts[type_id : type_id + 2]
        return self.alphabet.read(self.spellings[begin:end])


def open_corpus(folder: Path) -> Corpus | None:
    """The prepared corpus in a folder, or nothing where there is none that is whole."""
    try:
        meta: dict[str, Any] = json.loads((folder / META).read_text("utf-8"))
        if meta["format"] != FORMAT_VERSION:
            return None
        if any((folder / name).stat().st_size != size for name, size in meta["bytes"].items()):
            return None
        return _described(folder, meta)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # no JSON, or JSON of something else
        return None


def _described(folder: Path, meta: dict[str, Any]) -> Corpus:
    return Corpus(
        name=meta["name"],
        fingerprint=meta["fingerprint"],
        alphabet=Alphabet(tuple(meta["alphabet"])),
        spellings=map_array(folder / "spellings.i32"),
        spelling_starts=map_array(folder / "spelling_starts.i64"),
        splits={name: _open_split(folder, name, meta["splits"][name]) for name in SPLITS if name in meta["splits"]},
        shared_documents=[(a, b) for a, b in meta["shared_documents"]],
    )


def _open_split(folder: Path, name: str, meta: dict[str, int]) -> Split:
    return Split(
        name=name,
        words=map_array(folder / f"{name}.words.i32"),
        document_starts=map_array(folder / f"{name}.document_starts.i64"),
        num_characters=meta["characters"],
        num_dummies=meta["dummies"],
        folder=folder,
    )


def map_array(path: Path) -> Int[Array, " elements"]:
    """An array on disk, read only; its type is the file's suffix."""
    dtype = {".i32": np.int32, ".i64": np.int64}[path.suffix]
    if path.stat().st_size == 0:
        return np.zeros(0, dtype)
    return np.memmap(path, dtype, mode="r")
