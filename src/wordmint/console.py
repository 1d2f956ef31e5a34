"""Tables on a terminal, in a file, or for a program: whole, never cut to the width there is."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console
from rich.table import Table

UNBOUNDED = 1_000_000  # columns, where the output is no terminal


class Output(Console):
    """Standard output, without colours for numbers."""

    def __init__(self) -> None:
        super().__init__(highlight=False)
        self.soft_wrap = not self.is_terminal  # a program wants a line to be a line

    def on_broken_pipe(self) -> NoReturn:
        """The reader, `| head`, has seen enough; `cli.main` knows what that means."""
        raise BrokenPipeError

    @property
    def columns(self) -> int:
        """How wide a table may be."""
        return self.width if self.is_terminal else UNBOUNDED

    def print_whole(self, table: Table) -> None:
        """Print a table at its own width: rich would cut numbers and names to the terminal's."""
        table.width = table_width(table)
        self.print(table, soft_wrap=True)


def table_width(table: Table) -> int:
    """How many columns it takes."""
    return Console(width=UNBOUNDED).measure(table).maximum
