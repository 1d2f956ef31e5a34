"""Any folder as a corpus: a file or a folder of documents for each of train, valid and test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from wordmint.corpora.source import SPLITS, DocumentSet, Source
from wordmint.errors import UserError
from wordmint.text.documents import COMPRESSED, Documents, Encoding, find_documents

SPLIT_NAMES = {
    "train": {"train", "training"},
    "valid": {"valid", "validation", "dev", "val"},
    "test": {"test"},
}
# Also languages (Turkish, Telugu), so only between dots, and for files alone: a folder of a language is common.
SHORT_SPLIT_NAMES = {"train": ".tr.", "valid": ".va.", "test": ".te."}


def folder_corpus(path: Path, encoding: Encoding) -> Source:
    """A folder with train, valid and test files or folders; a single file, or a folder of files alone, is train."""
    name = path.resolve().name
    if path.is_file():
        return Source(name, {"train": find_documents(path, encoding)})
    found = {split: _find_split(path, split) for split in SPLITS}
    splits = {split: find_documents(where, encoding) for split, where in found.items() if where}
    if not splits and _holds_files_alone(path):
        splits = {"train": find_documents(path, encoding)}
    if not splits:
        raise UserError(
            f"{path}: no train, valid or test file or folder in it (train.txt, valid/, corpus.test.jsonl, …), "
            "nor is it a folder of nothing but files, which would all be train"
        )
    return Source(name, splits)


def holds_a_split(path: Path) -> bool:
    """True for a folder that `folder_corpus` can read."""
    return path.is_dir() and any(_find_split(path, split) for split in SPLITS)


def _holds_files_alone(folder: Path) -> bool:
    """True for texts that nobody split; a folder within may hold anything, and is more likely a mistake."""
    entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return bool(entries) and all(path.is_file() for path in entries)


def named_files(
    folder: Path,
    pattern: str,
    encoding: Encoding,
    corpus: str,
    abbreviations: Mapping[str, str] | None = None,
) -> dict[str, DocumentSet]:
    """The files of a released corpus, whose names are known, compressed or not; a split may be missing."""
    splits: dict[str, DocumentSet] = {}
    for split in SPLITS:
        name = pattern.format(split=(abbreviations or {}).get(split, split))
        candidates = [folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED)]
        if path := next((path for path in candidates if path.is_file()), None):
            splits[split] = Documents(((path.name, path),), encoding)
    if not splits:
        expected = pattern.format(split="{" + ",".join((abbreviations or {}).get(s, s) for s in SPLITS) + "}")
        raise UserError(f"{folder}: no file of {corpus} here; {expected} are expected (`--data DIR` says where)")
    return splits


def _find_split(folder: Path, split: str) -> Path | None:
    candidates = [path for path in sorted(folder.iterdir()) if _names_split(path, split)]
    exact = [path for path in candidates if path.name.split(".")[0] in SPLIT_NAMES[split]]
    chosen = exact or candidates
    if len(chosen) > 1:
        names = " and ".join(path.name for path in chosen)
        raise UserError(f"{folder}: {names} could each be the {split} split; leave one of them here")
    return chosen[0] if chosen else None


def _names_split(path: Path, split: str) -> bool:
    if path.name.startswith("."):
        return False
    parts = set(re.split(r"[._-]", path.name))
    return not parts.isdisjoint(SPLIT_NAMES[split]) or (SHORT_SPLIT_NAMES[split] in path.name and path.is_file())
