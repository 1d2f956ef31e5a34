"""WikiText-2 raw: `wiki.{train,valid,test}.raw`."""

from __future__ import annotations

from pathlib import Path

from wordmint.corpora.folder import named_files
from wordmint.corpora.source import Source
from wordmint.text.documents import Encoding


def wikitext2(folder: Path, encoding: Encoding) -> Source:
    """Characters with fewer than 25 occurrences become the dummy, as in the paper."""
    return Source("wikitext-2", named_files(folder, "wiki.{split}.raw", encoding, corpus="wikitext-2"))
