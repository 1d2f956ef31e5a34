"""The corpora by name and by path: the paper's numbers exactly, and folders of every shape."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.made_corpora import words_of
from wordmint.corpora.catalogue import MWC_NAMES, NAMES, find_sources, name_of_download
from wordmint.corpora.corpus import Corpus
from wordmint.corpora.demo import demo
from wordmint.corpora.figure import new_word_frequencies
from wordmint.corpora.mwc import LANGUAGES
from wordmint.corpora.prepare import prepare
from wordmint.corpora.source import RARE_BELOW, SPLITS
from wordmint.corpora.statistics import corpus_statistics
from wordmint.corpora.tables import as_json
from wordmint.errors import UserError
from wordmint.text.documents import Encoding

UTF8 = Encoding()


def table(corpus: Corpus) -> dict[str, dict[str, Any]]:
    """Each statistic with its values for train, valid and test."""
    columns = corpus_statistics(corpus).splits
    present = {split: asdict(column) for split, column in columns.items() if column is not None}
    fields = next(iter(present.values()))
    return {field: {split: column[field] for split, column in present.items()} for field in fields}


def in_order(values: dict[str, Any]) -> list[Any]:
    return [values[split] for split in SPLITS]


def prepared(name_or_path: str | Path, data: Path | None = None) -> Corpus:
    (source,) = find_sources(str(name_or_path), data, UTF8)
    return prepare(source)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


# The Penn Treebank: everything is known exactly.


@pytest.mark.needs_data("ptb")
def test_ptb_is_the_papers_table_1(shared_data: Path) -> None:
    corpus = prepared("ptb", shared_data)
    found = {field: in_order(values) for field, values in table(corpus).items()}
    assert found == {
        "character_types": [50, 50, 48],
        "word_types": [10_000, 6_022, 6_049],
        "oov_rate": [None, 0.0, 0.0],
        "tokens": [929_589, 73_760, 82_430],
        "characters": [4_927_442, 386_072, 432_835],
        "dummies": [0, 0, 0],
    }
    assert len(new_word_frequencies(corpus)) == 0
    types = {corpus.word(type_id) for type_id in range(corpus.num_types)}
    assert "UNK" in types
    assert "<unk>" not in types
    assert [split.num_dummies for split in corpus.splits.values()] == [0, 0, 0]


@pytest.mark.needs_data("ptb")
def test_ptb_words_are_those_of_the_file_with_unk_respelled(shared_data: Path) -> None:
    corpus = prepared("ptb", shared_data)
    lines = (shared_data / "ptb.test.txt").read_text("utf-8").split("\n")[:-1]
    expected = [word.replace("<unk>", "UNK") for line in lines for word in [*line.split(), "\n"]]
    assert words_of(corpus, "test") == expected
    assert expected.count("UNK") == 4_794


def test_unk_is_an_ordinary_word_of_ptb(tmp_path: Path) -> None:
    folder = write(tmp_path, {"ptb.train.txt": " a <unk> b \n <unk> \n", "ptb.valid.txt": " <unk> N \n"})
    corpus = prepared("ptb", folder)
    assert words_of(corpus, "train") == ["a", "UNK", "b", "\n", "UNK", "\n"]
    assert table(corpus)["characters"]["train"] == len("a UNK b\nUNK\n")
    assert table(corpus)["oov_rate"]["valid"] == pytest.approx(1 / 3)


# WikiText-2: what can be known without its training file.


@pytest.mark.needs_data("wikitext-2")
def test_wikitext2_has_the_papers_counts(shared_data: Path) -> None:
    found = table(prepared("wikitext-2", shared_data))
    assert found["tokens"] == {"valid": 217_646, "test": 245_569}
    assert found["characters"] == {"valid": 1_138_523, "test": 1_281_303}
    assert found["oov_rate"] == {"valid": None, "test": None}


@pytest.mark.needs_data("wikitext-2")
def test_wikitext2_characters_are_counted_as_the_reference_says(shared_data: Path) -> None:
    lines = (shared_data / "wiki.test.raw").read_text("utf-8").split("\n")[:-1]
    assert sum(len(" ".join(line.split())) + 1 for line in lines) == 1_281_303


def test_rare_characters_of_wikitext2_become_the_dummy(tmp_path: Path) -> None:
    folder = write(tmp_path, {f"wiki.{split}.raw": "a" * RARE_BELOW + f" {split}\u014d\n" for split in SPLITS})
    corpus = prepared("wikitext-2", folder)
    assert corpus.alphabet.characters == ("\n", "a")
    assert words_of(corpus, "test") == ["a" * RARE_BELOW, "\ufffd" * 5, "\n"]


# The stand-ins for the MWC: measured once, and close in kind to the paper's rows.


@pytest.mark.needs_data("dewiki")
def test_dewiki_is_close_in_kind_to_the_papers_german(shared_data: Path) -> None:
    corpus = prepared(shared_data)
    found = {field: in_order(values) for field, values in table(corpus).items()}
    assert found["characters"] == [11_185_167, 1_084_333, 1_214_820]
    assert found["tokens"] == [1_633_577, 158_980, 178_155]
    assert found["word_types"] == [216_056, 36_360, 41_811]
    assert found["character_types"] == [100, 99, 99]
    assert found["oov_rate"][1:] == pytest.approx([0.11649, 0.12401], abs=1e-5)
    assert [len(corpus.splits[split].document_names) for split in SPLITS] == [300, 30, 30]
    assert corpus.shared_documents == []
    statistics = corpus_statistics(corpus)
    assert statistics.heaps.exponent == pytest.approx(0.815, abs=0.001)
    assert statistics.burstiness is not None
    assert statistics.burstiness.ratio is not None
    assert statistics.burstiness.ratio > 50


@pytest.mark.needs_data("wiki7")
def test_wiki7_has_a_sane_row_a_language(shared_data: Path) -> None:
    corpora = [prepare(source) for source in find_sources(str(shared_data), None, UTF8)]
    assert [corpus.name for corpus in corpora] == sorted(LANGUAGES)
    rows = {corpus.name: table(corpus) for corpus in corpora}
    for row in rows.values():
        assert 280_000 < row["characters"]["train"] < 510_000
        for split in ("valid", "test"):
            assert 0.2 < row["oov_rate"][split] < 0.5  # 0.5 MB of train: far above the paper's 5 to 8 %
            assert row["character_types"][split] < row["character_types"]["train"] < 150
            assert 20_000 < row["characters"][split] < 85_000
    for analytic, agglutinative in (("en", "fi"), ("fr", "fi"), ("es", "cs"), ("en", "ru")):
        assert rows[analytic]["oov_rate"]["test"] < rows[agglutinative]["oov_rate"]["test"]
    assert rows["en"]["character_types"]["train"] < rows["ru"]["character_types"]["train"]


# The embedded corpus.


@pytest.fixture(scope="module")
def demo_corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDMINT_HOME", str(tmp_path_factory.mktemp("demo-home")))
        yield prepare(demo())


def test_the_demo_is_two_million_characters_of_text_with_new_words(demo_corpus: Corpus) -> None:
    found = table(demo_corpus)
    assert 1_600_000 < sum(found["characters"].values()) < 2_500_000
    assert found["characters"]["train"] > 4 * (found["characters"]["valid"] + found["characters"]["test"])
    for split in ("valid", "test"):
        assert found["characters"][split] > 80_000
        assert 0.05 < found["oov_rate"][split] < 0.15


def test_the_demo_is_split_by_document(demo_corpus: Corpus) -> None:
    names = {split: set(demo_corpus.splits[split].document_names) for split in SPLITS}
    assert not names["train"] & names["valid"]
    assert not names["train"] & names["test"]
    assert not names["valid"] & names["test"]
    everything = set.union(*names.values())
    assert {"argparse.py", "json/decoder.py", "topics/operator-summary"} <= everything
    assert not any("site-packages" in name or name.startswith(("test/", "idlelib/")) for name in everything)
    assert demo_corpus.shared_documents == []


def test_the_demo_is_english_that_comes_in_bursts(demo_corpus: Corpus) -> None:
    statistics = corpus_statistics(demo_corpus)
    assert statistics.heaps.exponent is not None
    assert 0.6 < statistics.heaps.exponent < 0.9
    assert statistics.burstiness is not None
    assert statistics.burstiness.ratio is not None
    assert statistics.burstiness.ratio > 10
    assert "the" in words_of(demo_corpus, "test")


def test_the_demo_is_the_same_in_another_process(demo_corpus: Corpus, tmp_path: Path) -> None:
    script = (
        "from wordmint.corpora.demo import demo\nfrom wordmint.corpora.prepare import prepare\n"
        "from wordmint.corpora.statistics import corpus_statistics\nfrom wordmint.corpora.tables import as_json\n"
        "corpus = prepare(demo())\nprint(corpus.fingerprint)\nprint(as_json([corpus_statistics(corpus)]))\n"
    )
    settings = {"WORDMINT_HOME": str(tmp_path), "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    output = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | settings, capture_output=True, check=True, encoding="utf-8"
    ).stdout
    fingerprint, statistics = output.splitlines()
    assert fingerprint == demo_corpus.fingerprint
    assert json.loads(statistics) == json.loads(as_json([corpus_statistics(demo_corpus)]))


# The Multilingual Wikipedia Corpus, as it was released.


def write_mwc(folder: Path, languages: tuple[str, ...]) -> Path:
    for language in languages:
        for kind, text in (("ptb_format", "small"), ("ptb_format_large", "large")):
            for short in ("tr", "va", "te"):
                name = f"wiki_{language}/{kind}/wiki_{language}.{short}.raw.unk"
                write(folder, {name: f"{text} {short} {language} \u2047\n"})
    return folder


@pytest.mark.parametrize(("suffix", "size"), [("", "small"), ("-large", "large")])
def test_the_mwc_is_a_corpus_a_language_in_the_papers_order(tmp_path: Path, suffix: str, size: str) -> None:
    sources = find_sources(f"mwc{suffix}", write_mwc(tmp_path, LANGUAGES), UTF8)
    assert [source.name for source in sources] == [
        f"mwc-{language}{suffix}" for language in ("en", "fr", "de", "es", "cs", "fi", "ru")
    ]
    for source, language in zip(sources, LANGUAGES, strict=True):
        corpus = prepare(source)
        for split, short in zip(SPLITS, ("tr", "va", "te"), strict=True):
            # its rare characters are replaced already: no further one becomes the dummy
            assert words_of(corpus, split) == [size, short, language, "\u2047", "\n"]


def test_an_mwc_that_lacks_a_language_has_the_others(tmp_path: Path) -> None:
    folder = write_mwc(tmp_path, ("ru", "en"))
    assert [source.name for source in find_sources("mwc", folder, UTF8)] == ["mwc-en", "mwc-ru"]
    assert [source.name for source in find_sources("mwc-ru-large", folder, UTF8)] == ["mwc-ru-large"]
    with pytest.raises(UserError, match="holds no language of the MWC; wiki_fi would be"):
        find_sources("mwc-fi", folder, UTF8)


def test_an_mwc_that_lacks_a_size_says_so(tmp_path: Path) -> None:
    folder = write_mwc(tmp_path, ("en",))
    for path in (folder / "wiki_en" / "ptb_format_large").iterdir():
        path.unlink()
    with pytest.raises(UserError, match=r"no file of mwc-en-large here; wiki_en\.\{tr,va,te\}\.raw\.unk are expected"):
        find_sources("mwc-large", folder, UTF8)


def test_the_articles_of_the_mwc_are_documents(tmp_path: Path) -> None:
    write(tmp_path, {f"wiki_{language}/te/Q7": "rare" for language in ("fr", "en")})
    write(tmp_path, {"wiki_en/tr/Q42": "a" * RARE_BELOW, "wiki_en/tr/Q1": "a a\n", "wiki_en/va/Q2": "b"})
    english, french = find_sources("mwc-articles", tmp_path, UTF8)
    assert (english.name, french.name) == ("mwc-en-articles", "mwc-fr-articles")
    corpus = prepare(english)
    assert {name: split.document_names for name, split in corpus.splits.items()} == {
        "train": ["Q1", "Q42"],
        "valid": ["Q2"],
        "test": ["Q7"],
    }
    assert words_of(corpus, "test") == ["\ufffda\ufffd\ufffd", "\n"]  # raw: its rare characters become the dummy here
    assert [source.name for source in find_sources("mwc-fr-articles", tmp_path, UTF8)] == ["mwc-fr-articles"]
    with pytest.raises(UserError, match="wiki_de: no articles of the MWC here; tr, va and te would be"):
        find_sources("mwc-de-articles", write_mwc(tmp_path, ("de",)), UTF8)


def test_released_files_may_be_compressed(tmp_path: Path) -> None:
    folder = tmp_path / "wiki_en" / "ptb_format"
    folder.mkdir(parents=True)
    (folder / "wiki_en.tr.raw.unk.gz").write_bytes(gzip.compress(b"one\n"))
    (folder / "wiki_en.te.raw.unk.xz").write_bytes(lzma.compress(b"two\n"))
    corpus = prepared("mwc-en", tmp_path)
    assert {split: words_of(corpus, split) for split in corpus.splits} == {
        "train": ["one", "\n"],
        "test": ["two", "\n"],
    }


# Names.


def test_the_names_are_those_in_the_help() -> None:
    assert NAMES[:4] == ("demo", "ptb", "wikitext-2", "mwc")
    assert {"mwc-en", "mwc-large", "mwc-ru-large", "mwc-articles", "mwc-fi-articles"} <= set(MWC_NAMES)
    assert len(MWC_NAMES) == 3 * (1 + len(LANGUAGES))
    assert [source.name for source in find_sources("demo", None, UTF8)] == ["demo"]


@pytest.mark.parametrize("name", ["ptb", "wikitext-2", "mwc", "mwc-de", "mwc-de-large", "mwc-articles"])
def test_a_corpus_that_was_not_fetched_says_how(name: str, wordmint_home: Path, tmp_path: Path) -> None:
    corpus = "mwc" if name.startswith("mwc") else name
    with pytest.raises(UserError) as raised:
        find_sources(name, None, UTF8)
    assert str(wordmint_home / "downloads" / corpus) in str(raised.value)
    assert f"run `wordmint corpus fetch {corpus}`, or point --data at your copy" in str(raised.value)
    with pytest.raises(UserError, match="name a folder that exists"):
        find_sources(name, tmp_path / "nowhere", UTF8)


@pytest.mark.parametrize(
    ("name", "fetched"), [("ptb", "ptb"), ("wikitext2", "wikitext-2"), ("mwc-en", "mwc"), ("mwc-ru-articles", "mwc")]
)
def test_what_is_fetched_for_a_name(name: str, fetched: str) -> None:
    assert name_of_download(name) == fetched


@pytest.mark.parametrize("name", ["demo", "folder"])
def test_data_is_not_ignored_where_it_says_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, {"folder/train.txt": "a"}))
    with pytest.raises(UserError, match=rf"^--data there: .* and {name} is none of them; leave it away, or name"):
        find_sources(name, Path("there"), UTF8)


@pytest.mark.parametrize("name", ["ptb-large", "demo-large", "mwc-xx", "mwc-en-fr", "penn", ""])
def test_a_name_that_is_none(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError):
        find_sources(name, None, UTF8)


def test_a_folder_without_the_corpus_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no file of ptb here; ptb\.\{train,valid,test\}\.txt are expected"):
        find_sources("ptb", tmp_path, UTF8)


# Any folder.


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "valid.txt", "test.txt"),
        ("train", "dev", "test"),
        ("train.txt", "val.txt", "test.txt"),
        ("training.raw", "validation.raw", "test.raw"),
        ("corpus.train.txt", "corpus.dev.txt", "corpus.test.txt"),
        ("my-train.txt", "my_valid.txt", "my.test.txt"),
        ("train/a.txt", "dev/b/c.txt", "test/d.txt"),
        ("x.tr.raw", "x.va.raw", "x.te.raw"),
        ("train.jsonl", "valid.txt", "test/a.ndjson"),
    ],
)
def test_splits_by_name(tmp_path: Path, names: tuple[str, str, str]) -> None:
    for name, split in zip(names, SPLITS, strict=True):
        write(tmp_path / "c", {name: json.dumps({"text": split}) if "json" in name else split, "README": "not a split"})
    corpus = prepared(tmp_path / "c")
    assert corpus.name == "c"
    assert {split: "".join(words_of(corpus, split)) for split in corpus.splits} == {
        split: "\ufffd" * len(split) + "\n" for split in SPLITS
    }


def test_compressed_splits(tmp_path: Path) -> None:
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(b"a" * RARE_BELOW))
    (tmp_path / "test.jsonl.xz").write_bytes(lzma.compress(b'{"text": "aa"}'))
    corpus = prepared(tmp_path)
    assert words_of(corpus, "test") == ["aa", "\n"]


def test_hidden_files_and_likely_names_are_no_splits(tmp_path: Path) -> None:
    folder = write(tmp_path, {"train.txt": "a", ".test.txt": "b", "contest.txt": "c", "training-notes/x": "d"})
    (source,) = find_sources(str(folder), None, UTF8)
    assert list(source.splits) == ["train"]


def test_the_plain_name_wins_over_a_longer_one(tmp_path: Path) -> None:
    folder = write(tmp_path, {"train.txt": "a", "wiki.train.first.txt": "b"})
    (source,) = find_sources(str(folder), None, UTF8)
    assert [name for name, _ in source.splits["train"].files] == ["train.txt"]


@pytest.mark.parametrize("names", [("valid.txt", "dev.txt"), ("a.test.txt", "b.test.txt"), ("train.txt", "train/a")])
def test_two_files_for_a_split_are_a_mistake(tmp_path: Path, names: tuple[str, str]) -> None:
    folder = write(tmp_path, dict.fromkeys(names, "a"))
    with pytest.raises(UserError, match=r" and .* could each be the (train|valid|test) split; leave one of them here"):
        find_sources(str(folder), None, UTF8)


def test_a_folder_of_corpora_is_each_of_them(tmp_path: Path) -> None:
    folder = write(tmp_path, {"fr/train.txt": "a", "en/train/x": "b", "notes/readme": "c", "log.txt": "d"})
    assert [source.name for source in find_sources(str(folder), None, UTF8)] == ["en", "fr"]


def test_a_language_is_no_split(tmp_path: Path) -> None:
    """tr is Turkish and te Telugu: their folders and files are parts of no train/test split."""
    folder = write(tmp_path / "wiki", {f"{language}/{split}.txt": "a" for language in ("te", "tr") for split in SPLITS})
    sources = find_sources(str(folder), None, UTF8)
    assert [(source.name, list(source.splits)) for source in sources] == [("te", [*SPLITS]), ("tr", [*SPLITS])]
    folder = write(tmp_path / "novels", {"novel.tr": "a", "te.txt": "b", "en.txt": "c"})
    (source,) = find_sources(str(folder), None, UTF8)
    assert {split: len(documents.files) for split, documents in source.splits.items()} == {"train": 3}


def test_a_folder_of_files_alone_is_train(tmp_path: Path) -> None:
    folder = write(tmp_path / "novels", {"b.txt": "b", "a.txt": "a", ".hidden/x": "c"})
    (source,) = find_sources(str(folder), None, UTF8)
    assert source.name == "novels"
    assert [(split, [name for name, _ in documents.files]) for split, documents in source.splits.items()] == [
        ("train", ["a.txt", "b.txt"])
    ]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
def test_a_device_is_no_corpus() -> None:
    with pytest.raises(UserError, match=r"^/dev/zero: a device or a socket; a corpus is a file or a folder"):
        find_sources("/dev/zero", None, UTF8)


def test_a_file_is_a_corpus_of_train_alone(tmp_path: Path) -> None:
    corpus = prepared(write(tmp_path, {"novel.txt": "a" * RARE_BELOW}) / "novel.txt")
    assert corpus.name == "novel.txt"
    assert list(corpus.splits) == ["train"]


def test_a_folder_without_a_split_says_what_is_looked_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", {"a.txt": "a", "b/c.txt": "b"})
    with pytest.raises(UserError, match=r"c: no train, valid or test file or folder in it \(train\.txt, valid/"):
        find_sources(str(folder), None, UTF8)


def test_an_empty_split_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    with pytest.raises(UserError, match="train: the folder holds no files"):
        find_sources(str(tmp_path), None, UTF8)


def test_the_encoding_reaches_the_files(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes("é".encode("latin-1") * RARE_BELOW)
    (source,) = find_sources(str(tmp_path), None, Encoding("latin-1"))
    assert words_of(prepare(source, Encoding("latin-1")), "train") == ["é" * RARE_BELOW, "\n"]
