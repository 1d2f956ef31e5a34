"""`wordmint reproduce` and `wordmint demo`: the whole way from text to a table, through the real commands."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.command import WORDMINT, assert_user_mistake, wordmint, write_corpus
from wordmint.evaluation.published import PAPER

LINES = ["the cat saw Zoltan .", "Zoltan saw the dog .", "a dog and a cat", "Mirabel met Zoltan twice ."]
SMALL = ("--set", "model.units=6", "--set", "training.epochs=1", "--set", "training.streams=4")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "mine", train="\n".join(LINES * 20), valid="\n".join(LINES), test=LINES[0])


def test_a_table_is_computed_once(corpus: Path, tmp_path: Path) -> None:
    arguments = ("reproduce", corpus, "--out", tmp_path / "runs", *SMALL)
    first = wordmint(*arguments, "--side-by-side", "2", "--rows", tmp_path / "rows.md", environment=ONE_THREAD)
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("training (mwc-de-") == 3
    table = (tmp_path / "rows.md").read_text()
    for model in ("lstm", "hclm", "hclm-cache"):
        result = json.loads((tmp_path / "runs" / f"mine-{model}" / "result.json").read_text())
        assert f"{result['test']['bits']:,.0f}" in first.stdout
        assert f"{result['test']['bits']:,.0f}" in table
        assert result["test"]["streams"] == 1
        assert f"`{result['command']}`, commit {result['commit']}, {result['hardware']}" in table
    again = wordmint(*arguments, environment=ONE_THREAD)
    assert again.returncode == 0
    assert "training" not in again.stderr
    assert again.stdout == first.stdout
    other = wordmint("reproduce", corpus, "--out", tmp_path / "runs", "--set", "training.epochs=2")
    assert_user_mistake(other, "result.json: of another command", "name another folder with --out")


def test_a_cell_that_fails_does_not_stop_the_others(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "runs" / "mine-lstm").mkdir(parents=True)
    (tmp_path / "runs" / "mine-lstm" / "config.toml").write_text("no settings [")
    arguments = ("reproduce", corpus, "--out", tmp_path / "runs", "--models", "lstm", "--models", "hclm", *SMALL)
    result = wordmint(*arguments, "--side-by-side", "2", environment=ONE_THREAD)
    assert result.returncode == 2
    assert "mine lstm: wordmint train failed" in result.stderr.splitlines()[-1]
    assert "not the settings of a run" in result.stderr.splitlines()[-1]
    assert (tmp_path / "runs" / "mine-hclm" / "result.json").is_file()


def test_a_table_that_was_stopped_goes_on(corpus: Path, tmp_path: Path) -> None:
    arguments = [*WORDMINT, "reproduce", str(corpus), "--out", str(tmp_path / "runs"), "--models", "hclm"]
    long = [*arguments, "--set", "training.epochs=100000", "--set", "training.patience=0", "--set", "model.units=6"]
    with subprocess.Popen(long, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("epoch 1/"):
                break
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait() == 130, said
    assert "the same command goes on from here" in said
    assert list((tmp_path / "runs" / "mine-hclm" / "checkpoints").iterdir()), "the training saved nothing"


def test_mistakes(corpus: Path, tmp_path: Path) -> None:
    assert_user_mistake(wordmint("reproduce", corpus, "--set", "training.epochs"), "it is NAME=VALUE")
    assert_user_mistake(wordmint("reproduce", tmp_path / "nowhere"), "neither a corpus")
    assert_user_mistake(wordmint("reproduce", corpus, "--set", "training.epoch=3"), "did you mean epochs?")
    assert_user_mistake(wordmint("reproduce", corpus, "--like", "wikitext-3"), "there is no preset")
    assert_user_mistake(wordmint("reproduce", corpus, "--side-by-side", "0"), "must be at least 1")


def test_the_papers_table() -> None:
    assert len(PAPER) == 9
    assert all(set(row) == {"lstm", "hclm", "hclm-cache"} for row in PAPER.values())
    for row in PAPER.values():  # the paper's order, on both splits
        assert row["lstm"].test > row["hclm"].test > row["hclm-cache"].test
        assert row["lstm"].valid > row["hclm"].valid > row["hclm-cache"].valid


def test_the_demo(tmp_path: Path) -> None:
    tiny = ("--model.units", "2", "--training.epochs", "1", "--training.streams", "500", "--model.slots", "3")
    arguments = ("demo", "--out", tmp_path / "out", "--no-baselines", *tiny)
    result = wordmint(*arguments, environment=ONE_THREAD)
    assert result.returncode == 0, result.stderr
    assert "Burstiness" in result.stdout
    assert "spelling every word" in result.stdout
    assert f"wordmint evaluate {tmp_path / 'out' / 'run' / 'model'} FILE" in result.stdout
    again = wordmint(*arguments, environment=ONE_THREAD)
    assert again.stdout == result.stdout
