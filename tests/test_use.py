"""Using a model: reading in pieces, by words and in batches is one; characters, completions, files keep the laws."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from wordmint.dynamic import Dynamic
from wordmint.errors import UserError
from wordmint.evaluation.evaluate import Reading, evaluate
from wordmint.evaluation.text import read_text
from wordmint.model.config import CharLSTMConfig, HCLMConfig, ModelConfig
from wordmint.model.hclm import HCLM
from wordmint.model.int8 import read_in_int8
from wordmint.model.language_model import LanguageModel, TextRules
from wordmint.text.alphabet import END_OF_WORD_ID, Alphabet
from wordmint.text.documents import Document
from wordmint.use.characters import begin
from wordmint.use.model import Model
from wordmint.use.prediction import log_not, predict
from wordmint.use.rows import word_rows
from wordmint.use.state import TextState

CONFIGS: dict[str, ModelConfig] = {
    "lstm": CharLSTMConfig(units=16),
    "hclm": HCLMConfig(units=16, slots=0),
    "cache": HCLMConfig(units=16, slots=4),
    "two layers": HCLMConfig(units=16, slots=3, layers=2),
}
TEXT = "abc de abc fa\nab . cab abc abc de\n\n  de\tfa abc q "


def made(config: ModelConfig, characters: str = "\nabcdef.", seed: int = 0) -> Model:
    """A model with random weights, large enough that its predictions are far from even."""
    torch.manual_seed(seed)
    rules = TextRules(respell={"<unk>": "é"})
    model = LanguageModel.of(config, Alphabet(tuple(sorted(characters))), rules, ["abc", "de"], {})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.6, 0.6)
    return Model(model)


@pytest.fixture(params=CONFIGS)
def lm(request: pytest.FixtureRequest) -> Model:
    return made(CONFIGS[request.param])


def close(one: TextState, other: TextState) -> bool:
    """The same but for the last bits of its numbers."""
    pairs = zip(one.neural.tensors().values(), other.neural.tensors().values(), strict=True)
    return one._said() == other._said() and all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)


# ---- reading ------------------------------------------------------------------------------------------------------


def test_reading_in_pieces_is_reading_at_once(lm: Model) -> None:
    scores, after = lm.read(TEXT, lm.start())
    for size in (1, 2, 5, 17):
        rows, state = [], lm.start()
        for begin_ in range(0, len(TEXT), size):
            some, state = lm.read(TEXT[begin_ : begin_ + size], state)
            rows += list(some)
        assert [row.text for row in rows] == scores.text
        assert [(row.start, row.end) for row in rows] == [(row.start, row.end) for row in scores]
        assert [row.slot for row in rows] == scores.slot.tolist()
        np.testing.assert_allclose([row.log_p for row in rows], scores.log_p, atol=1e-5)
        assert close(state, after)


def test_offsets_are_places_in_the_text(lm: Model) -> None:
    assert all(TEXT[row.start : row.end] == row.text for row in lm.score(TEXT))


def test_a_word_is_scored_once_it_has_ended(lm: Model) -> None:
    scores, state = lm.read("abc de", lm.start())
    assert scores.text == ["abc"]
    assert state.pending == "de"
    rest, state = lm.read("f", state, end=True)
    assert (rest.text, state.pending, state.position) == (["def"], "", 7)


def test_scores_are_those_of_evaluate(lm: Model) -> None:
    text = read_text([Document("t", (TEXT + "\n",))], lm.language_model)
    assert lm.score(TEXT + "\n").bits == pytest.approx(evaluate(lm.language_model, text).bits, rel=1e-6)


def test_texts_side_by_side_are_texts_one_by_one(lm: Model) -> None:
    texts = [TEXT, "", "de abc abc", "abc " * 30]
    states = [lm.start(), lm.read("fa fa abc ", lm.start())[1], lm.start(), lm.start()]
    for text, state, scores in zip(texts, states, lm.score_many(texts, states), strict=True):
        alone = lm.score(text, state)
        assert alone.text == scores.text
        np.testing.assert_allclose(alone.log_p, scores.log_p, atol=1e-5)
        assert alone.slot.tolist() == scores.slot.tolist()


def test_the_slot_is_where_the_word_stood() -> None:
    lm = made(HCLMConfig(units=16, slots=2))
    assert lm.score("a b a c b a").slot.tolist() == [-1, -1, 0, -1, -1, -1]  # c took b's slot, b took a's, a took c's


def test_threads_may_share_a_model(lm: Model) -> None:
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: lm.score(TEXT).log_p, range(8)))
    for one in results:
        np.testing.assert_allclose(one, results[0], atol=1e-5)


@pytest.mark.parametrize("text", ["", " \t ", "\n", "\x00", "é" * 50])
def test_odd_texts(lm: Model, text: str) -> None:
    scores = lm.score(text)
    assert len(scores) == len(text.replace("\n", " \n ").split(" ")) - text.count(" ") - 1 or len(scores) <= 1
    assert np.isfinite(scores.log_p).all()


def test_another_cache_size_and_its_bounds(lm: Model) -> None:
    if lm.language_model.network.config.__dict__.get("slots"):
        assert lm.start(7).num_slots == 7
        with pytest.raises(UserError, match="0 to 10,000"):
            lm.start(10_001)
    else:
        with pytest.raises(UserError, match="has none"):
            lm.start(5)


def test_tables_of_other_libraries(lm: Model) -> None:
    scores = lm.score(TEXT)
    for name, convert in (("pandas", scores.to_pandas), ("polars", scores.to_polars), ("pyarrow", scores.to_arrow)):
        pytest.importorskip(name)
        assert len(convert()) == len(scores)


# ---- states -------------------------------------------------------------------------------------------------------


def test_a_state_in_a_file(lm: Model, tmp_path: Path) -> None:
    _, state = lm.read(TEXT + "ab", lm.start())
    state.save(tmp_path / "s.state")
    loaded = TextState.load(tmp_path / "s.state")
    assert loaded == state
    assert lm.score("c de", loaded).log_p.tolist() == lm.score("c de", state).log_p.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["s.state"]


def test_a_state_of_another_model_is_refused() -> None:
    one, other = made(CONFIGS["cache"]), made(CONFIGS["cache"], seed=1)
    with pytest.raises(UserError, match="another model"):
        one.read("abc", other.start())


@pytest.mark.parametrize("damage", ["cut", "flipped", "other", "missing", "newer"])
def test_a_damaged_state_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    made(CONFIGS["cache"]).read(TEXT, None)[1].save(path)
    data = bytearray(path.read_bytes())
    match damage:
        case "cut":
            del data[-20:]
        case "flipped":
            data[-20] ^= 1
        case "other":
            data = bytearray(b"nothing of the kind")
        case "newer":
            data = data.replace(b'"version":"1"', b'"version":"2"')
    path.write_bytes(data)
    if damage == "missing":
        path.unlink()
    with pytest.raises(UserError, match=r"s\.state: "):
        TextState.load(path)


def test_a_state_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="could not be saved"):
        made(CONFIGS["cache"]).start().save(tmp_path / "no" / "folder" / "s.state")


# ---- characters ---------------------------------------------------------------------------------------------------


def test_characters_multiply_to_the_word(lm: Model) -> None:
    model, state = lm.language_model, lm.start()
    for row in lm.score(TEXT):
        prediction, total = predict(model, [state]), 0.0
        prefix, spelling = begin(prediction), model.alphabet.spell([row.text])[0].tolist()
        for character in spelling:
            log_p = prefix.log_next_character()
            assert np.logaddexp.reduce(log_p) == pytest.approx(0, abs=1e-9)
            total += float(log_p[character])
            if character != END_OF_WORD_ID:
                prefix = prefix.go_on(character)
        assert total == pytest.approx(row.log_p, abs=1e-5)
        (state,) = prediction.after([model.alphabet.read(np.array(spelling))])
    assert close(state, replace(lm.read(TEXT)[1], position=0))


def test_next_character_goes_on_from_what_is_pending() -> None:
    lm = made(CONFIGS["cache"])
    _, state = lm.read("abc de ab", lm.start())
    probabilities = lm.next_character(state)
    assert sum(probabilities.values()) == pytest.approx(1)
    assert set(probabilities) == set("\nabcdef. \ufffd")
    assert probabilities["c"] > lm.next_character(lm.read("fa de ab", lm.start())[1])["c"]


# ---- completions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["abc de abc fa ", "abc de abc fa a", "abc fa ab"])
def test_completions_are_the_most_probable_words(lm: Model, typed: str) -> None:
    """Against all words of up to four more characters, each scored by reading it."""
    best = lm.complete(typed, number=4)
    state = lm.read(typed, lm.start())[1]
    mass = float(np.exp(sum_of_characters(lm, state)))
    words = [state.pending + "".join(more) for n in range(5) for more in product("abcdef.\n\ufffd", repeat=n)]
    words = [word for word in words if word]
    base, texts = replace(state, pending=""), list(words)
    scores = {word: math.exp(score_word(lm, base, word)) for word in texts[:600]}
    for completion in best:
        assert completion.p * mass == pytest.approx(math.exp(score_word(lm, base, completion.word)), rel=1e-4)
    assert [one.p for one in best] == sorted((one.p for one in best), reverse=True)
    found = {one.word for one in best}
    limit = best.found[-1].p if best.is_exact else best.bound
    assert all(p / mass <= limit * 1.0001 for word, p in scores.items() if word not in found)


def sum_of_characters(lm: Model, state: TextState) -> float:
    """The log-mass of all words that begin with what is pending."""
    prefix = begin(predict(lm.language_model, [state]))
    for character in lm.language_model.alphabet.spell([state.pending])[0][:-1].tolist():
        prefix = prefix.go_on(character)
    return prefix.log_p


def score_word(lm: Model, state: TextState, word: str) -> float:
    """By the characters, as a line end in a word cannot be read."""
    model, prefix, total = lm.language_model, begin(predict(lm.language_model, [state])), 0.0
    for character in model.alphabet.spell([word])[0].tolist():
        total += float(prefix.log_next_character()[character])
        if character != END_OF_WORD_ID:
            prefix = prefix.go_on(character)
    return total


def test_a_copied_word_is_said_to_be() -> None:
    lm = made(CONFIGS["cache"])
    network = lm.language_model.network
    assert isinstance(network, HCLM) and network.gate is not None
    with torch.no_grad():  # a gate that nearly always copies
        network.gate.out.bias.fill_(-20.0)
    best = lm.complete("abcde fa ab")
    assert best[0].word == "abcde"
    assert best[0].p_copied > 0.99
    assert best.is_exact


def test_a_long_copied_word_is_found() -> None:
    """Longer than the search goes."""
    lm = made(CONFIGS["cache"])
    long = "abcdef" * 8
    _, state = lm.read(f"{long} ", lm.start())
    best = lm.complete("", state, number=3)
    word = next(one for one in best if one.word == long)
    copied = float(np.exp(log_not(float(predict(lm.language_model, [state]).log_gate[0]))))
    assert word.p == pytest.approx(copied, rel=1e-3)
    assert [one.p for one in best] == sorted((one.p for one in best), reverse=True)
    assert len({one.word for one in best}) == 3


# ---- sampling -----------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_text(lm: Model) -> None:
    one, same, other = (lm.sample(words=12, seed=seed) for seed in (3, 3, 4))
    assert one.text == same.text
    assert one.words == same.words
    assert one.text != other.text
    assert len(one.words) == 12
    assert one.state == same.state


def test_samples_as_a_batch(lm: Model) -> None:
    states = [lm.start(), lm.read("abc de ", lm.start())[1], lm.read("abc d", lm.start())[1]]
    samples = lm.sample_many(states, words=9, seed=1)
    assert len({one.text for one in samples}) == 3
    assert samples[2].words[0].text.startswith("d")
    for state, one in zip(states, samples, strict=True):
        spelled = [word.text for word in one.words if "\n" not in word.text or word.text == "\n"]
        if len(spelled) == len(one.words) and not state.pending:  # else it could not be read again
            assert close(one.state, replace(lm.read(one.text + " ", state)[1], position=state.position))


def test_greedy_sampling_stops_where_told(lm: Model) -> None:
    first = lm.sample(words=1, temperature=0.0).words[0].text
    assert len(lm.sample(words=9, temperature=0.0, stop=[first]).words) == 1


def test_copies_are_as_frequent_as_the_gate_says() -> None:
    lm = made(CONFIGS["cache"])
    _, state = lm.read("abc de fa ", lm.start())
    share = 1 - math.exp(float(predict(lm.language_model, [state]).log_gate[0]))
    copied = [one.words[0].copied for one in lm.sample_many([state] * 2000, words=1, seed=5)]
    assert abs(sum(copied) / 2000 - share) < 4 * math.sqrt(share * (1 - share) / 2000)


def test_what_is_pending_makes_some_words_likelier() -> None:
    """Samples follow the exact probabilities of the characters, also after the beginning of a word."""
    lm = made(CONFIGS["cache"])
    _, state = lm.read("abc abc de abc ab", lm.start())
    exact = {one.word: one.p for one in lm.complete("", state, number=2)}
    words = [one.words[0].text for one in lm.sample_many([state] * 1500, words=1, seed=5)]
    for word, p in exact.items():
        assert abs(words.count(word) / 1500 - p) < 4 * math.sqrt(max(p * (1 - p), 1e-3) / 1500)


def test_unknown_characters_stay_as_they_were_written() -> None:
    lm = made(CONFIGS["cache"])
    _, state = lm.read("éa éa éa é", lm.start())
    (word,) = lm.sample(state, words=1, temperature=0.0).words
    assert word.text.startswith("é")


# ---- the package --------------------------------------------------------------------------------------------------


def test_importing_wordmint_imports_no_torch() -> None:
    code = "import wordmint, sys; wordmint.load; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- learning while reading ---------------------------------------------------------------------------------------


def test_a_learner_learns_and_the_model_stays(lm: Model) -> None:
    text = "abc de fa abc cab de abc\n" * 30
    before = lm.score(text)
    learner = lm.learner(rate=0.3)
    after, _ = lm.read(text, learner=learner)
    np.testing.assert_array_equal(before.log_p, lm.score(text).log_p)
    num_words = learner.dynamic.words
    np.testing.assert_allclose(after.log_p[:num_words], before.log_p[:num_words], atol=1e-5)  # nothing learnt yet
    assert after.bits < before.bits
    reading = Reading(dynamic=Dynamic(rate=0.3))
    said = evaluate(lm.language_model, read_text([Document("t", (text,))], lm.language_model), reading)
    assert said.bits == pytest.approx(after.bits, rel=1e-5)


def test_a_learner_cannot_know_too_early(lm: Model) -> None:
    texts = ["abc de fa " * 20 + last for last in ("abc ", "cab ")]
    one, other = (lm.read(text, learner=lm.learner())[0].log_p for text in texts)
    np.testing.assert_array_equal(one[:-1], other[:-1])


def test_integers_cannot_learn() -> None:
    lm = made(CONFIGS["hclm"])
    read_in_int8(lm.language_model.network)
    with pytest.raises(UserError, match="cannot learn"):
        lm.learner()


def test_a_missing_line_end_makes_no_difference_to_a_learner(lm: Model) -> None:
    text, rows = "abc de abc fa abc de", []
    for ending in ("", "\n"):
        documents = [Document("t", (text + ending,))]
        parts = word_rows(lm.language_model, documents, lm.start(), learner=lm.learner(0.5, 0.0, 5))
        rows.append([row.surprisal for some, _ in parts for row in some])
    assert rows[0] == pytest.approx(rows[1], rel=1e-5)


def test_nothing_and_too_little(lm: Model) -> None:
    assert lm.score_many([]) == []
    with pytest.raises(UserError, match="at least 1"):
        lm.complete("a", number=0)
    with pytest.raises(UserError, match="a folder"):
        lm.start().save(".")


@pytest.mark.parametrize("settings", [{"rate": 0.0}, {"rate": math.nan}, {"decay": 2.0}, {"words": 0}])
def test_learning_has_bounds(settings: dict[str, float]) -> None:
    with pytest.raises(UserError, match="dynamic evaluation"):
        made(CONFIGS["hclm"]).learner(**settings)  # pyright: ignore


# ---- reading in integers ------------------------------------------------------------------------------------------


def test_integers_are_nearly_the_same(lm: Model) -> None:
    rough = Model(copy.deepcopy(lm.language_model))
    read_in_int8(rough.language_model.network)
    texts = [TEXT * 5, "fa abc " * 9, "de"]
    for exact, other in zip(lm.score_many(texts), rough.score_many(texts), strict=True):
        assert other.bits == pytest.approx(exact.bits, rel=0.02)
        assert other.log_p.tolist() != exact.log_p.tolist()
        assert np.abs(other.log_p - exact.log_p).max() < 0.5
    (_, after), (_, expected) = rough.read(TEXT), lm.read(TEXT)
    for mine, theirs in zip(after.neural.tensors().values(), expected.neural.tensors().values(), strict=True):
        assert mine.numel() == 0 or float((mine - theirs).abs().max()) < 0.1
