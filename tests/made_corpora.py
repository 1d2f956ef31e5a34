"""Corpora that tests write themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.reference.corpus import Texts
from wordmint.corpora.corpus import Corpus
from wordmint.corpora.prepare import prepare
from wordmint.corpora.source import Source
from wordmint.text.documents import find_documents


def write_texts(folder: Path, texts: Texts) -> None:
    """A folder for each split, a file for each document."""
    for split, documents in texts.items():
        for name, text in documents.items():
            path = folder / split / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())


def made_source(
    folder: Path, texts: Texts, min_character_count: int = 1, respell: Mapping[str, str] | None = None
) -> Source:
    """The texts as a source, written to the folder."""
    write_texts(folder, texts)
    splits = {split: find_documents(folder / split) for split in texts}
    return Source("made", splits, min_character_count, respell or {})


def made_corpus(folder: Path, min_character_count: int = 1, **texts: str) -> Corpus:
    """A prepared corpus of one document a split."""
    return prepare(made_source(folder, {split: {"a.txt": text} for split, text in texts.items()}, min_character_count))


def words_of(corpus: Corpus, split: str) -> list[str]:
    """A split's words as the corpus spells them."""
    ids = corpus.splits[split].words.tolist()
    word_of = {type_id: corpus.word(type_id) for type_id in set(ids)}
    return [word_of[type_id] for type_id in ids]
