"""From what the user names, a corpus or a path, to sources."""

from __future__ import annotations

from pathlib import Path

from wordmint.corpora.demo import demo
from wordmint.corpora.folder import folder_corpus, holds_a_split
from wordmint.corpora.mwc import LANGUAGES, mwc
from wordmint.corpora.ptb import ptb
from wordmint.corpora.source import Source
from wordmint.corpora.wikitext2 import wikitext2
from wordmint.errors import UserError
from wordmint.home import downloads
from wordmint.text.documents import Encoding

MWC_NAMES = ("mwc", *(f"mwc-{language}" for language in LANGUAGES))
MWC_LARGE_NAMES = tuple(f"{name}-large" for name in MWC_NAMES)
NAMES = ("demo", "ptb", "wikitext-2", *MWC_NAMES, *MWC_LARGE_NAMES)


def find_sources(name_or_path: str, data: Path | None, encoding: Encoding) -> list[Source]:
    """The sources a name or a path stands for: several for `mwc` and for a folder of corpora."""
    match name_or_path:
        case "demo":
            return [demo()]
        case "ptb":
            return [ptb(_folder("ptb", data), encoding)]
        case "wikitext-2" | "wikitext2":
            return [wikitext2(_folder("wikitext-2", data), encoding)]
    if name_or_path in (*MWC_NAMES, *MWC_LARGE_NAMES):
        large = name_or_path in MWC_LARGE_NAMES
        language = name_or_path.removesuffix("-large").removeprefix("mwc").removeprefix("-")
        return mwc(_folder("mwc", data), encoding, (language,) if language else LANGUAGES, large)
    return _sources_at(Path(name_or_path), encoding)


def _folder(corpus: str, data: Path | None) -> Path:
    folder = data or downloads(corpus)
    if not folder.is_dir():
        remedy = (
            "name a folder that exists"
            if data
            else f"run `wordmint corpus fetch {corpus}`, or point --data at your copy"
        )
        raise UserError(f"{folder}: no such folder for {corpus}; {remedy}")
    return folder


def _sources_at(path: Path, encoding: Encoding) -> list[Source]:
    if not path.exists():
        raise UserError(f"{path}: neither a corpus ({', '.join(NAMES[:4])}, …) nor a file or folder")
    if path.is_dir() and not holds_a_split(path):
        inner = [folder for folder in sorted(path.iterdir()) if holds_a_split(folder)]
        if inner:
            return [folder_corpus(folder, encoding) for folder in inner]
    return [folder_corpus(path, encoding)]
