"""Settings from tables and command lines, and what is said of the mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordmint.errors import UserError
from wordmint.model.config import CharLSTMConfig, HCLMConfig
from wordmint.training.presets import preset_names, resolve
from wordmint.training.run import RunConfig, as_toml


def expanded_names() -> list[str]:
    return [name.replace("LANG", "de") for name in preset_names()]


@pytest.mark.parametrize("name", expanded_names())
def test_every_preset_resolves_and_survives_its_own_toml(name: str, tmp_path: Path) -> None:
    config = resolve(name)
    path = tmp_path / "again.toml"
    path.write_text(as_toml(config.as_table()))
    assert resolve(str(path)) == config


@pytest.mark.parametrize("corpus", ["demo", "ptb", "wikitext2", "mwc-de"])
@pytest.mark.parametrize("model", ["lstm", "hclm", "hclm-cache"])
def test_there_is_a_preset_for_each_cell_of_the_papers_tables(corpus: str, model: str) -> None:
    config = resolve(f"{corpus}-{model}")
    assert config.corpus == {"wikitext2": "wikitext-2"}.get(corpus, corpus)
    assert isinstance(config.model, CharLSTMConfig if model == "lstm" else HCLMConfig)
    if isinstance(config.model, HCLMConfig):
        assert (config.model.slots > 0) == model.endswith("cache")


@pytest.mark.parametrize("corpus", ["ptb", "wikitext2", "mwc-fi"])
@pytest.mark.parametrize("model", ["lstm", "hclm", "hclm-cache"])
def test_the_papers_settings(corpus: str, model: str) -> None:
    config = resolve(f"{corpus}-{model}")
    assert config.model.units == (1000 if model == "lstm" else 600)
    assert config.model.layers == 1
    assert config.model.dropout.characters == config.model.dropout.output == 0.5
    if isinstance(config.model, HCLMConfig):
        assert config.model.slots in (0, 100)
        assert config.model.dropout.words == config.model.dropout.context == 0.5
    training = config.training
    assert training.streams == (25 if corpus == "ptb" else 10)
    assert (training.words_per_window, training.learning_rate, training.max_gradient_norm) == (35, 0.002, 10.0)


def test_the_command_line_lies_over_the_preset() -> None:
    overrides = ["--training.epochs", "3", "--model.dropout.words=0.125", "--training.learning-rate", "1e-3"]
    config = resolve("demo-hclm-cache", overrides, "here")
    assert isinstance(config.model, HCLMConfig)
    assert (config.training.epochs, config.training.learning_rate, config.corpus) == (3, 1e-3, "here")
    assert config.model.dropout.words == 0.125
    assert config.model.dropout.context == resolve("demo-hclm-cache").model.dropout.context


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["--training.epoch", "3"], "there is no setting training.epoch; did you mean epochs?"),
        (["--model.dropout.word", "0"], "there is no setting model.dropout.word; did you mean words?"),
        (["--training.epochs", "three"], "training.epochs is 'three'; it must be a whole number"),
        (["--training.epochs"], "a value is missing"),
        (["--training.schedule", "linear"], "it can be halving or cosine"),
        (["--model.slots", "10001"], "slots is 10001; it must lie between 0 and 10,000"),
        (["--model.dropout.words", "1"], "it must be at least 0 and below 1"),
        (["--model.kind", "gru"], "model.kind is 'gru'; it can be hclm or lstm"),
        (["--model.units", "0"], "0 units"),
        (["--training.learning_rate", "0"], "must be above 0"),
        (["--dta", "x"], "there is no option --dta; did you mean --data?"),
        (["--epochs", "3"], "there is no option --epochs; did you mean --training.epochs?"),
        (["--trainig.epochs", "3"], "there is no setting --trainig.epochs; did you mean --training.epochs?"),
        (["--training.learning-rate", "nan"], "training.learning_rate is 'nan'; it must be a number"),
        (["--training.learning-rate", "inf"], "training.learning_rate is 'inf'; it must be a number"),
        (["--training.seed", str(10**20)], "training.seed is 100000000000000000000; it must lie between"),
        (["epochs"], "a setting is --part.name VALUE"),
    ],
)
def test_mistakes_are_named(overrides: list[str], said: str) -> None:
    with pytest.raises(UserError) as error:
        resolve("demo-hclm-cache", overrides)
    assert said in str(error.value)


def test_a_preset_that_does_not_exist() -> None:
    with pytest.raises(UserError, match="there is no preset ptb-hclm-cash; did you mean ptb-hclm-cache"):
        resolve("ptb-hclm-cash")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[model", "not TOML"),
        ("[modle]\nunits = 3\n", "modle: there are corpus, \\[model\\] and \\[training\\], no more"),
        ("[model]\nkind = 'hclm'\nunitz = 3\n", "there is no setting model.unitz; did you mean units"),
        ("[model]\nkind = 'hclm'\nunits = 3.5\n", "model.units is 3.5; it must be a whole number"),
        ("[model]\nkind = 'hclm'\ndropout = 0.5\n", "model.dropout is a table of settings"),
    ],
)
def test_mistakes_in_a_file(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=said) as error:
        resolve(str(path))
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"nowhere\.toml: cannot be read"):
        resolve("nowhere.toml")


def test_settings_survive_a_round_trip() -> None:
    config = resolve("mwc-fi-hclm-cache")
    assert RunConfig.from_table(config.as_table(), "here") == config
