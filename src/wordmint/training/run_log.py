"""What a run says of itself: a bar or plain lines on stderr, and every figure in `metrics.jsonl`."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from wordmint.corpora.corpus import Corpus
from wordmint.errors import UserError
from wordmint.training.config import TrainingConfig
from wordmint.training.schedule import Position

SECONDS_BETWEEN_LINES = 15.0


@runtime_checkable
class BoardWriter(Protocol):
    """What of TensorBoard's writer is used here."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None: ...
    def flush(self) -> None: ...


def board_writer(folder: Path) -> BoardWriter:
    """Writes for TensorBoard, which is an extra."""
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        raise UserError("--tensorboard needs `pip install 'wordmint[tensorboard]'`") from None
    return SummaryWriter(str(folder))


class RunLog:
    """Knows how fast training goes and how good it is so far."""

    def __init__(self, metrics: Path, board: BoardWriter | None = None) -> None:
        self.metrics, self.board = metrics, board
        self.console = Console(stderr=True, highlight=False)
        self.bar: Progress | None = None
        self.task = TaskID(0)
        self.config: TrainingConfig
        self.num_windows = 0
        self.train_characters = self.dev_characters = 0
        self.epoch_began = self.next_line = time.monotonic()
        self.first_window, self.seconds_before = 0, 0.0

    @contextmanager
    def live(self, config: TrainingConfig, num_windows: int, corpus: Corpus) -> Iterator[None]:
        """Inside, progress is shown."""
        self.config, self.num_windows = config, num_windows
        self.train_characters = corpus.splits["train"].num_characters
        self.dev_characters = corpus.splits["valid"].num_characters
        self.epoch_began = time.monotonic()
        if not self.console.is_terminal:
            yield
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.console, transient=True) as self.bar:
            self.task = self.bar.add_task("training", total=config.epochs * num_windows)
            yield
        self.bar = None

    @property
    def epoch_seconds(self) -> float:
        """How long the epoch took so far, with the time before a resume."""
        return self.seconds_before + time.monotonic() - self.epoch_began

    def resumed(self, config: TrainingConfig, position: Position, passed: list[str]) -> None:
        """Where a resumed run goes on, and which damaged checkpoints it did not use."""
        for message in passed:
            self._say(f"wordmint: warning: {message}; going on from the one before it")
        if position.is_over(config):
            self._say("this run is over already; --out names another folder for another run")
        else:
            self._say(f"resumed at epoch {position.epoch + 1}, window {position.window}")
        self.first_window, self.seconds_before = position.window, position.seconds
        if self.metrics.exists():  # what came after the checkpoint comes again
            rows = [row for row in self.metrics.read_text("utf-8").splitlines() if _epoch_of(row) <= position.epoch]
            self.metrics.write_text("".join(f"{row}\n" for row in rows), "utf-8")

    def windows(self, position: Position, nats: float) -> None:
        """Some windows of an epoch are done, with so many nats since its beginning."""
        share = position.window / self.num_windows
        seconds = time.monotonic() - self.epoch_began
        rate = (position.window - self.first_window) / self.num_windows * self.train_characters / max(seconds, 1e-9)
        bpc = nats / math.log(2) / (share * self.train_characters)
        text = f"epoch {position.epoch + 1}/{self.config.epochs}  {bpc:.3f} bpc  {rate:,.0f} characters/s"
        if self.bar:
            done = position.epoch * self.num_windows + position.window
            self.bar.update(self.task, completed=done, description=text)
        elif time.monotonic() >= self.next_line:
            left = (self.config.epochs - position.epoch - share) * self.train_characters / max(rate, 1e-9)
            self._say(f"{text}  at most {f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'} left")
            self.next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    def epoch(self, position: Position, train_nats: float, dev_bits: float, rate: float) -> None:
        """An epoch is done and dev was evaluated."""
        seconds = self.epoch_seconds
        train_bpc = train_nats / math.log(2) / self.train_characters
        dev_bpc = dev_bits / self.dev_characters
        is_best = dev_bits < position.best_bits
        self._say(
            f"epoch {position.epoch + 1}/{self.config.epochs}  train {train_bpc:.4f}  dev {dev_bpc:.4f} bpc"
            f"{' (best)' if is_best else ''}  {seconds:.1f} s"
        )
        self._record(
            epoch=position.epoch + 1,
            train_bpc=train_bpc,
            dev_bits=dev_bits,
            dev_bpc=dev_bpc,
            learning_rate=rate,
            seconds=seconds,
        )
        self.epoch_began, self.first_window, self.seconds_before = time.monotonic(), 0, 0.0

    def _record(self, **figures: Any) -> None:
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")
        if self.board:
            for name in figures.keys() - {"epoch"}:
                self.board.add_scalar(name, figures[name], figures["epoch"])
            self.board.flush()

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


def _epoch_of(row: str) -> float:
    """The epoch of a line of the metrics; a line that a kill cut short belongs to none."""
    try:
        return float(json.loads(row)["epoch"])
    except (ValueError, KeyError, TypeError):
        return math.inf
