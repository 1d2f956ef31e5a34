"""Evaluation: bits are sums, counts have names, dummies can be paid for, and a comparison knows its uncertainty."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.command import assert_user_mistake, wordmint, write_corpus
from tests.reference.bits import escape_cost, normalised
from tests.reference.hclm import HCLMTwin
from wordmint.errors import UserError
from wordmint.evaluation.compare import compare
from wordmint.evaluation.escapes import escape_bits
from wordmint.evaluation.evaluate import Evaluation, Reading, evaluate
from wordmint.evaluation.text import ModelText, read_text
from wordmint.model.config import Dropout, HCLMConfig, ModelConfig
from wordmint.model.language_model import LanguageModel, TextRules
from wordmint.text.alphabet import Alphabet
from wordmint.text.documents import Document

ALPHABET = Alphabet(tuple(sorted("\nKNUabcdeklnost")))
CONFIG = HCLMConfig(units=6, slots=4, dropout=Dropout(0.0, 0.0, 0.0, 0.0, 0.0))
TEXT = "one  token\tand a\n\n a token\n and  one <unk> ?€€ and no\x0cend"


def made_language_model(config: ModelConfig = CONFIG, respell: dict[str, str] | None = None) -> LanguageModel:
    torch.manual_seed(1)
    model = LanguageModel.of(config, ALPHABET, TextRules(respell=respell or {}), ["\n", "one", "a", "UNK"], {})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.5, 0.5)
    model.network.double().eval()
    return model


def read(*texts: str, model: LanguageModel | None = None) -> ModelText:
    documents = [Document(f"{number}.txt", (text,)) for number, text in enumerate(texts)]
    return read_text(documents, model or made_language_model())


# ---- the text ----------------------------------------------------------------------------------------------------


@given(st.lists(st.text(alphabet="ab \n\t\r€é", max_size=30), min_size=1, max_size=4))
def test_the_papers_count_is_the_length_of_the_normalised_text(texts: list[str]) -> None:
    plain = "".join(normalised(text) for text in texts if text)
    assume(plain)
    text = read(*texts)
    assert text.num_characters == len(plain)
    assert text.counts["normalised_bytes"] == len(plain.encode())
    assert text.counts["given"] == sum(map(len, texts))
    assert text.counts["given_bytes"] == sum(len(one.encode()) for one in texts)
    assert len(text.words) == len(plain.split()) + plain.count("\n")


def test_words_that_differ_in_rare_characters_are_one_type_to_the_model() -> None:
    text = read("a€ a¥ a€ b")
    assert len(set(text.words.tolist())) == 4
    assert len(set(text.model_words.tolist())) == 3
    assert text.unknown_characters(ALPHABET)[0] == "€¥€"
    assert text.unknown_characters(ALPHABET)[1].tolist() == [0, 1, 2]


def test_counts_of_respelled_words() -> None:
    text = read("a <unk> b\n", model=made_language_model(respell={"<unk>": "UNK"}))
    assert text.counts == {
        "normalised": 8,
        "normalised_bytes": 8,
        "respelled_words_as_written": 10,
        "respelled_words_as_one_character": 6,
        "given": 10,
        "given_bytes": 10,
    }


@pytest.mark.needs_data("ptb")
def test_the_counts_of_the_reference_on_ptb(shared_data: Path) -> None:
    pieces = ((shared_data / "ptb.test.txt").read_text(),)
    text = read_text([Document("test", pieces)], made_language_model(respell={"<unk>": "UNK"}))
    assert list(text.counts.values()) == [432_835, 432_835, 442_423, 423_247, 449_945, 449_945]
    assert len(text.words) == 82_430


@pytest.mark.needs_data("wikitext-2")
def test_the_count_of_the_reference_on_wikitext_2(shared_data: Path) -> None:
    pieces = ((shared_data / "wiki.test.raw").read_text("utf-8"),)
    text = read(*pieces)
    assert (text.num_characters, len(text.words)) == (1_281_303, 245_569)


# ---- the bits ----------------------------------------------------------------------------------------------------


def twin_bits(model: LanguageModel, text: str) -> float:
    """A document, by the paper's equations."""
    weights = {name: value.detach().numpy() for name, value in model.network.state_dict().items()}
    twin = HCLMTwin(weights, len(ALPHABET), 4)
    words = [word for line in normalised(text).split("\n")[:-1] for word in [*line.split(), "\n"]]
    spelled = [tuple(spelling.tolist()) for spelling in ALPHABET.spell(words)]
    (line_end,) = ALPHABET.spell(["\n"])
    return -sum(one.log_p for one in twin.read(spelled, tuple(line_end.tolist()))) / math.log(2)


def test_bits_are_those_of_the_papers_equations() -> None:
    model = made_language_model()
    result = evaluate(model, read(TEXT, model=model))
    assert result.bits == pytest.approx(twin_bits(model, TEXT), rel=1e-9)
    assert result.bpc == result.bits / len(normalised(TEXT))
    assert result.bits_per_byte == result.bits / len(normalised(TEXT).encode())
    assert result.word_perplexity == pytest.approx(2 ** (result.bits / result.tokens))
    assert result.bits_of_word.sum() == pytest.approx(result.bits)


