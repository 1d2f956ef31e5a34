"""The Penn Treebank in Mikolov's preparation: `ptb.{train,valid,test}.txt`."""

from __future__ import annotations

from pathlib import Path

from wordmint.corpora.folder import named_files
from wordmint.corpora.source import Source
from wordmint.text.documents import Encoding


def ptb(folder: Path, encoding: Encoding) -> Source:
    """The paper's rule: `<unk>` is spelled `UNK` and is a word like any other; no character is rare."""
    splits = named_files(folder, "ptb.{split}.txt", encoding, corpus="ptb")
    return Source("ptb", splits, min_character_count=1, respell={"<unk>": "UNK"})
