"""From what the user names, a corpus or a path, to sources."""

from __future__ import annotations

from pathlib import Path

from wordmint.corpora.demo import demo
from wordmint.corpora.folder import folder_corpus, holds_a_split
from wordmint.corpora.mwc import LANGUAGES, Release, mwc
from wordmint.corpora.ptb import ptb
from wordmint.corpora.source import Source
from wordmint.corpora.wikitext2 import wikitext2
from wordmint.errors import UserError
from wordmint.home import downloads
from wordmint.text.documents import Encoding

# Which languages and which texts of the MWC a name stands for.
MWC_NAMES = {
    f"mwc{language and '-'}{language}{release.value}": ((language,) if language else LANGUAGES, release)
    for release in Release
    for language in ("", *LANGUAGES)
}
NAMES = ("demo", "ptb", "wikitext-2", *MWC_NAMES)


def find_sources(name_or_path: str, data: Path | None, encoding: Encoding) -> list[Source]:
    """The sources a name or a path stands for: several for `mwc` and for a folder of corpora."""
    corpus = name_of_download(name_or_path)
    match corpus:
        case "ptb":
            return [ptb(_folder(corpus, data), encoding)]
        case "wikitext-2":
            return [wikitext2(_folder(corpus, data), encoding)]
        case "mwc":
            return mwc(_folder(corpus, data), encoding, *MWC_NAMES[name_or_path])
    if data:
        raise UserError(
            f"--data {data}: says where the files of ptb, wikitext-2 or mwc are, and {name_or_path} is none of them; "
            "leave it away, or name the folder itself as the corpus"
        )
    return [demo()] if name_or_path == "demo" else _sources_at(Path(name_or_path), encoding)


def name_of_download(name: str) -> str:
    """What is to be fetched for a corpus's name: the whole MWC for one language of it."""
    if name == "wikitext2":
        return "wikitext-2"
    return "mwc" if name in MWC_NAMES else name


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
    if not path.is_dir() and not path.is_file():
        raise UserError(f"{path}: a device or a socket; a corpus is a file or a folder, or - for standard input")
    if path.is_dir() and not holds_a_split(path):
        inner = [folder for folder in sorted(path.iterdir()) if holds_a_split(folder)]
        if inner:
            return [folder_corpus(folder, encoding) for folder in inner]
    return [folder_corpus(path, encoding)]