def test_documents_may_be_read_on_or_begun_anew() -> None:
    model, texts = made_language_model(), ("one token and one", "", "a token and a token\n", "one")
    text = read(*texts, model=model)
    anew = evaluate(model, text, Reading(reset_documents=True))
    expected = [twin_bits(model, one) if one else 0 for one in texts]
    np.testing.assert_allclose(anew.bits_of_document, expected, rtol=1e-9)
    on = evaluate(model, text)
    assert on.bits == pytest.approx(twin_bits(model, "one token and one\na token and a token\none\n"), rel=1e-9)
    assert on.bits_of_document.sum() == pytest.approx(on.bits)
    assert on.bits != pytest.approx(anew.bits, rel=1e-3)


def test_without_the_cache_the_gate_always_spells() -> None:
    model = made_language_model()
    text = read(TEXT, model=model)
    result = evaluate(model, text)
    assert result.bits_without_cache == pytest.approx(evaluate(model, text, Reading(slots=0)).bits, rel=1e-9)
    assert evaluate(model, text, Reading(slots=0)).bits_without_cache is None
    assert evaluate(model, text, Reading(slots=9)).bits != result.bits


def test_new_words_are_counted() -> None:
    result = evaluate(made_language_model(), read("one token a token UNK\n"))
    assert (result.oov_tokens, result.tokens, result.oov_rate) == (2, 6, pytest.approx(1 / 3))


@given(st.text(alphabet="€¥✓☃", max_size=12))
def test_the_code_for_dummies(unknown: str) -> None:
    num_unknown = 0x110000 - 2048 - len(ALPHABET.characters)
    assert sum(escape_bits(unknown, ALPHABET)) == pytest.approx(escape_cost(unknown, num_unknown), abs=1e-9)


def test_exact_mode_pays_for_the_dummies() -> None:
    model = made_language_model()
    text = read(TEXT, model=model)
    unpaid, paid = evaluate(model, text), evaluate(model, text, Reading(exact=True))
    assert unpaid.dummy_characters == len("<unk>?€€") - len("unk") + 1  # of "unk" only the u is no letter here
    assert paid.bits - unpaid.bits == pytest.approx(unpaid.dummy_bits)
    assert unpaid.dummy_bits > 5 * 19


def test_a_word_of_ten_thousand_characters() -> None:
    result = evaluate(made_language_model(), read("a" * 10_000 + " b\n"))
    assert math.isfinite(result.bits)
    assert result.word_perplexity == math.inf


# ---- comparing ---------------------------------------------------------------------------------------------------


def evaluation_of(bits_of_document: np.ndarray) -> Evaluation:
    bits_of_word = np.repeat(bits_of_document[bits_of_document > 0] / 10, 10)
    total = float(bits_of_document.sum())
    return Evaluation("m", total, None, 0.0, 0, len(bits_of_word), 0, {}, Reading(), bits_of_word, bits_of_document)


def test_a_comparison_is_paired() -> None:
    """Documents differ far more than models do; the interval must not know of that."""
    random = np.random.default_rng(0)
    first = random.uniform(100, 10_000, 100)
    second = first * random.normal(0.97, 0.01, 100)
    result = compare(evaluation_of(first), evaluation_of(second))
    assert result.saved == pytest.approx(0.03, abs=0.003)
    assert result.low < result.saved < result.high
    assert result.high - result.low < 0.01
    assert result.is_certain
    assert (result.num_units, result.unit) == (100, "documents")


def test_equal_models_are_not_told_apart() -> None:
    random = np.random.default_rng(1)
    first = random.uniform(100, 200, 50)
    result = compare(evaluation_of(first), evaluation_of(first * random.normal(1, 0.05, 50)))
    assert not result.is_certain


def test_the_interval_holds_what_it_promises() -> None:
    """Of many pairs that differ by 1 % on average, about 95 % of the intervals hold that."""
    random, held = np.random.default_rng(2), 0
    for _ in range(200):
        first = random.uniform(100, 200, 60)
        result = compare(evaluation_of(first), evaluation_of(first * random.normal(0.99, 0.03, 60)))
        held += result.low <= 0.01 <= result.high
    assert 0.9 <= held / 200 <= 0.99


def test_documents_without_words_are_not_drawn() -> None:
    some = np.array([100.0, 0.0] * 25)
    result = compare(evaluation_of(some), evaluation_of(some * 0.9))
    assert (result.num_units, result.unit) == (25, "documents")
    assert result.saved == pytest.approx(0.1) == result.low
    few = np.array([500.0, *[0.0] * 30])
    assert compare(evaluation_of(few), evaluation_of(few * 0.9)).unit == "blocks"


