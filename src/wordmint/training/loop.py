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
from wordmint.model.language_model import Network
from wordmint.model.packing import Spellings
from wordmint.training.checkpoint import has_checkpoint, restore_checkpoint, save_checkpoint
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch, has_one_shape
from wordmint.training.graph_step import GraphStep
from wordmint.training.run_log import RunLog
from wordmint.training.schedule import Position, learning_rate
from wordmint.training.step import Step

WINDOWS_PER_REPORT = 50
DEV_STREAMS = 25  # at most, for choices along the way; results come from one stream
WORDS_PER_DEV_STREAM = 2_000  # at least, or dev would mostly see an empty cache
EXPLODED = 10.0  # times what a model costs that knows nothing but the alphabet
CHARACTERS_OF_GRACE = 1_000


class Stopped(Exception):
    """Ctrl-C or SIGTERM, whose number it carries: the run was saved and can be resumed."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.exit_code = 128 + signal_number


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
        passed: list[str] = []
        if has_checkpoint(checkpoints):  # else the run ended before its first one
            state, position, passed = restore_checkpoint(checkpoints, step, state, corpus.fingerprint)
        log.resumed(config, position, passed)
    saved_at = time.monotonic()

    def save() -> None:
        nonlocal saved_at
        timed = replace(position, seconds=log.epoch_seconds if position.window else 0.0)
        save_checkpoint(checkpoints, step, state, timed, corpus.fingerprint)
        saved_at = time.monotonic()

    def check(nats: float, num_characters: int | float) -> None:
        """Stop before anything that is no longer sound is saved."""
        bearable = EXPLODED * math.log(len(corpus.alphabet)) * (num_characters + CHARACTERS_OF_GRACE)
        if not (nats < bearable and all(bool(torch.isfinite(p).all()) for p in step.parameters)):
            raise UserError(_exploded(position, config, has_checkpoint(checkpoints)))

    num_characters = corpus.splits["train"].num_characters
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
                    check(float(step.nats), num_characters * position.window / epoch.num_windows)
                    log.windows(position, float(step.nats))
                    if stop_wanted() or time.monotonic() - saved_at > seconds_between_checkpoints:
                        save()
                    if number := stop_wanted():
                        raise Stopped(number)
            check(float(step.nats), num_characters)
            with step.average.in_place() if step.average else nullcontext():
                dev_bits = bits_of_split(model, corpus, "valid")
                check(dev_bits * math.log(2), corpus.splits["valid"].num_characters)
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
    one_shape = has_one_shape(model.config, config, next(model.parameters()).device)
    return GraphStep(model, config) if one_shape else Step(model, config)


def bits_of_split(model: Network, corpus: Corpus, split: str) -> float:
    """The bits of a split, read as some streams: quick, and a little more than with one."""
    text = corpus.splits[split].words
    spellings = Spellings(corpus.spellings, corpus.spelling_starts)
    streams = max(1, min(DEV_STREAMS, len(text) // WORDS_PER_DEV_STREAM))
    scores = score_text(model, text, spellings, LINE_END_ID, streams)
    return float(-scores.log_p.sum() / math.log(2))


def _exploded(position: Position, config: TrainingConfig, is_saved: bool) -> str:
    return (
        f"the loss exploded or is no longer finite at epoch {position.epoch + 1}, window {position.window}; "
        f"{'the last checkpoint is good' if is_saved else 'nothing was saved yet'}: train anew, into another --out, "
        f"with a lower --training.learning-rate (now {config.learning_rate:g}) or --training.max-gradient-norm "
        f"(now {config.max_gradient_norm:g})"
    )


@contextmanager
def _stop_signals() -> Iterator[Callable[[], int]]:
    """Yields a function that tells the number of the signal once Ctrl-C or SIGTERM came; Ctrl-C twice does not wait."""
    received: list[int] = []

    def receive(number: int, _frame: FrameType | None) -> None:
        if received and number == signal.SIGINT:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: received[0] if received else 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
