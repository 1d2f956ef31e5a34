"""The cells of the paper's tables on a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from wordmint.console import Output
from wordmint.reproduce import Cell


def show_cells(cells: list[Cell]) -> None:
    """Ours beside the paper's, cell by cell."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for header in ("Corpus", "Model"):
        table.add_column(f"\n{header}", no_wrap=True)
    for header in ("Dev\nbpc", "Test\nbpc", "\nbits", "Paper\nbpc", "\nbits", "\nours"):
        table.add_column(header, justify="right", no_wrap=True)
    for cell in cells:
        table.add_row(*_row(cell))
    Output().print_whole(table)


def _row(cell: Cell) -> list[str]:
    result, name = cell.result, Path(cell.corpus).name
    if not result:
        return [name, cell.model, "–", "–", "–", "–", "–", "–"]
    test, published = result["test"], cell.published
    ours = [name, cell.model, f"{result['valid']['bpc']:.4f}", f"{test['bpc']:.4f}", f"{test['bits']:,.0f}"]
    if not published:
        return [*ours, "–", "–", "–"]
    paper_bits = published.test * test["characters"]
    return [*ours, f"{published.test:.3f}", f"{paper_bits:,.0f}", f"{test['bits'] / paper_bits - 1:+.2%}"]
