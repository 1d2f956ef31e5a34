"""Other libraries, the real ones, with a model of ours behind them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.test_use import TEXT, made
from wordmint.adapters import kenlm
from wordmint.adapters.minicons import IncrementalLMScorer
from wordmint.model.config import HCLMConfig
from wordmint.use.model import Model
from wordmint.use.typing import typed, typing_from


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "m"
    made(HCLMConfig(units=16, slots=4)).language_model.save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def lm(folder: str) -> Model:
    return Model.load(folder)


# ---- typing: what the harness's continuations stand on ------------------------------------------------------------


def test_typed_characters_multiply_to_the_words(lm: Model) -> None:
    scores, after = lm.read(TEXT, lm.start())
    ended = typed(typing_from(lm.language_model, lm.start()), TEXT)
    assert ended.log_p == pytest.approx(float(scores.log_p.sum()), rel=1e-5)
    assert ended.state.cached == after.cached


@pytest.mark.parametrize("cut", range(1, 16))
def test_a_continuation_may_begin_anywhere(lm: Model, cut: int) -> None:
    text = "abc fa\nab abc de"
    whole = typed(typing_from(lm.language_model, lm.start()), text).log_p
    first = typed(typing_from(lm.language_model, lm.start()), text[:cut])
    rest = typed(typing_from(lm.language_model, lm.read(text[:cut], lm.start())[1]), text[cut:])
    assert first.log_p + rest.log_p == pytest.approx(whole, abs=1e-4)


def test_a_respelled_word_costs_what_reading_says(lm: Model) -> None:
    text = "abc <unk> de <unk> "
    expected = float(lm.read(text, lm.start())[0].log_p.sum())
    assert typed(typing_from(lm.language_model, lm.start()), text).log_p == pytest.approx(expected, rel=1e-5)
    state = lm.read("abc <un", lm.start())[1]
    rest = typed(typing_from(lm.language_model, state), "k> de ").log_p
    first = typed(typing_from(lm.language_model, lm.start()), "abc <un").log_p
    assert first + rest == pytest.approx(float(lm.read("abc <unk> de ", lm.start())[0].log_p.sum()), rel=1e-5)


# ---- lm-evaluation-harness ----------------------------------------------------------------------------------------

TASK = """
task: wordmint_local
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list: [{{metric: bits_per_byte}}, {{metric: word_perplexity}}]
"""


def test_the_harness_measures_a_local_file(
    folder: str, lm: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator: Any = pytest.importorskip("lm_eval.evaluator")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    from lm_eval.tasks import TaskManager

    import wordmint.adapters.lm_eval  # noqa: F401 (registers the model)

    texts = ["abc de abc fa\nab cab", "fa fa é"]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "task.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"))
    tasks = TaskManager(include_path=str(tmp_path), include_defaults=False)
    results = evaluator.simple_evaluate(
        "wordmint", model_args=f"pretrained={folder}", tasks=["wordmint_local"], task_manager=tasks, bootstrap_iters=0
    )
    said = results["results"]["wordmint_local"]
    bits = sum(lm.score(text).bits for text in texts)
    assert said["bits_per_byte,none"] == pytest.approx(bits / sum(len(text.encode()) for text in texts), rel=1e-5)


def test_the_harness_asks_for_continuations(folder: str, lm: Model) -> None:
    instance: Any = pytest.importorskip("lm_eval.api.instance")
    from wordmint.adapters.lm_eval import WordmintLM

    adapter: Any = WordmintLM(folder)  # pyright: ignore[reportCallIssue]

    def ask(*arguments: object) -> Any:
        return instance.Instance("loglikelihood", {}, arguments, 0)

    ((log_p, _),) = adapter.loglikelihood([ask("abc de", " abc ")])
    state = lm.read("abc de", lm.start())[1]
    assert log_p == pytest.approx(typed(typing_from(lm.language_model, state), " abc ").log_p)
    (text,) = adapter.generate_until([ask("abc de ", {"until": ["\n\n"], "max_gen_toks": 5})])
    ((_, is_greedy),) = adapter.loglikelihood([ask("abc ", "zzz")])
    assert not is_greedy
    assert len(text.split()) <= 5
    (stopped,) = adapter.generate_until([ask("abc de ", {"until": [text[1:3]], "max_gen_toks": 5})])
    assert stopped == text[: text.find(text[1:3])]


# ---- kenlm --------------------------------------------------------------------------------------------------------


def sentence_by_states(module: Any, model: Any, words: list[str]) -> float:
    """As kenlm's users write it."""
    state, after, total = module.State(), module.State(), 0.0
    model.BeginSentenceWrite(state)
    for word in [*words, "</s>"]:
        total += model.BaseScore(state, word, after)
        state, after = after, module.State()
    return total


