"""Training: what a step computes, schedules, averages, and the loop that can stop anywhere and go on."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.made_corpora import made_corpus
from tests.models import ALPHABET_SIZE, CONFIGS, laid_out, made_text
from wordmint.corpora.corpus import Corpus
from wordmint.model.config import CharLSTMConfig, Dropout, HCLMConfig, ModelConfig
from wordmint.model.language_model import Network, build
from wordmint.training import loop
from wordmint.training.average import Average
from wordmint.training.checkpoint import restore_checkpoint, save_checkpoint
from wordmint.training.config import TrainingConfig
from wordmint.training.run_log import RunLog
from wordmint.training.schedule import Position, learning_rate
from wordmint.training.step import Step

GOLDEN = Path(__file__).parent / "golden" / "losses.json"
SOME_DROPOUT = Dropout(0.2, 0.2, 0.2, 0.2, 0.2, 0.2)
TINY: dict[str, ModelConfig] = {
    "lstm": CharLSTMConfig(units=8, dropout=SOME_DROPOUT),
    "hclm": HCLMConfig(units=6, slots=0, dropout=SOME_DROPOUT),
    "hclm-cache": HCLMConfig(units=6, slots=5, dropout=SOME_DROPOUT),
}
TRAINING = TrainingConfig(epochs=3, streams=3, words_per_window=4, learning_rate=0.01, averaging=0.9)


def weights_from(seed: int, model: Network) -> None:
    """The same on every machine, whatever PyTorch's generators do."""
    random = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(random.uniform(-0.3, 0.3, parameter.shape)))


@pytest.mark.parametrize("name", CONFIGS)
def test_three_steps_cost_what_they_always_did(name: str) -> None:
    """Written by `python -m tests.golden.make`; a change of these numbers is a change of the model."""
    assert golden_losses(name) == pytest.approx(json.loads(GOLDEN.read_text())[name], rel=1e-5)


def golden_losses(name: str) -> list[float]:
    model = build(CONFIGS[name], ALPHABET_SIZE).train()
    weights_from(7, model)
    step, state, losses = Step(model, TRAINING), model.start(3), []
    for window, _ in zip(laid_out(model, made_text(36, seed=7), 3, 4), range(3), strict=False):
        step.nats.zero_()
        state = step(window, state)
        losses.append(float(step.nats))
    return losses


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    lines = ["the cat saw Zoltan", "Zoltan saw the dog", "a dog and a cat", "Mirabel met Zoltan twice"]
    return made_corpus(tmp_path / "made", train="\n".join(lines * 6), valid="\n".join(lines), test=lines[0])


class Killed(Exception):
    """As if the process had died."""


def trained(
    corpus: Corpus,
    folder: Path,
    config: ModelConfig,
    training: TrainingConfig,
    die_after: int = 0,
    resume: bool = False,
) -> tuple[Network, Position, list[float]]:
    """Train; `die_after` some windows, as a killed process would, with nothing after the last checkpoint kept."""
    torch.manual_seed(training.seed)
    model = build(config, len(corpus.alphabet))
    kept: list[float] = []
    position = loop.train(
        corpus, model, training, DyingLog(folder / "metrics.jsonl", die_after), kept.append, folder, resume, 0.0
    )
    return model, position, kept


class DyingLog(RunLog):
    def __init__(self, metrics: Path, die_after: int) -> None:
        super().__init__(metrics)
        self.windows_left = die_after

    def windows(self, position: Position, nats: float) -> None:
        super().windows(position, nats)
        self.windows_left -= 1
        if self.windows_left == 0:
            raise Killed


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("die_after", [2, 9, 12])
@pytest.mark.parametrize("schedule", ["cosine", "halving"])
def test_a_run_that_died_ends_with_the_same_bits(
    name: str, die_after: int, schedule: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "WINDOWS_PER_REPORT", 1)  # a checkpoint after each window
    training = replace(TRAINING, schedule=schedule)
    whole, position, kept = trained(corpus, tmp_path / "whole", TINY[name], training)
    with pytest.raises(Killed):
        trained(corpus, tmp_path / "died", TINY[name], training, die_after)
    torch.manual_seed(99)  # whatever the new process begins with is not to matter
    resumed, position_too, _ = trained(corpus, tmp_path / "died", TINY[name], training, resume=True)
    assert position == position_too
    assert position.best_bits == min(kept)
    for mine, theirs in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    rows, rows_too = (
        [json.loads(row) | {"seconds": 0} for row in (tmp_path / folder / "metrics.jsonl").read_text().splitlines()]
        for folder in ("whole", "died")
    )
    assert rows == rows_too
    assert [row["epoch"] for row in rows] == [1, 2, 3]


