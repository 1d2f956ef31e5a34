"""Lists of hypotheses: every format comes back as it went in, and the model's help is weighed and carried as told."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.test_use import made
from wordmint.errors import UserError
from wordmint.model.config import HCLMConfig
from wordmint.use.model import Model
from wordmint.use.nbest import FORMATS, Hypothesis, Utterance, guess_format, read_nbest, read_references, write_nbest
from wordmint.use.rescoring import Weights, rescore, tune, word_error_rate

LISTS = [
    Utterance("u1", (Hypothesis("abc de", -1.5), Hypothesis("abc", -2.0), Hypothesis("", -3.0))),
    Utterance("u2", (Hypothesis("fa", -0.25), Hypothesis("fa fa de", -4.0), Hypothesis("é ü", -5.0))),
]


@pytest.fixture(scope="module")
def lm() -> Model:
    return made(HCLMConfig(units=16, slots=4))


@pytest.mark.parametrize("format", FORMATS)
def test_a_list_comes_back(format: str, tmp_path: Path) -> None:
    path = tmp_path / "list"
    names = {"nemo": ("0", "1")}.get(format, ("u1", "u2"))
    given = [Utterance(name, one.hypotheses) for name, one in zip(names, LISTS, strict=True)]
    write_nbest(path, given, format)
    assert guess_format(path) == format
    back = read_nbest(path, beam=3)
    assert [one.name for one in back] == list(names)
    for one, other in zip(back, given, strict=True):
        assert [(each.text, each.score) for each in one.hypotheses] == [
            (each.text, each.score) for each in other.hypotheses
        ]
    write_nbest(tmp_path / "again", back, format)
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        assert (tmp_path / "again" / file.relative_to(path)).read_bytes() == file.read_bytes()


def test_more_fields_are_kept(tmp_path: Path) -> None:
    row = {"id": 7, "audio": "a.wav", "hypotheses": [{"text": "x", "score": -1.0, "am": 7}], "reference": "x"}
    (tmp_path / "in").write_text(json.dumps(row) + "\n")
    write_nbest(tmp_path / "out", read_nbest(tmp_path / "in"), "jsonl")
    assert json.loads((tmp_path / "out").read_text()) == row
    moses = "0 ||| x y ||| LM0= -1 WordPenalty= -2 ||| -3.5 ||| 0-0 1-1\n"
    (tmp_path / "moses").write_text(moses)
    write_nbest(tmp_path / "moses2", read_nbest(tmp_path / "moses"), "moses")
    assert (tmp_path / "moses2").read_text() == moses


def test_lattice_lists_of_srilm(tmp_path: Path) -> None:
    (tmp_path / "u").write_text("NBestList2.0\n-12.5 -3 2 <s> hello there </s>\n-14 -2 0\n")
    (one,) = read_nbest(tmp_path, "srilm")
    assert one.hypotheses[0] == Hypothesis("hello there", -12.5)
    assert one.hypotheses[1].text == ""


@pytest.mark.parametrize(
    ("format", "text", "said"),
    [
        ("jsonl", '{"id": 1, "hypotheses": [{"text": "a"}]}', ":1: no utterance"),
        ("jsonl", "[]", ":1: no utterance"),
        ("jsonl", '{"id": 1, "hypotheses": []}', "no hypotheses"),
        ("jsonl", '{"id": 1, "hypotheses": [{"text": "a", "score": NaN}]}', ":1: no utterance"),
        ("kaldi", "u1-1 -1 a\nu1 -2 b", ":2: not"),
        ("kaldi", "u1-1 minus a", "no score"),
        ("moses", "0 ||| a ||| 1", ":1: not"),
        ("nemo", "a\t-1\nb\t-2\nc", ":3: not"),
        ("nemo", "a\t-1\nb\t-2\nc\t-1", "multiple"),
        ("kaldi", "\n\n", "no utterances"),
        ("jsonl", '{"id": "a", "hypotheses": [{"text": "x", "score": 1}]}\n' * 2, "twice"),
    ],
)
def test_a_malformed_row_is_named(format: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(text)
    with pytest.raises(UserError, match=said):
        read_nbest(tmp_path / "list", format, beam=2)


def test_missing_utterances_are_named(tmp_path: Path) -> None:
    write_nbest(tmp_path / "e", LISTS, "espnet")
    score = tmp_path / "e" / "1best_recog" / "score"
    score.write_text(score.read_text().splitlines()[0] + "\n")
    with pytest.raises(UserError, match="no score for u2"):
        read_nbest(tmp_path / "e")
    (tmp_path / "refs").write_text("u1 abc de\n")
    with pytest.raises(UserError, match="no reference for u2"):
        read_references(tmp_path / "refs", LISTS)
    (tmp_path / "refs").write_text("abc de\n")
    with pytest.raises(UserError, match="1 references for 2"):
        read_references(tmp_path / "refs", LISTS)


def test_scores_are_weighed(lm: Model) -> None:
    result = rescore(lm.language_model, LISTS, lm.start(), Weights(0.7, 0.3), carry=False)
    for one, given, log_ps in zip(result.utterances, LISTS, result.log_p, strict=True):
        expected = [
            each.score - 0.7 * lm.score(each.text + "\n").bits * math.log(2) + 0.3 * len(each.text.split())
            for each in given.hypotheses
        ]
        assert [each.score for each in one.hypotheses] == pytest.approx(sorted(expected, reverse=True), rel=1e-5)
        assert log_ps == pytest.approx([-lm.score(each.text + "\n").bits * math.log(2) for each in given.hypotheses])


def test_a_pending_word_ends_before_the_first_utterance(lm: Model) -> None:
    _, state = lm.read("fa ab", lm.start())
    result = rescore(lm.language_model, LISTS[:1], state)
    expected = rescore(lm.language_model, LISTS[:1], lm.read("fa ab ", lm.start())[1])
    assert result.log_p[0] == pytest.approx(expected.log_p[0], rel=1e-5)


def test_ties_keep_their_order(lm: Model) -> None:
    same = Utterance("u", (Hypothesis("a", 1.0, {"n": 1}), Hypothesis("a", 1.0, {"n": 2})))
    (one,) = rescore(lm.language_model, [same], lm.start()).utterances
    assert [each.rest for each in one.hypotheses] == [{"n": 1}, {"n": 2}]


def test_the_best_hypothesis_is_carried(lm: Model) -> None:
    weights = Weights(alpha=1.0)
    carried = rescore(lm.language_model, LISTS, lm.start(), weights)
    _, after = lm.read(carried.utterances[0].hypotheses[0].text + "\n", lm.start())
    alone = rescore(lm.language_model, LISTS[1:], after, weights)
    assert carried.log_p[1] == pytest.approx(alone.log_p[0], rel=1e-5)
    assert carried.log_p[1] != pytest.approx(
        rescore(lm.language_model, LISTS, lm.start(), weights, carry=False).log_p[1], rel=1e-5
    )


def test_tuning_finds_weights_that_help(lm: Model) -> None:
    """References are what the model finds most probable, so that leaning on it is right."""
    first = rescore(lm.language_model, LISTS, lm.start(), Weights(5.0), carry=False).utterances
    references = {one.name: one.hypotheses[0].text for one in first}
    before = word_error_rate(LISTS, references)
    weights, rate = tune(lm.language_model, LISTS, references, lm.start(), carry=False)
    assert rate <= before
    again = rescore(lm.language_model, LISTS, lm.start(), weights, carry=False)
    assert word_error_rate(again.utterances, references) == pytest.approx(rate)
