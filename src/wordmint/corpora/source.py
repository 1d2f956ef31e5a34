"""A source: which documents a corpus is made of, and the rules for its words and characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from wordmint.text.documents import Document

SPLITS = ("train", "valid", "test")
RARE_BELOW = 25  # the paper's threshold for characters


@runtime_checkable
class DocumentSet(Protocol):
    """Documents that can be read again and again, and the files they come from."""

    @property
    def files(self) -> tuple[tuple[str, Path], ...]: ...
    def __iter__(self) -> Iterator[Document]: ...


@dataclass(frozen=True)
class Source:
    """A corpus before it is prepared."""

    name: str
    splits: Mapping[str, DocumentSet]
    min_character_count: int = RARE_BELOW
    respell: Mapping[str, str] = field(default_factory=dict)  # words to be written in another way
    settings: Mapping[str, str] = field(default_factory=dict)  # what else decides how its files become text

    def __post_init__(self) -> None:
        assert list(self.splits) == [split for split in SPLITS if split in self.splits]  # types are numbered in it
