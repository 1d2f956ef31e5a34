"""Statistics: against the slow twin, and what they say of texts whose nature is known."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.made_corpora import made_corpus, words_of
from tests.reference import statistics as reference
from tests.text_strategies import simple_texts, texts
from wordmint.corpora import statistics, vocabulary
from wordmint.corpora.corpus import Corpus
from wordmint.corpora.figure import new_word_frequencies
from wordmint.corpora.statistics import burstiness, corpus_statistics, heaps
from wordmint.corpora.tables import as_json, show
from wordmint.shapes import Array, Int

some_words = st.one_of(texts, simple_texts).filter(str.strip)
word_ids = st.lists(st.integers(0, 12), min_size=1, max_size=80)


def ids(words: list[int]) -> Int[Array, " words"]:
    return np.array(words, dtype=np.int32)


def made(min_character_count: int = 1, **given: str) -> Corpus:
    with tempfile.TemporaryDirectory() as folder:
        return made_corpus(Path(folder), min_character_count, **given)


# The paper's tables.


@given(some_words, st.none() | some_words, st.none() | some_words, st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_statistics_are_those_of_the_slow_twin(
    train: str, valid: str | None, test: str | None, min_character_count: int
) -> None:
    given = {"train": train} | ({"valid": valid} if valid else {}) | ({"test": test} if test else {})
    corpus = made(min_character_count, **given)
    words = {split: words_of(corpus, split) for split in given}
    found = corpus_statistics(corpus).splits
    assert list(found) == ["train", "valid", "test"]
    for split, column in found.items():
        if split not in given:
            assert column is None
            continue
        assert column is not None
        expected = reference.split_statistics(words[split], None if split == "train" else words["train"])
        assert asdict(column) == expected
    if len(given) > 1:
        assert new_word_frequencies(corpus).tolist() == reference.new_word_frequencies(words)


def test_without_train_no_word_is_new() -> None:
    found = corpus_statistics(made(valid="a b", test="c"))
    assert [column and column.oov_rate for column in found.splits.values()] == [None, None, None]
    assert found.measured_on == "valid"


def test_dummies_are_one_character_type_and_a_space_is_one_too() -> None:
    (train, _, _) = corpus_statistics(made(3, train="aaa bé ç")).splits.values()
    assert train is not None
    assert train.character_types == len({"a", "\ufffd", " ", "\n"})
    (train, _, _) = corpus_statistics(made(train="aa\nb\n")).splits.values()
    assert train is not None
    assert train.character_types == len({"a", "b", "\n"})


# The growth of the vocabulary.


@given(word_ids, st.sampled_from([3, 1 << 22]))
@settings(deadline=None)
def test_points_of_growth_are_distinct_words_so_far(words: list[int], words_per_block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "WORDS_PER_BLOCK", words_per_block)
        patch.setattr(vocabulary, "WORDS_PER_BLOCK", words_per_block)
        growth = heaps(ids(words))
    assert growth.types == [reference.types_after(words, tokens) for tokens in growth.tokens]
    points = {int(10 ** (step / 10)) for step in range(20)}
    assert growth.tokens == sorted({point for point in points if point <= len(words)} | {len(words)})


@pytest.mark.parametrize("exponent", [0.4, 0.7, 1.0])
def test_the_exponent_of_a_known_growth_is_found(exponent: float) -> None:
    length = 100_000
    num_types = np.floor(np.arange(1, length + 1) ** exponent).astype(np.int32)
    is_new = np.diff(num_types, prepend=0) > 0
    growth = heaps(np.where(is_new, num_types, 1).astype(np.int32))
    assert growth.exponent == pytest.approx(exponent, abs=0.01)
    assert growth.scale == pytest.approx(1, rel=0.1)


def test_one_word_grows_by_no_law() -> None:
    growth = heaps(ids([4]))
    assert (growth.tokens, growth.types, growth.exponent, growth.scale) == ([1], [1], None, None)


@pytest.mark.parametrize(("num_words", "is_long"), [(999, False), (1000, True)])
def test_a_text_of_fewer_than_a_thousand_words_has_neither(num_words: int, is_long: bool) -> None:
    text = " ".join(f"w{number % 500 * (number % 2)}" for number in range(num_words - 1))
    found = corpus_statistics(made(train=text))
    assert found.splits["train"] is not None
    assert found.splits["train"].tokens == num_words
    assert (found.heaps.exponent is not None) == (found.burstiness is not None) == is_long
    assert found.heaps.tokens[-1] == num_words


# Burstiness.


@given(word_ids, st.integers(1, 6))
@example([0, 1, 1, 2, 0, 3], 2)
@settings(deadline=None)
def test_burstiness_is_that_of_the_slow_twin(words: list[int], distinct: int) -> None:
    found = burstiness(ids(words), max(words) + 1, distinct)
    new_words, returned, predicted = reference.burstiness(words, distinct)
    assert found.new_words == new_words
    assert math.isclose(found.returned, returned, rel_tol=1e-12)
    assert math.isclose(found.predicted, predicted, rel_tol=1e-9)


NUM_TYPES = 20_000


def zipf_text(seed: int) -> Int[Array, " words"]:
    """100,000 words, each drawn by Zipf's law without regard to the others."""
    chances = 1 / np.arange(1, NUM_TYPES + 1)
    chosen = np.random.default_rng(seed).choice(NUM_TYPES, 100_000, p=chances / chances.sum())
    return chosen.astype(np.int32)


