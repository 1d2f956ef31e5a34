"""The Multilingual Wikipedia Corpus as released: `wiki_en/ptb_format/wiki_en.{tr,va,te}.raw.unk` and so on.

The paper reports on `ptb_format` (300/30/30 articles); `ptb_format_large` has 600/60/60. In these files the rare
characters are already replaced, so none is replaced here. Beside them lie the raw articles, a file each, named by its
Wikidata id, in the folders `tr`, `va` and `te`.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from wordmint.corpora.folder import named_files
from wordmint.corpora.source import SPLITS, Source
from wordmint.errors import UserError
from wordmint.text.documents import Encoding, find_documents

LANGUAGES = ("en", "fr", "de", "es", "cs", "fi", "ru")  # in the order of the paper's table 3
ABBREVIATIONS = {"train": "tr", "valid": "va", "test": "te"}


class Release(Enum):
    """Which of the released texts of a language; the value ends the corpus's name."""

    SMALL = ""
    LARGE = "-large"
    ARTICLES = "-articles"


def mwc(
    folder: Path, encoding: Encoding, languages: tuple[str, ...] = LANGUAGES, release: Release = Release.SMALL
) -> list[Source]:
    """One source a language that the folder holds."""
    found = [language for language in languages if (folder / f"wiki_{language}").is_dir()]
    if not found:
        wanted = ", ".join(f"wiki_{language}" for language in languages)
        raise UserError(f"{folder}: holds no language of the MWC; {wanted} would be folders in it")
    read = _articles if release is Release.ARTICLES else _whole_texts
    return [read(folder / f"wiki_{language}", language, encoding, release) for language in found]


def _whole_texts(folder: Path, language: str, encoding: Encoding, release: Release) -> Source:
    name = f"mwc-{language}{release.value}"
    kind = "ptb_format_large" if release is Release.LARGE else "ptb_format"
    pattern = f"wiki_{language}.{{split}}.raw.unk"
    splits = named_files(folder / kind, pattern, encoding, corpus=name, abbreviations=ABBREVIATIONS)
    return Source(name, splits, min_character_count=1)


def _articles(folder: Path, language: str, encoding: Encoding, release: Release) -> Source:
    """Raw text: the rule for rare characters applies to it as to any other."""
    folders = {split: folder / ABBREVIATIONS[split] for split in SPLITS}
    splits = {split: find_documents(path, encoding) for split, path in folders.items() if path.is_dir()}
    if not splits:
        raise UserError(f"{folder}: no articles of the MWC here; tr, va and te would be folders in it")
    return Source(f"mwc-{language}{release.value}", splits)
