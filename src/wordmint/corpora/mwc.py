"""The Multilingual Wikipedia Corpus as released: `wiki_en/ptb_format/wiki_en.{tr,va,te}.raw.unk` and so on.

The paper reports on `ptb_format` (300/30/30 articles); `ptb_format_large` has 600/60/60. In these files the rare
characters are already replaced, so none is replaced here.
"""

from __future__ import annotations

from pathlib import Path

from wordmint.corpora.folder import named_files
from wordmint.corpora.source import Source
from wordmint.errors import UserError
from wordmint.text.documents import Encoding

LANGUAGES = ("en", "fr", "de", "es", "cs", "fi", "ru")  # in the order of the paper's table 3
ABBREVIATIONS = {"train": "tr", "valid": "va", "test": "te"}


def mwc(folder: Path, encoding: Encoding, languages: tuple[str, ...] = LANGUAGES, large: bool = False) -> list[Source]:
    """One source a language that the folder holds."""
    found = [language for language in languages if (folder / f"wiki_{language}").is_dir()]
    if not found:
        wanted = ", ".join(f"wiki_{language}" for language in languages)
        raise UserError(f"{folder}: holds no language of the MWC; {wanted} would be folders in it")
    return [_language(folder / f"wiki_{language}", language, encoding, large) for language in found]


def _language(folder: Path, language: str, encoding: Encoding, large: bool) -> Source:
    name = f"mwc-{language}" + ("-large" if large else "")
    kind = "ptb_format_large" if large else "ptb_format"
    pattern = f"wiki_{language}.{{split}}.raw.unk"
    splits = named_files(folder / kind, pattern, encoding, corpus=name, abbreviations=ABBREVIATIONS)
    return Source(name, splits, min_character_count=1)