def test_texts_without_bursts_return_as_often_as_chance_predicts() -> None:
    found = [burstiness(zipf_text(seed), NUM_TYPES) for seed in range(10)]  # one has a ratio of 1 ± 0.1
    assert sum(one.returned for one in found) / sum(one.predicted for one in found) == pytest.approx(1, abs=0.08)
    assert all(one.new_words > 13_000 for one in found)


def test_a_bursty_text_returns_far_more_often() -> None:
    bursty = np.tile(zipf_text(seed=0).reshape(-1, 50), 2).ravel()  # every 50 words are said twice
    shuffled = np.random.default_rng(0).permutation(bursty)
    found, by_chance = burstiness(bursty, NUM_TYPES), burstiness(shuffled, NUM_TYPES)
    assert found.new_words == by_chance.new_words
    assert found.returned == 1
    assert found.ratio is not None
    assert found.ratio > 50
    assert by_chance.ratio == pytest.approx(1, abs=0.2)


def test_chance_repeats_nothing_where_every_word_comes_once() -> None:
    found = burstiness(ids([0, 1, 2]), 3)
    assert (found.new_words, found.returned, found.predicted, found.ratio) == (3, 0.0, 0.0, None)


# JSON and tables.


def test_json_is_as_the_issue_says(capsys: pytest.CaptureFixture[str]) -> None:
    corpus = made(train="a b\na b\n", test="a ü\n")
    found = json.loads(as_json([corpus_statistics(corpus)]))
    assert list(found)[:2] == ["name", "splits"]
    assert found["name"] == "made"
    assert found["splits"] == {
        "train": {"character_types": 4, "word_types": 3, "oov_rate": None, "tokens": 6, "characters": 8, "dummies": 0},
        "valid": None,
        "test": {"character_types": 4, "word_types": 3, "oov_rate": 1 / 3, "tokens": 3, "characters": 4, "dummies": 0},
    }
    assert list(found["splits"]) == ["train", "valid", "test"]
    assert set(found) == {"name", "splits", "measured_on", "heaps", "burstiness"}
    assert set(found["heaps"]) == {"tokens", "types", "exponent", "scale"}
    assert found["burstiness"] is None  # too short
    long = json.loads(as_json([corpus_statistics(made(train="a b\n" * 334))]))
    assert set(long["burstiness"]) == {"new_words", "returned", "predicted", "ratio"}
    assert capsys.readouterr() == ("", "")


def test_json_of_several_is_a_list_and_has_no_nan() -> None:
    one, two = corpus_statistics(made(train="a")), corpus_statistics(made(valid="\n", test="\n\n"))
    both = json.loads(as_json([one, two]), parse_constant=pytest.fail)
    assert both == [json.loads(as_json([one])), json.loads(as_json([two]))]


def lines_of(capsys: pytest.CaptureFixture[str], *corpora: Corpus) -> list[str]:
    show([corpus_statistics(corpus) for corpus in corpora])
    return capsys.readouterr().out.splitlines()


def test_the_table_of_one_corpus_is_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    corpus = made(train="word " * 1234, valid="word and", test="word " * 7 + "and\n")
    rows = {line[:17].strip(): line[17:].split() for line in lines_of(capsys, corpus)}
    assert rows["Word types"] == ["2", "3", "3"]
    assert rows["OOV rate"] == ["–", "33.33%", "11.11%"]
    assert rows["Tokens"] == ["1,235", "3", "9"]
    assert rows["Characters"] == ["6,170", "9", "39"]
    assert rows["Character types"] == ["6", "8", "8"]


def test_a_table_of_several_has_a_row_a_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(capsys, made(train="a b", test="c"), made(valid="é"))
    rows = [line.split() for line in lines if line.strip().startswith("made")]
    assert rows[0][1:] == ["4", "–", "2", "3", "–", "2", "–", "50.00%", "3", "–", "2", "4", "–", "2"]
    assert rows[1][1:] == ["–", "2", "–", "–", "2", "–", "–", "–", "–", "2", "–", "–", "2", "–"]


@pytest.mark.parametrize("name", ["data[en]", "[bold]", "[red]text", "a:smile:"])
def test_a_name_is_shown_as_it_is(capsys: pytest.CaptureFixture[str], name: str) -> None:
    found = corpus_statistics(made(train="a b", test="c"))
    named = type(found)(name, found.splits, found.measured_on, found.heaps, found.burstiness)
    for corpora in ([named], [named, named]):
        show(corpora)
        assert name in capsys.readouterr().out