def test_kenlm_names(folder: str, lm: Model) -> None:
    model, words = kenlm.Model(folder), ["abc", "de", "abc", "fa"]
    bits = lm.score("abc de abc fa\n").bits
    assert model.score("abc de abc fa") == pytest.approx(-bits * math.log10(2), rel=1e-5)
    assert sentence_by_states(kenlm, model, words) == pytest.approx(model.score("abc de abc fa"), rel=1e-5)
    assert [one.oov for one in model.full_scores("abc xyz")] == [False, True, True]
    assert "abc" in model
    assert "xyz" not in model
    assert model.perplexity("abc de") == pytest.approx(10 ** (-model.score("abc de") / 3))


def test_the_same_code_runs_with_kenlm_itself(folder: str, tmp_path: Path) -> None:
    real = pytest.importorskip("kenlm")
    unigrams = "\\1-grams:\n-1\t<unk>\n-99\t<s>\t0\n-1\t</s>\n-0.5\tabc\t0\n\n"
    arpa = f"\\data\\\nngram 1=4\nngram 2=1\n\n{unigrams}\\2-grams:\n-0.3\tabc abc\n\n\\end\\\n"
    (tmp_path / "m.arpa").write_text(arpa)
    for module, model in ((real, real.Model(str(tmp_path / "m.arpa"))), (kenlm, kenlm.Model(folder))):
        by_states = sentence_by_states(module, model, ["abc", "abc"])
        assert by_states == pytest.approx(model.score("abc abc", bos=True, eos=True), rel=1e-4)
        assert len(list(model.full_scores("abc abc"))) == 3
        assert isinstance("abc" in model, bool)


# ---- pyctcdecode --------------------------------------------------------------------------------------------------


def test_pyctcdecode_hears_what_the_model_expects(lm: Model) -> None:
    pyctcdecode = pytest.importorskip("pyctcdecode")
    from wordmint.adapters.ctc import CTCLanguageModel

    labels = ["", " ", "a", "b", "c", "d"]
    rng = np.random.default_rng(0)
    logits = np.log(rng.dirichlet(np.ones(len(labels)), size=14))
    alphabet = pyctcdecode.Alphabet.build_alphabet(labels)
    plain = pyctcdecode.BeamSearchDecoderCTC(alphabet).decode_beams(logits, beam_width=50)
    helped = pyctcdecode.BeamSearchDecoderCTC(alphabet, CTCLanguageModel(lm, alpha=0.7, beta=0.3))
    best = helped.decode_beams(logits, beam_width=50)[0]
    text, acoustic, combined = best[0], best[-2], best[-1]
    words = text.split()
    expected = acoustic + 0.7 * -lm.score(" ".join(words) + "\n").bits * math.log(2) + 0.3 * len(words)
    assert combined == pytest.approx(expected, rel=1e-3)
    assert best[0] != plain[0][0] or combined >= plain[0][-1]


# ---- minicons -----------------------------------------------------------------------------------------------------


def test_minicons_calls(lm: Model) -> None:
    scorer = IncrementalLMScorer(lm)
    (one, two) = scorer.token_score(["abc de", "fa"], surprisal=True, base_two=True)
    scores = lm.score("abc de")
    assert [word for word, _ in one] == ["abc", "de"]
    assert [value for _, value in one] == pytest.approx(scores.surprisal.tolist(), rel=1e-5)
    assert len(two) == 1
    total = scorer.sequence_score("abc de", reduction=lambda x: x.sum(0).item())
    assert total == pytest.approx([float(scores.log_p.sum())], rel=1e-5)
    (probabilities,) = scorer.token_score("abc de", prob=True)
    assert [value for _, value in probabilities] == pytest.approx(np.exp(scores.log_p).tolist(), rel=1e-5)
