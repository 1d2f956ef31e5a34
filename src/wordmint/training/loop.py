"""Training, as a story: window after window, epoch after epoch, the best model on dev is kept."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType

import torch

from wordmint.corpora.corpus import LINE_END_ID, Corpus
from wordmint.errors import UserError
from wordmint.evaluation.score import score_text
from wordmint.model.config import HCLMConfig
from wordmint.model.language_model import Network
from wordmint.model.packing import Spellings
from wordmint.training.checkpoint import restore_checkpoint, save_checkpoint
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch
from wordmint.training.graph_step import GraphStep
from wordmint.training.run_log import RunLog
from wordmint.training.schedule import Position, learning_rate
from wordmint.training.step import Step

WINDOWS_PER_REPORT = 50
DEV_STREAMS = 25  # for choices along the way; results come from one stream


class Stopped(Exception):
    """Ctrl-C or SIGTERM: the run was saved and can be resumed."""


def train(
    corpus: Corpus,
    model: Network,
    config: TrainingConfig,
    log: RunLog,
    keep_model: Callable[[float], None],
    checkpoints: Path,
    resume: bool = False,
    seconds_between_checkpoints: float = 60.0,
) -> Position:
    """Train a model on a corpus; `keep_model` is called with its dev bits whenever they are the best so far."""
    epoch = Epoch(corpus, model.config, config, next(model.parameters()).device)
    step = make_step(model, config)
    state, position = model.start(epoch.num_streams), Position()
    if resume:
        state, position, passed = restore_checkpoint(checkpoints, step, state, corpus.fingerprint)
        log.resumed(position, passed)
    saved_at = time.monotonic()

    def save() -> None:
        nonlocal saved_at
        save_checkpoint(checkpoints, step, state, position, corpus.fingerprint)
        saved_at = time.monotonic()

    with _stop_signals() as stop_wanted, log.live(config, epoch.num_windows, corpus):
        while not position.is_over(config):
            model.train()
            if position.window == 0:
                state = model.start(epoch.num_streams)
                step.nats.zero_()
            for window in epoch.windows(position.window):
                step.set_learning_rate(learning_rate(config, position, epoch.num_windows))
                state = step(window, state)
                position = replace(position, window=position.window + 1)
                if position.window % WINDOWS_PER_REPORT == 0 or stop_wanted():
                    _check_finite(step, position, config)
                    log.windows(position, float(step.nats))
                    if stop_wanted() or time.monotonic() - saved_at > seconds_between_checkpoints:
                        save()
                    if stop_wanted():
                        raise Stopped
            _check_finite(step, position, config)
            with step.average.in_place() if step.average else nullcontext():
                dev_bits = bits_of_split(model, corpus, "valid")
                if dev_bits < position.best_bits:
                    keep_model(dev_bits)
            log.epoch(position, float(step.nats), dev_bits, learning_rate(config, position, epoch.num_windows))
            position = position.after_epoch(dev_bits)
            if position.is_over(config) or time.monotonic() - saved_at > seconds_between_checkpoints:
                save()
    return position


def make_step(model: Network, config: TrainingConfig) -> Step:
    """The fastest step there is for the model on its device."""
    if not next(model.parameters()).is_cuda:
        return Step(model, config)
    torch.set_float32_matmul_precision("high")  # TF32, in training only
    return GraphStep(model, config) if isinstance(model.config, HCLMConfig) else Step(model, config)


def bits_of_split(model: Network, corpus: Corpus, split: str) -> float:
    """The bits of a split, read as some streams: quick, and a little more than with one."""
    text = corpus.splits[split].words
    spellings = Spellings(corpus.spellings, corpus.spelling_starts)
    scores = score_text(model, text, spellings, LINE_END_ID, DEV_STREAMS)
    return float(-scores.log_p.sum() / math.log(2))


def _check_finite(step: Step, position: Position, config: TrainingConfig) -> None:
    if not math.isfinite(float(step.nats)):
        raise UserError(
            f"the loss is no longer finite at epoch {position.epoch + 1}, window {position.window}; the last "
            f"checkpoint is good: lower --training.learning-rate (now {config.learning_rate:g}) or "
            f"--training.max-gradient-norm (now {config.max_gradient_norm:g})"
        )


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """Yields a function that is true once Ctrl-C or SIGTERM came; a second Ctrl-C interrupts at once."""
    received: list[int] = []

    def receive(number: int, _frame: FrameType | None) -> None:
        if received and number == signal.SIGINT:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
