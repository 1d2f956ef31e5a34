"""Baselines: the text that they read, compressors that can be undone, and the rows that come of them."""

from __future__ import annotations

import lzma
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyppmd
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made_corpora import made_corpus, words_of
from tests.text_strategies import ODD_WORDS, simple_texts, texts
from wordmint.corpora.corpus import Corpus
from wordmint.errors import UserError
from wordmint.evaluation.baselines import CHARACTER_ORDERS, WORD_ORDERS, Baseline, baselines
from wordmint.evaluation.baselines.compressors import (
    PPMD_MEMORY_BYTES,
    PPMD_ORDERS,
    Compress,
    best_ppmd_order,
    ppmd,
    primed_bits,
    xz,
    zstd,
)
from wordmint.evaluation.baselines.ngrams import CharacterNGrams, WordNGrams
from wordmint.evaluation.baselines.text import characters, utf8
from wordmint.text.words import join

some_text = st.one_of(texts, simple_texts).filter(str.strip)

# The text.


@given(some_text, some_text, st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_compressors_and_ngrams_read_the_normalised_text(train: str, test: str, min_character_count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = made_corpus(Path(folder), min_character_count, train=train, test=test)
    for name, split in corpus.splits.items():
        assert utf8(corpus, split.words) == join(words_of(corpus, name)).encode()
        assert len(characters(corpus, split.words)) == split.num_characters


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
@settings(deadline=None, max_examples=60)
def test_any_words_in_any_order_are_read_as_they_are_joined(words: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = made_corpus(Path(folder), train="a bcd é")
    text = join(corpus.word(word) for word in words)
    assert utf8(corpus, np.array(words, dtype=np.int32)) == text.encode()
    assert len(characters(corpus, np.array(words, dtype=np.int32))) == len(text)


def test_a_picture_of_the_text(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, 2, train="  aa \t bà\r\n\n\n ab", test="ba  bü")
    assert utf8(corpus, corpus.splits["train"].words) == "aa b\ufffd\n\n\nab\n".encode()
    assert utf8(corpus, corpus.splits["test"].words) == "ba b\ufffd\n".encode()
    # dummy 0, end of a word 1, then the line end, a and b
    assert characters(corpus, corpus.splits["train"].words).tolist() == [3, 3, 1, 4, 0, 2, 2, 2, 3, 4, 2]


# Compressors.


def undo_xz(data: bytes, num_bytes: int) -> bytes:
    dictionary = {"id": lzma.FILTER_LZMA2, "dict_size": max(num_bytes, 1 << 12)}
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=[dictionary])


def undo_zstd(data: bytes, _num_bytes: int) -> bytes:
    return zstandard.ZstdDecompressor().decompress(data)


def undo_ppmd(order: int) -> Callable[[bytes, int], bytes]:
    return lambda data, num_bytes: pyppmd.Ppmd8Decoder(order, PPMD_MEMORY_BYTES).decode(data, num_bytes)


def drawn_words(seed: int, num_words: int) -> list[str]:
    """Words from a vocabulary of 300 that all seeds share, in an order that is each seed's own."""
    letters = np.random.default_rng(0).choice(list("etaoinshr"), (300, 6)).tolist()
    vocabulary = ["".join(word[: 2 + place % 5]) for place, word in enumerate(letters)]
    return np.random.default_rng(seed).choice(vocabulary, num_words).tolist()


TEXT = " ".join(drawn_words(1, 600)).encode()
FAR = np.random.default_rng(2).bytes(40_000)  # as far as that, for a window of 16 kB, is out of sight
every_compressor = pytest.mark.parametrize(
    ("compress", "undo"),
    [(xz, undo_xz), (zstd, undo_zstd), *((ppmd(order), undo_ppmd(order)) for order in PPMD_ORDERS)],
    ids=["xz", "zstd", *(f"PPMd {order}" for order in PPMD_ORDERS)],
)
three_compressors = pytest.mark.parametrize("compress", [xz, zstd, ppmd(16)], ids=["xz", "zstd", "PPMd 16"])


@every_compressor
def test_what_is_counted_can_be_decompressed(compress: Compress, undo: Callable[[bytes, int], bytes]) -> None:
    for text in (b"a", b"\n" * 5000, TEXT, TEXT + FAR + TEXT, " ".join(ODD_WORDS.values()).encode()):
        assert undo(compress(text, len(text)), len(text)) == text
        assert undo(compress(text, 2 * len(text)), 2 * len(text))[: len(text)] == text


def test_primed_bits_are_what_the_text_adds_behind_train() -> None:
    seen: list[tuple[bytes, int]] = []

    def distinct(text: bytes, window_bytes: int) -> bytes:
        seen.append((text, window_bytes))
        return bytes(sorted(set(text)))

    assert primed_bits(distinct, b"abc", b"cdeec") == 16.0
    assert seen == [(b"abccdeec", 8), (b"abc", 8)]
    assert primed_bits(lambda text, _window_bytes: text, b"abc", b"cdeec") == 40.0


@three_compressors
def test_a_text_that_train_holds_is_nearly_free_however_far_back(compress: Compress) -> None:
    assert primed_bits(compress, b"x", TEXT) > 8000
    assert primed_bits(compress, TEXT, TEXT) < 500
    assert primed_bits(compress, TEXT + FAR, TEXT) < 500


@pytest.mark.parametrize("compress", [xz, zstd])
def test_the_window_is_what_lets_them_look_back(compress: Compress) -> None:
    assert primed_bits(lambda text, _window_bytes: compress(text, 1 << 14), TEXT + FAR, TEXT) > 8000


@pytest.mark.parametrize("compress", [xz, zstd])
def test_any_window_can_be_asked_for(compress: Compress) -> None:
    assert len(compress(TEXT, 1)) == pytest.approx(len(compress(TEXT, len(TEXT))), rel=0.2)


def test_the_order_of_ppmd_is_the_one_that_suits() -> None:
    coin = bytes(np.random.default_rng(3).choice(list(b"ab"), 6000, p=[0.8, 0.2]).tolist())
    for train, held_out, expected in ((coin[:4000], coin[4000:], 6), (TEXT, TEXT, 16)):
        bits = {order: primed_bits(ppmd(order), train, held_out) for order in PPMD_ORDERS}
        assert best_ppmd_order(train, held_out) == expected
        assert bits[expected] == min(bits.values())
        assert max(bits.values()) > 1.1 * bits[expected]


# The rows.


def lines(words: list[str]) -> str:
    return "".join(" ".join(words[begin : begin + 7]) + "\n" for begin in range(0, len(words), 7))


TRAIN, OTHER = lines(drawn_words(4, 800)), lines(drawn_words(5, 200))
REPEATED = TRAIN[:1000].rsplit("\n", 1)[0]


def rows_of(corpus: Corpus, split: str = "test") -> dict[str, Baseline]:
    return {row.name: row for row in baselines(corpus, split)}


def test_rows_are_the_compressors_that_adapt_and_the_ngrams_that_do_not(tmp_path: Path) -> None:
    reports: list[str] = []
    rows = baselines(made_corpus(tmp_path, train=TRAIN, valid=REPEATED, test=OTHER), "test", reports.append)
    assert [(row.name, row.adapts, row.note) for row in rows] == [
        ("xz", True, "xz -9e, looking back over all of train"),
        ("zstd", True, "zstd --ultra -22, looking back over all of train"),
        ("PPMd", True, "variant I, contexts of up to 10 bytes, chosen on valid"),
        ("character 10-gram", False, "modified Kneser–Ney, order chosen on valid"),
        ("word 5-gram", False, "modified Kneser–Ney, spelled words below, order chosen on valid"),
    ]
    assert reports == [f"{row.name}: {row.bits:,.0f} bits" for row in rows]


def test_bits_are_those_of_the_split_behind_train(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train=TRAIN, valid=REPEATED, test=OTHER)
    train, valid, test = (join(words_of(corpus, split)).encode() for split in ("train", "valid", "test"))
    for split, text in (("test", test), ("valid", valid)):
        words = corpus.splits[split].words
        assert {name: row.bits for name, row in rows_of(corpus, split).items()} == {
            "xz": primed_bits(xz, train, text),
            "zstd": primed_bits(zstd, train, text),
            "PPMd": primed_bits(ppmd(best_ppmd_order(train, valid)), train, text),
            "character 10-gram": CharacterNGrams(corpus).bits(words)[10],
            "word 5-gram": WordNGrams(corpus).bits(words)[5],
        }


def test_orders_are_chosen_on_valid_and_not_on_the_split(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train=TRAIN, valid=OTHER, test=REPEATED)
    by_characters, by_words = CharacterNGrams(corpus).bits, WordNGrams(corpus).bits
    for bits_of, orders, kind in ((by_characters, CHARACTER_ORDERS, "character"), (by_words, WORD_ORDERS, "word")):
        on_valid, on_test = (bits_of(corpus.splits[split].words) for split in ("valid", "test"))
        order = min(orders, key=on_valid.__getitem__)
        assert order < orders[-1]
        assert on_test[order] > min(on_test[order] for order in orders)
        assert rows_of(corpus)[f"{kind} {order}-gram"].bits == on_test[order]


def test_without_valid_the_highest_orders_are_taken_and_it_is_said(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train=TRAIN, test=OTHER)
    notes = {name: row.note for name, row in rows_of(corpus).items()}
    unchosen = "not chosen, for want of a valid split"
    assert list(notes) == ["xz", "zstd", "PPMd", "character 10-gram", "word 5-gram"]
    assert notes["PPMd"] == f"variant I, contexts of up to 16 bytes, {unchosen}"
    assert notes["character 10-gram"] == f"modified Kneser–Ney, order {unchosen}"
    assert notes["word 5-gram"] == f"modified Kneser–Ney, spelled words below, order {unchosen}"


def test_what_train_holds_is_cheap_for_all(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, train=TRAIN, valid=REPEATED, test=OTHER)
    repeated, other = (
        [row.bits / corpus.splits[split].num_characters for row in baselines(corpus, split)]
        for split in ("valid", "test")
    )
    assert all(a < b / 3 for a, b in zip(repeated, other, strict=True))


def test_the_smallest_of_texts_has_all_rows(tmp_path: Path) -> None:
    rows = rows_of(made_corpus(tmp_path, train="\n", valid="\n", test="\n"))
    assert list(rows) == ["xz", "zstd", "PPMd", "character 5-gram", "word 2-gram"]
    assert all(np.isfinite(row.bits) for row in rows.values())


@pytest.mark.parametrize(
    ("module", "name", "others"), [("zstandard", "zstd", ["xz", "PPMd"]), ("pyppmd", "PPMd", ["xz", "zstd"])]
)
def test_a_compressor_that_is_not_installed_is_reported_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, others: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not there: to import it fails
    reports: list[str] = []
    rows = baselines(made_corpus(tmp_path, train="a b\n", test="b\n"), "test", reports.append)
    assert [row.name for row in rows] == [*others, "character 10-gram", "word 5-gram"]
    assert [line for line in reports if not line.endswith(" bits")] == [
        f"{name}: not installed, pip install 'wordmint[baselines]'"
    ]


@pytest.mark.parametrize(
    ("given", "split", "missing"),
    [
        ({"train": "a"}, "test", "test"),
        ({"valid": "a", "test": "b"}, "test", "train"),
        ({"train": "a"}, "tset", "tset"),
    ],
)
def test_a_missing_split_is_a_sentence(tmp_path: Path, given: dict[str, str], split: str, missing: str) -> None:
    corpus = made_corpus(tmp_path, 1, **given)
    with pytest.raises(UserError, match=f"^made: it has no {missing} split, and the baselines need one; add it$"):
        baselines(corpus, split)


@pytest.mark.needs_data("ptb")
def test_rows_of_a_piece_of_ptb(tmp_path: Path, shared_data: Path) -> None:
    pieces = {
        split: "".join((shared_data / f"ptb.{split}.txt").read_text().splitlines(keepends=True)[:num_lines])
        for split, num_lines in (("train", 3000), ("valid", 300), ("test", 300))
    }
    rows = rows_of(made_corpus(tmp_path, 1, **pieces))
    assert {name: row.bits for name, row in rows.items() if not row.adapts} == pytest.approx(
        {"character 7-gram": 63248.703312, "word 5-gram": 59332.366286}, rel=1e-9
    )
    # another release of a library may find a byte or two more or less
    assert {name: row.bits for name, row in rows.items() if row.adapts} == pytest.approx(
        {"xz": 74792, "zstd": 74912, "PPMd": 59224}, rel=0.01
    )
