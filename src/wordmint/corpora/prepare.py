"""Preparing a corpus: from documents to arrays on disk, once for each content and each choice of settings.

The folder's name holds a fingerprint of every byte of the source and of every setting that shapes the result, so a
prepared corpus is found again at once or not at all. It is written under another name and renamed when it is whole.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import unicodedata
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from wordmint.corpora.corpus import FORMAT_VERSION, META, Corpus, open_corpus
from wordmint.corpora.source import Source
from wordmint.corpora.vocabulary import Vocabulary
from wordmint.errors import UserError
from wordmint.home import home
from wordmint.text.documents import Document, Encoding
from wordmint.text.words import Segmentation, word_lines

WORDS_PER_WRITE = 1 << 20
NAME_BYTES = 100  # of a folder's name; fingerprint, host and process number come after, and 255 is the most
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
Report = Callable[[str, int], None]  # what is read, and how many characters more


def prepare(
    source: Source,
    encoding: Encoding = Encoding(),  # noqa: B008 (frozen)
    segmentation: Segmentation = Segmentation.WHITESPACE,
    report: Report = lambda _what, _num_characters: None,
) -> Corpus:
    """The prepared corpus of a source: opened if it is there, made if it is not."""
    fingerprint = _fingerprint(source, encoding, segmentation)
    folder = home() / "prepared" / f"{_shortened(source.name)}-{fingerprint[:16]}"
    corpus = open_corpus(folder)
    if corpus is None:
        _make(folder, source, segmentation, fingerprint, report)
        corpus = open_corpus(folder)
        assert corpus is not None
    return corpus


def _shortened(name: str) -> str:
    encoded = os.fsencode(name)
    return name if len(encoded) <= NAME_BYTES else encoded[:NAME_BYTES].decode(errors="ignore")


def _fingerprint(source: Source, encoding: Encoding, segmentation: Segmentation) -> str:
    """A hash of all that decides the result: settings, names, and every byte of the files."""
    settings = {
        "format": FORMAT_VERSION,
        "name": source.name,
        "min_character_count": source.min_character_count,
        "respell": dict(source.respell),
        "settings": dict(source.settings),
        "encoding": [encoding.name, encoding.errors],
        "segmentation": segmentation,
        "unicode": unicodedata.unidata_version,  # decides what white space is
        "files": {split: [name for name, _ in documents.files] for split, documents in source.splits.items()},
    }
    digest = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=32)
    for documents in source.splits.values():
        for _, path in documents.files:
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    return digest.hexdigest()


def _make(folder: Path, source: Source, segmentation: Segmentation, fingerprint: str, report: Report) -> None:
    partial = folder.with_name(f".{folder.name}.{socket.gethostname()}.{os.getpid()}.partial")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder.parent)
        shutil.rmtree(partial, ignore_errors=True)  # of an earlier process that had our number, as in containers
        partial.mkdir()
        _write(partial, source, segmentation, fingerprint, report)
        _move_into_place(partial, folder)
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = "free some space or " if error.errno in NO_SPACE else ""
        raise UserError(
            f"{folder.parent}: preparing {source.name} failed ({reason}), nothing was kept; {remedy}"
            "set WORDMINT_HOME to a folder on another disk"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _move_into_place(partial: Path, folder: Path) -> None:
    if folder.exists() and open_corpus(folder) is None:
        shutil.rmtree(folder)  # a corpus that was damaged later
    try:
        partial.rename(folder)
    except OSError:
        if open_corpus(folder) is None:  # else another process was faster, with the same result
            raise


def _remove_abandoned(parent: Path) -> None:
    """What a killed process of this machine left behind."""
    for path in parent.glob(f".*.{socket.gethostname()}.*.partial"):
        pid = int(path.name.split(".")[-2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except PermissionError:
            pass


def _write(folder: Path, source: Source, segmentation: Segmentation, fingerprint: str, report: Report) -> None:
    vocabulary = Vocabulary(source.respell)
    first_with_text: dict[bytes, tuple[str, str]] = {}
    shared: list[tuple[str, str]] = []
    for split, documents in source.splits.items():
        starts, names = array("q", [0]), []
        with (folder / f"{split}.words.i32").open("wb") as file:
            for document in documents:
                num_words, digest = _write_words(file, _reported(document, split, report), vocabulary, segmentation)
                starts.append(starts[-1] + num_words)
                names.append(document.name)
                first = first_with_text.setdefault(digest, (split, document.name))
                if num_words and first[0] != split:
                    shared.append((f"{first[0]}/{first[1]}", f"{split}/{document.name}"))
        if starts[-1] == 0:
            raise UserError(f"{source.name}: the {split} split holds no words; give it some text")
        (folder / f"{split}.document_starts.i64").write_bytes(starts)
        # in ASCII, as a file's name may hold bytes that are no UTF-8
        (folder / f"{split}.documents.json").write_text(json.dumps(names), "ascii")
    report("spelling words", 0)
    meta = vocabulary.finish(folder, tuple(source.splits), source.min_character_count)
    meta |= {"format": FORMAT_VERSION, "name": source.name, "fingerprint": fingerprint, "shared_documents": shared}
    meta["bytes"] = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    (folder / META).write_text(json.dumps(meta), "ascii")


def _write_words(
    file: IO[bytes], pieces: Iterator[str], vocabulary: Vocabulary, segmentation: Segmentation
) -> tuple[int, bytes]:
    """Append a document's words as type ids; returns their number and a digest of them."""
    num_words, digest, ids = 0, hashlib.blake2b(digest_size=16), array("i")
    for line in word_lines(pieces, segmentation):
        ids.extend(map(vocabulary.id_of.__getitem__, line))
        if len(ids) >= WORDS_PER_WRITE:
            num_words += len(ids)
            digest.update(ids)
            file.write(ids)
            ids = array("i")
    digest.update(ids)
    file.write(ids)
    return num_words + len(ids), digest.digest()


def _reported(document: Document, split: str, report: Report) -> Iterator[str]:
    for piece in document.pieces:
        yield piece
        report(f"reading {split}", len(piece))
