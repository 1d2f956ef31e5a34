"""Progress on long work: a live bar in a terminal, a plain line now and then anywhere else; always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def reading_progress(name: str) -> Iterator[Callable[[str, int], None]]:
    """Yields a function that takes what is being read and how many characters more are done."""
    console = Console(stderr=True)
    yield from _live(console, name) if console.is_terminal else _plain(console, name)


def _live(console: Console, name: str) -> Iterator[Callable[[str, int], None]]:
    columns = (TextColumn("{task.description}"), TextColumn("{task.completed:,} characters"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"preparing {name}", total=None)
        yield lambda what, done: bar.update(task, description=f"preparing {name}: {what}", advance=done)


def _plain(console: Console, name: str) -> Iterator[Callable[[str, int], None]]:
    num_done, next_line = 0, time.monotonic()

    def report(what: str, done: int) -> None:
        nonlocal num_done, next_line
        num_done += done
        if time.monotonic() >= next_line:
            console.print(f"preparing {name}: {what}, {num_done:,} characters so far", highlight=False)
            next_line = time.monotonic() + SECONDS_BETWEEN_LINES

    yield report
