"""Prepared corpora: what is in them, when they are made again, and what never breaks them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.made_corpora import made_corpus, made_source, words_of, write_texts
from tests.reference import corpus as reference
from tests.reference import words as reference_words
from tests.text_strategies import ODD_WORDS, simple_texts, texts
from wordmint.corpora import vocabulary
from wordmint.corpora.corpus import LINE_END_ID, META, Corpus, open_corpus
from wordmint.corpora.prepare import prepare
from wordmint.corpora.source import RARE_BELOW, SPLITS, Source
from wordmint.errors import UserError
from wordmint.text.documents import Encoding, find_documents
from wordmint.text.words import join

documents = st.dictionaries(st.sampled_from(["a.txt", "b.txt", "c/d.txt"]), st.one_of(texts, simple_texts), min_size=1)
splits = documents.filter(lambda named: any(text.strip() or "\n" in text for text in named.values()))
corpora = (
    st.fixed_dictionaries({}, optional=dict.fromkeys(SPLITS, splits))
    .filter(bool)
    .map(lambda given: {split: given[split] for split in SPLITS if split in given})
)


def prepare_texts(given: reference.Texts, min_character_count: int, respell: dict[str, str]) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        return prepare(made_source(Path(folder), given, min_character_count, respell))


# What is in it.


@given(corpora, st.integers(1, 6), st.sampled_from([{}, {"a": "b"}, {"ab": "xyz", "b": "de"}]))
@example({"train": {"a.txt": "xa ya"}, "test": {"a.txt": "za xa ya w ww"}}, 4, {})
@settings(deadline=None, max_examples=60)
def test_a_prepared_corpus_is_that_of_the_slow_twin(
    given: reference.Texts, min_character_count: int, respell: dict[str, str]
) -> None:
    slow = reference.prepare(given, min_character_count, respell)
    corpus = prepare_texts(given, min_character_count, respell)
    assert list(corpus.alphabet.characters) == slow.characters
    assert [corpus.word(type_id) for type_id in range(corpus.num_types)] == slow.types
    assert list(corpus.splits) == list(given)
    for name, split in corpus.splits.items():
        expected = slow.splits[name]
        assert split.words.tolist() == slow.ids(name)
        assert split.document_starts.tolist() == expected.document_starts
        assert split.document_names == expected.document_names
        assert split.num_characters == len(join(expected.words)) == len(reference_words.join(expected.words))
        assert split.num_dummies == "".join(expected.words).count(reference.DUMMY)


@given(corpora, st.integers(1, 6))
@settings(deadline=None, max_examples=30)
def test_blocks_and_batches_leave_no_seam(given: reference.Texts, min_character_count: int) -> None:
    slow = reference.prepare(given, min_character_count, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "TYPES_PER_BATCH", 3)
        patch.setattr(vocabulary, "WORDS_PER_BLOCK", 4)
        corpus = prepare_texts(given, min_character_count, {})
    assert [corpus.word(type_id) for type_id in range(corpus.num_types)] == slow.types
    for name, split in corpus.splits.items():
        assert split.words.tolist() == slow.ids(name)
        assert split.num_characters == len(reference_words.join(slow.splits[name].words))


def test_words_that_differ_in_rare_characters_alone_become_one_type(tmp_path: Path) -> None:
    common = "a" * RARE_BELOW
    corpus = made_corpus(tmp_path, RARE_BELOW, train=f"{common} aá aà b\n", test="aâ c ba\n")
    assert words_of(corpus, "train") == [common, "a\ufffd", "a\ufffd", "\ufffd", "\n"]
    assert words_of(corpus, "test") == ["a\ufffd", "\ufffd", "\ufffda", "\n"]
    assert corpus.num_types == 5
    assert (corpus.splits["train"].num_dummies, corpus.splits["test"].num_dummies) == (3, 3)


@pytest.mark.parametrize(("count", "is_known"), [(RARE_BELOW - 1, False), (RARE_BELOW, True)])
def test_a_character_is_rare_by_its_count_in_all_splits(tmp_path: Path, count: int, is_known: bool) -> None:
    corpus = made_corpus(tmp_path, RARE_BELOW, train="z " * (count - 1) + "a", test="z")
    assert ("z" in corpus.alphabet.characters) == is_known
    assert words_of(corpus, "test") == ["z" if is_known else "\ufffd", "\n"]


def test_the_line_end_is_type_0_wherever_it_comes(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train="a", test="\n\nb")
    assert corpus.word(LINE_END_ID) == "\n"
    assert corpus.splits["train"].words.tolist() == [1, 0]
    assert corpus.splits["test"].words.tolist() == [0, 0, 2, 0]


def test_respelling_makes_one_type(tmp_path: Path) -> None:
    given = {"train": {"a": "<unk> UNK a<unk>"}}
    corpus = prepare(made_source(tmp_path, given, respell={"<unk>": "UNK"}))
    assert words_of(corpus, "train") == ["UNK", "UNK", "a<unk>", "\n"]
    assert corpus.splits["train"].words.tolist() == [1, 1, 2, 0]
    assert corpus.splits["train"].num_characters == len("UNK UNK a<unk>\n")


def test_documents_that_two_splits_share_are_listed(tmp_path: Path) -> None:
    given = {
        "train": {"a": "same text\n", "b": "same text\n", "c": "other\n", "empty": ""},
        "valid": {"d": "same   text", "empty": ""},
        "test": {"c": "another\n", "e": "new\n", "f": "other\n"},
    }
    corpus = prepare(made_source(tmp_path, given))
    assert corpus.shared_documents == [("train/a", "valid/d"), ("train/c", "test/f")]


def test_empty_documents_keep_their_place(tmp_path: Path) -> None:
    corpus = prepare(made_source(tmp_path, {"train": {"a": "", "b": "x", "c": " \t"}}))
    assert corpus.splits["train"].document_starts.tolist() == [0, 0, 2, 2]
    assert corpus.splits["train"].document_names == ["a", "b", "c"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("text", ["", " \t\r \u2028"], ids=["empty", "white space"])
def test_a_split_without_words_is_a_mistake(tmp_path: Path, wordmint_home: Path, split: str, text: str) -> None:
    given = {name: {"a.txt": text if name == split else "word"} for name in SPLITS}
    with pytest.raises(UserError, match=f"^made: the {split} split holds no words"):
        prepare(made_source(tmp_path, given))
    assert list((wordmint_home / "prepared").iterdir()) == []


def test_unreadable_text_leaves_nothing_behind(tmp_path: Path, wordmint_home: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"fine\n" * 1000 + b"\xff\n")
    with pytest.raises(UserError, match=r"a\.txt:1001: not utf-8 at byte 5000"):
        prepare(Source("made", {"train": find_documents(tmp_path)}))
    assert list((wordmint_home / "prepared").iterdir()) == []


# When it is made.


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())}


def prepared_folder(corpus: Corpus) -> Path:
    return corpus.splits["train"].folder


def test_preparing_again_opens_what_is_there(tmp_path: Path) -> None:
    first = made_corpus(tmp_path, train="a b\n", test="c")
    before = state_of(prepared_folder(first))
    again = made_corpus(tmp_path, train="a b\n", test="c")
    assert state_of(prepared_folder(again)) == before
    assert again.fingerprint == first.fingerprint
    assert words_of(again, "test") == words_of(first, "test")


def test_the_same_text_elsewhere_is_the_same_corpus(tmp_path: Path) -> None:
    one, other = made_corpus(tmp_path / "one", train="a"), made_corpus(tmp_path / "other", train="a")
    assert one.fingerprint == other.fingerprint


def changed_sources(source: Source, folder: Path) -> Iterator[tuple[str, Source, Encoding]]:
    """Sources that each differ in one thing, each with its own copy of the texts where it has to."""
    utf8 = Encoding()

    def with_texts(name: str, texts: reference.Texts) -> Source:
        write_texts(folder / name, texts)
        return replace(source, splits={split: find_documents(folder / name / split) for split in texts})

    yield "nothing", source, utf8
    yield "a byte", with_texts("byte", {"train": {"a": "x y\n", "b": "z"}, "test": {"c": "v"}}), utf8
    yield "a document's name", with_texts("name", {"train": {"A": "x y\n", "b": "z"}, "test": {"c": "w"}}), utf8
    yield "names exchanged", with_texts("swap", {"train": {"a": "z", "b": "x y\n"}, "test": {"c": "w"}}), utf8
    yield "another border", with_texts("border", {"train": {"a": "x y", "b": "\nz"}, "test": {"c": "w"}}), utf8
    yield "another split", with_texts("split", {"train": {"a": "x y\n"}, "test": {"b": "z", "c": "w"}}), utf8
    yield "valid for test", with_texts("valid", {"train": {"a": "x y\n", "b": "z"}, "valid": {"c": "w"}}), utf8
    yield "the corpus's name", replace(source, name="other"), utf8
    yield "the rare rule", replace(source, min_character_count=2), utf8
    yield "respelling", replace(source, respell={"x": "y"}), utf8
    yield "a setting", replace(source, settings={"python": "3"}), utf8
    yield "the encoding", source, Encoding("latin-1")
    yield "what to do with errors", source, Encoding(errors="replace")


def test_any_change_gives_another_fingerprint(tmp_path: Path) -> None:
    source = made_source(tmp_path, {"train": {"a": "x y\n", "b": "z"}, "test": {"c": "w"}})
    fingerprints = {
        what: prepare(changed, encoding).fingerprint for what, changed, encoding in changed_sources(source, tmp_path)
    }
    assert len(set(fingerprints.values())) == len(fingerprints), fingerprints


def test_a_changed_file_is_seen_even_with_its_old_time_and_size(tmp_path: Path) -> None:
    before = made_corpus(tmp_path, train="a b c")
    path = tmp_path / "train" / "a.txt"
    times = path.stat()
    path.write_text("a b d")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = prepare(Source("made", {"train": find_documents(tmp_path / "train")}, 1))
    assert words_of(before, "train") == ["a", "b", "c", "\n"]
    assert words_of(after, "train") == ["a", "b", "d", "\n"]


FILES = (
    "meta.json",
    "spellings.i32",
    "spelling_starts.i64",
    "train.words.i32",
    "train.document_starts.i64",
    "train.documents.json",
)


@pytest.mark.parametrize("damaged", FILES)
@pytest.mark.parametrize("how", ["truncated", "emptied", "removed"])
def test_a_damaged_corpus_is_made_again(tmp_path: Path, damaged: str, how: str) -> None:
    corpus = made_corpus(tmp_path, train="a b\nc d\n")
    whole = words_of(corpus, "train")
    folder = prepared_folder(corpus)
    path = folder / damaged
    content = path.read_bytes()
    if how == "removed":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2] if how == "truncated" else b"")
    assert open_corpus(folder) is None
    again = made_corpus(tmp_path, train="a b\nc d\n")
    assert prepared_folder(again) == folder
    assert words_of(again, "train") == whole
    assert path.read_bytes() == content


def test_the_files_are_those_that_the_format_names(tmp_path: Path) -> None:
    folder = prepared_folder(made_corpus(tmp_path, train="a"))
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


def test_a_corpus_of_another_format_is_made_again(tmp_path: Path) -> None:
    folder = prepared_folder(made_corpus(tmp_path, train="a"))
    meta = folder / META
    meta.write_text(meta.read_text().replace('"format": ', '"format": 9'))
    assert open_corpus(folder) is None
    assert words_of(made_corpus(tmp_path, train="a"), "train") == ["a", "\n"]


@pytest.mark.parametrize(
    "content",
    ["[]", "7", '"format"', "null", '{"format": 1, "bytes": []}', '{"format": 1, "bytes": {}}', '{"format": 1}'],
)
def test_a_description_of_something_else_is_made_again(tmp_path: Path, content: str) -> None:
    folder = prepared_folder(made_corpus(tmp_path, train="a"))
    (folder / META).write_text(content)
    assert open_corpus(folder) is None
    assert words_of(made_corpus(tmp_path, train="a"), "train") == ["a", "\n"]


@pytest.mark.parametrize("name", ["n" * 255, "名" * 85, os.fsdecode(b"\xe4" * 255)], ids=["ascii", "wide", "no utf-8"])
def test_a_long_name_is_shortened_in_the_folders_name_alone(tmp_path: Path, name: str) -> None:
    source = made_source(tmp_path, {"train": {"a": "b"}})
    one, other = prepare(replace(source, name=name)), prepare(replace(source, name=f"{name[:-1]}x"))
    assert (one.name, other.name) == (name, f"{name[:-1]}x")
    assert prepared_folder(one) != prepared_folder(other)
    assert prepared_folder(prepare(replace(source, name=name))) == prepared_folder(one)


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_a_killed_process_left_is_removed_and_what_others_write_is_kept(
    tmp_path: Path, wordmint_home: Path
) -> None:
    here, prepared = socket.gethostname(), wordmint_home / "prepared"
    dead = prepared / f".made-0123.{here}.{dead_process()}.partial"
    alive = prepared / f".made-0123.{here}.{os.getppid()}.partial"
    elsewhere = prepared / f".made-0123.{here}x.{dead_process()}.partial"
    for partial in (dead, alive, elsewhere):
        partial.mkdir(parents=True)
        (partial / "train.words.i32").write_bytes(b"1234")
    folder = prepared_folder(made_corpus(tmp_path, train="a"))
    assert sorted(prepared.iterdir()) == sorted([alive, elsewhere, folder])


def test_what_an_earlier_process_of_the_same_number_left_is_no_hindrance(tmp_path: Path, wordmint_home: Path) -> None:
    folder = prepared_folder(made_corpus(tmp_path, train="a"))
    partial = folder.with_name(f".{folder.name}.{socket.gethostname()}.{os.getpid()}.partial")
    folder.rename(partial)
    assert words_of(made_corpus(tmp_path, train="a"), "train") == ["a", "\n"]
    assert [path.name for path in (wordmint_home / "prepared").iterdir()] == [folder.name]


def test_a_home_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORDMINT_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"preparing made failed.*WORDMINT_HOME") as raised:
        made_corpus(tmp_path / "corpus", train="a")
    assert "free some space" not in str(raised.value)  # which would not help


def test_a_source_whose_file_is_gone(tmp_path: Path) -> None:
    source = made_source(tmp_path, {"train": {"a.txt": "a"}})
    (tmp_path / "train" / "a.txt").unlink()
    with pytest.raises(UserError, match=r"a\.txt: cannot be read \(No such file or directory\)"):
        prepare(source)


def test_every_character_read_is_reported(tmp_path: Path) -> None:
    reports: list[tuple[str, int]] = []
    source = made_source(tmp_path, {"train": {"a": "x y\n", "b": "zé"}, "test": {"c": "w"}})
    prepare(source, report=lambda what, num_characters: reports.append((what, num_characters)))
    read = {split: sum(n for what, n in reports if what == f"reading {split}") for split in ("train", "test")}
    assert read == {"train": 6, "test": 1}


# What never breaks it.


@pytest.mark.parametrize("word", ODD_WORDS.values(), ids=ODD_WORDS)
def test_odd_words_survive(tmp_path: Path, word: str) -> None:
    corpus = made_corpus(tmp_path, train=f"a {word}\r\n{word}\n", test=f"{word}\u2028{word}")
    assert words_of(corpus, "train") == ["a", word, "\n", word, "\n"]
    assert words_of(corpus, "test") == [word, word, "\n"]


def test_a_hundred_thousand_characters_survive(tmp_path: Path) -> None:
    points = [point for point in [*range(0x10000), *range(0x10000, 0x110000, 16)] if not 0xD800 <= point < 0xE000]
    everything = "".join(chr(point) for point in points if point != 0xFFFD)
    text = "\n".join(everything[begin : begin + 1000] for begin in range(0, len(everything), 1000))
    corpus = made_corpus(tmp_path, train=text)
    assert words_of(corpus, "train") == [word for word, _, _ in reference_words.words(text)]
    assert "".join(corpus.alphabet.characters) == "".join(c for c in sorted(everything) if c == "\n" or not c.isspace())


def test_a_document_whose_name_is_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    corpus = prepare(made_source(tmp_path, {"train": {name: "same"}, "test": {name: "same"}}))
    assert corpus.splits["train"].document_names == [name]
    assert corpus.shared_documents == [(f"train/{name}", f"test/{name}")]


def test_a_word_of_ten_million_characters(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train="a " + "xy" * 5_000_000)
    assert corpus.splits["train"].words.tolist() == [1, 2, 0]
    assert corpus.splits["train"].num_characters == 10_000_003
    assert corpus.word(2) == "xy" * 5_000_000


def test_a_line_of_fifty_million_characters(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train="word and another " * 3_000_000)
    assert corpus.splits["train"].num_characters == 17 * 3_000_000
    assert len(corpus.splits["train"].words) == 9_000_001
    assert corpus.num_types == 4