def test_ten_steps_and_ten_steps_are_twenty(tmp_path: Path) -> None:
    """The law, on a step by itself: weights, optimiser, average, random numbers, state and keys are all restored."""
    text, config = made_text(200, seed=3), replace(CONFIGS["hclm-cache"], dropout=SOME_DROPOUT)
    windows = list(laid_out(build(config, ALPHABET_SIZE), text, 2, 5))
    assert len(windows) == 20

    def fresh(seed: int) -> tuple[Step, Network]:
        torch.manual_seed(seed)
        model = build(config, ALPHABET_SIZE).train()
        return Step(model, TRAINING), model

    step, model = fresh(1)
    state = model.start(2)
    for window in windows:
        state = step(window, state)
    half, half_model = fresh(1)
    half_state = half_model.start(2)
    for window in windows[:10]:
        half_state = half(window, half_state)
    save_checkpoint(tmp_path, half, half_state, Position(window=10), "data")
    other, other_model = fresh(2)
    other_state, position, passed = restore_checkpoint(tmp_path, other, other_model.start(2), "data")
    assert (position.window, passed) == (10, [])
    assert other_state == half_state
    for window in windows[10:]:
        other_state = other(window, other_state)
    assert other_state == state
    assert torch.equal(other.nats, step.nats)
    for mine, theirs in zip(model.parameters(), other_model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert step.average is not None and other.average is not None
    for mine, theirs in zip(step.average.sums, other.average.sums, strict=True):
        assert torch.equal(mine, theirs)


def test_the_last_two_checkpoints_are_kept(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "WINDOWS_PER_REPORT", 1)
    trained(corpus, tmp_path / "run", TINY["hclm"], TRAINING)
    assert len([path for path in (tmp_path / "run").iterdir() if path.is_dir()]) == 2


def gradients_seen(step: Step) -> list[torch.Tensor]:
    """Where the gradients are put that the optimiser takes, which divides them by `grad_scale`."""
    seen: list[torch.Tensor] = []

    def look(optimizer: Any, *_: Any) -> None:
        seen.extend(p.grad / optimizer.grad_scale for p in step.parameters if p.grad is not None)

    step.optimizer.register_step_pre_hook(look)
    return seen


@pytest.mark.parametrize(("bound", "expected"), [(1e9, None), (1e-3, 1e-3)])
def test_clipping_bounds_the_gradient(bound: float, expected: float | None) -> None:
    model = build(CONFIGS["hclm"], ALPHABET_SIZE).train()
    weights_from(1, model)
    step = Step(model, replace(TRAINING, max_gradient_norm=bound))
    seen = gradients_seen(step)
    step(next(iter(laid_out(model, made_text(12, seed=1), 3, 4))), model.start(3))
    norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in seen))
    assert norm == pytest.approx(expected, rel=1e-3) if expected else norm > 0.1


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    model = build(CONFIGS["hclm-cache"], ALPHABET_SIZE).train()
    weights_from(1, model)
    step, window = Step(model, TRAINING), next(iter(laid_out(model, made_text(12, seed=1), 3, 4)))
    before = [parameter.detach().clone() for parameter in step.parameters]
    spoiled = step.parameters[2].register_hook(lambda gradient: gradient * math.inf)
    step(window, model.start(3))
    assert all(torch.equal(old, new) for old, new in zip(before, step.parameters, strict=True))
    spoiled.remove()
    step(window, model.start(3))
    assert not torch.equal(before[0], step.parameters[0])
    assert all(bool(torch.isfinite(parameter).all()) for parameter in step.parameters)


def test_the_loss_is_the_mean_over_words() -> None:
    """So that a window with few words has as large a step as a full one."""
    model = build(CONFIGS["hclm"], ALPHABET_SIZE).train()
    weights_from(1, model)
    window = next(iter(laid_out(model, made_text(11, seed=1), 3, 4)))
    assert int(window.present.sum()) == 11
    scores, _ = model(window, model.start(3))
    (-scores.log_p.sum() / 11).backward()
    expected = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    step = Step(model, replace(TRAINING, max_gradient_norm=1e9))
    seen = gradients_seen(step)
    step(window, model.start(3))
    torch.testing.assert_close(seen, expected)


# ---- schedules and averages --------------------------------------------------------------------------------------


def test_halving_waits_for_dev_to_stop_improving() -> None:
    config = replace(TRAINING, schedule="halving", learning_rate=0.8)
    position, rates = Position(), []
    for dev_bits in (10.0, 9.0, 9.5, 8.0, 8.0, 8.5):
        position = position.after_epoch(dev_bits)
        rates.append(learning_rate(config, position, 10))
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.2, 0.1])


def test_cosine_ends_at_zero() -> None:
    config = replace(TRAINING, schedule="cosine", learning_rate=0.8, epochs=4)
    rates = [learning_rate(config, Position(epoch=epoch, window=5), 10) for epoch in range(4)]
    assert rates == pytest.approx([0.4 * (1 + math.cos(math.pi * (epoch + 0.5) / 4)) for epoch in range(4)])
    assert learning_rate(config, Position(), 10) == 0.8
    assert learning_rate(config, Position(epoch=4), 10) == pytest.approx(0)


def test_patience_ends_training() -> None:
    config = replace(TRAINING, epochs=100, patience=2)
    position = Position()
    for dev_bits, is_over in ((10.0, False), (11.0, False), (9.0, False), (9.0, False), (9.5, True)):
        position = position.after_epoch(dev_bits)
        assert position.is_over(config) == is_over
    assert not replace(position, epochs_since_best=50).is_over(replace(config, patience=0))


def test_the_average_is_a_weighted_mean_and_goes_as_it_came() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    average, values = Average(model, 0.5), [3.0, 5.0, 9.0]
    for value in values:
        torch.nn.init.constant_(model.weight, value)
        average.update()
        average.num_updates += 1
    with average.in_place():
        weights = [0.125, 0.25, 0.5]
        expected = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
        assert float(model.weight.detach()) == pytest.approx(expected)
    assert float(model.weight.detach()) == 9
