"""Progress on long work: a live bar in a terminal, a plain line now and then anywhere else; always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def reading_progress(name: str) -> Iterator[Callable[[str, int], None]]:
    """Yields a function that takes what is being read and how many characters more are done."""
    console = Console(stderr=True)
    yield from _live(console, name) if console.is_terminal else _plain(console, name)


def _live(console: Console, name: str) -> Iterator[Callable[[str, int], None]]:
    what = TextColumn("{task.description}", markup=False)
    columns = (what, TextColumn("{task.completed:,} characters"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"preparing {name}", total=None)
        yield lambda what, done: bar.update(task, description=f"preparing {name}: {what}", advance=done)


def _plain(console: Console, name: str) -> Iterator[Callable[[str, int], None]]:
    num_done, next_line = 0, time.monotonic() + SECONDS_BETWEEN_LINES  # short work says nothing

    def report(what: str, done: int) -> None:
        nonlocal num_done, next_line
        num_done += done
        if time.monotonic() >= next_line:
            line = f"preparing {name}: {what}, {num_done:,} characters so far"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    yield report


@contextmanager
def scoring_progress(
    name: str, num_words: int | None, what: str = "scoring with", unit: str = "words"
) -> Iterator[Callable[[int], None]]:
    """Yields a function that takes how many more words are done; without their number, it only counts."""
    console = Console(stderr=True)
    of_all = "" if num_words is None else f" of {num_words:,}"
    if console.is_terminal:
        done = TextColumn("{task.completed:,}" + f"{of_all} {unit}")
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), done, TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(f"{what} {name}", total=num_words)
            yield lambda done: bar.update(task, advance=done)
        return
    num_done, next_line = 0, time.monotonic() + SECONDS_BETWEEN_LINES

    def report(done: int) -> None:
        nonlocal num_done, next_line
        num_done += done
        if time.monotonic() >= next_line:
            line = f"{what} {name}: {num_done:,}{of_all} {unit}"
            console.print(line, highlight=False, markup=False, soft_wrap=True)
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    yield report


@contextmanager
def fetching_progress(name: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Yields a function that takes what is being fetched, how many of its bytes are there, and how many it has."""
    console = Console(stderr=True)
    yield from _live_bytes(console, name) if console.is_terminal else _plain_bytes(console, name)


def _live_bytes(console: Console, name: str) -> Iterator[Callable[[str, int, int | None], None]]:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as bar:

        def report(what: str, num_done: int, num_bytes: int | None) -> None:
            description = f"fetching {name}: {what}"
            shown = bar.tasks[0] if bar.tasks else None
            if shown and shown.description != description:
                bar.remove_task(shown.id)
                shown = None
            task = shown.id if shown else bar.add_task(description, total=num_bytes)
            bar.update(task, completed=num_done, total=num_bytes)

        yield report


def _plain_bytes(console: Console, name: str) -> Iterator[Callable[[str, int, int | None], None]]:
    said, next_line = "", time.monotonic()

    def report(what: str, num_done: int, num_bytes: int | None) -> None:
        nonlocal said, next_line
        if what != said or time.monotonic() >= next_line:
            whole = f" of {num_bytes / 1e6:.1f}" if num_bytes else ""
            size = f", {num_done / 1e6:.1f}{whole} MB" if num_done else ""
            console.print(f"fetching {name}: {what}{size}", highlight=False, markup=False, soft_wrap=True)
            said, next_line = what, time.monotonic() + SECONDS_BETWEEN_LINES

    yield report


def line_progress(line: str) -> None:
    """A line of what was just done."""
    Console(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)