def test_dummies_that_are_paid_for_count_where_they_stand() -> None:
    model = made_language_model()
    text = read("one a€ token", model=model)
    unpaid, paid = evaluate(model, text), evaluate(model, text, Reading(exact=True))
    difference = paid.bits_of_word - unpaid.bits_of_word
    np.testing.assert_allclose(difference, [0, unpaid.dummy_bits, 0, 0])
    assert paid.bits_of_document.sum() == pytest.approx(paid.bits)


def test_a_text_of_few_documents_is_drawn_in_blocks() -> None:
    result = compare(evaluation_of(np.full(3, 500.0)), evaluation_of(np.full(3, 400.0)))
    assert (result.num_units, result.unit) == (30, "blocks")
    assert result.saved == pytest.approx(0.2)


# ---- the command -------------------------------------------------------------------------------------------------


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    model = made_language_model(respell={"<unk>": "UNK"})
    model.network.float()
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_json(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    result = wordmint("evaluate", model_folder, tmp_path / "text.txt", "--json", "--exact")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    model = LanguageModel.load(model_folder)
    expected = evaluate(model, read_text([Document("text.txt", (TEXT,))], model), Reading(exact=True))
    assert told["bits"] == pytest.approx(expected.bits, rel=1e-6)
    assert told["bpc"] == told["bits"] / told["characters"]
    assert told["counts"]["normalised"] == {"characters": told["characters"], "bpc": told["bpc"]}
    assert told["dummies_paid"] is True
    assert {"bits_per_byte", "tokens", "word_perplexity", "oov_rate", "dummy_characters"} <= told.keys()


def test_two_models_and_standard_input(model_folder: Path) -> None:
    result = wordmint("evaluate", model_folder, model_folder, "-", "--slots", "2", stdin=TEXT.encode())
    assert result.returncode == 0, result.stderr
    assert "needs 0.00% fewer bits than" in result.stdout  # it is the same model
    assert "they may well be equally good" in result.stdout
    assert "normalised text (the paper's count)" in result.stdout
    assert "--exact would add" in result.stdout


def test_a_corpus_with_its_baselines(model_folder: Path, tmp_path: Path) -> None:
    text = "one token and a token and one\n" * 20
    corpus = write_corpus(tmp_path / "mine", train=text, valid=text[:60], test=text[:90])
    result = wordmint("evaluate", model_folder, "--corpus", corpus, "--baselines", "--json")
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert {row["name"].split()[0] for row in told["baselines"]} == {"xz", "zstd", "PPMd", "character", "word"}
    table = wordmint("evaluate", model_folder, "--corpus", corpus, "--baselines")
    assert "xz adapts while it reads: xz -9e" in table.stdout


def test_mistakes(model_folder: Path, tmp_path: Path) -> None:
    empty, broken = tmp_path / "empty.txt", tmp_path / "broken.txt"
    empty.write_text("")
    broken.write_bytes(b"good\nbad \xff\n")
    assert_user_mistake(wordmint("evaluate", model_folder, empty), "holds no words")
    assert_user_mistake(wordmint("evaluate", model_folder, broken), "broken.txt:2: not utf-8 at byte 9")
    assert_user_mistake(wordmint("evaluate", model_folder), "name a model and a file")
    assert_user_mistake(wordmint("evaluate", tmp_path / "nothing", broken), "no such folder; name a model's folder")
    assert_user_mistake(wordmint("evaluate", model_folder, broken, "--slots", "10001"), "between 0 and 10,000")
    assert_user_mistake(wordmint("evaluate", model_folder, broken, "--baselines"), "name it with --corpus")
    assert_user_mistake(wordmint("evaluate", model_folder, model_folder), "a model, where the text was to stand")
    both = wordmint("evaluate", model_folder, broken, "--reset-documents", "--streams", "2")
    assert_user_mistake(both, "give one of the two")
    assert_user_mistake(wordmint("evaluate", broken, model_folder / "config.json"), "no such folder")
    other = made_language_model()
    other.network.float()
    other.save_pretrained(tmp_path / "other")
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    two = wordmint("evaluate", model_folder, tmp_path / "other", tmp_path / "text.txt")
    assert_user_mistake(two, "respell or cut the text in different ways")


@pytest.mark.parametrize("damage", ["cut", "gone", "wrong shapes", "not a config", "no JSON", "other format"])
def test_a_damaged_model(damage: str, model_folder: Path) -> None:
    config, weights = model_folder / "config.json", model_folder / "model.safetensors"
    match damage:
        case "cut":
            weights.write_bytes(weights.read_bytes()[:-10])
        case "gone":
            weights.unlink()
        case "wrong shapes":
            config.write_text(config.read_text().replace('"units": 6', '"units": 7'))
        case "not a config":
            config.write_text("{}")
        case "no JSON":
            config.write_text("{")
        case "other format":
            config.write_text(config.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(UserError, match=r"no whole Wordmint model|format 99|do not belong together"):
        LanguageModel.load(model_folder)
