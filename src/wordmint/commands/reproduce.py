"""`wordmint reproduce`: the paper's result tables, ours beside theirs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from wordmint.errors import UserError

if TYPE_CHECKING:
    from wordmint.reproduce import Cell

app = App(name="reproduce", help="The paper's result tables, ours beside theirs.")


@app.default
def reproduce(
    *corpora: str,
    data: Path | None = None,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("runs/reproduce"),
    models: Annotated[tuple[Literal["lstm", "hclm", "hclm-cache"], ...], Parameter(negative="")] = (
        "lstm",
        "hclm",
        "hclm-cache",
    ),
    like: str = "mwc-de",
    as_printed: bool = False,
    side_by_side: int = 1,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    rows: Path | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Train and evaluate the models of the paper's tables 4 to 6; what is done already is only shown.

    Parameters
    ----------
    corpora
        ptb, wikitext-2, mwc, mwc-LANG, or any folder with train, valid and test. Without any: ptb.
    data
        Folder with the files of a named corpus.
    out
        Where the runs are kept.
    models
        Which columns of the tables.
    like
        For a folder: whose presets it gets.
    as_printed
        The settings that the paper prints, even where others reach its numbers.
    side_by_side
        How many cells are computed at once; on a large GPU several fit.
    set_
        A setting laid over every preset, such as training.epochs=3.
    rows
        Also append the table to this file, as Markdown with commands, commits, hardware and dates.
    device
        Where to compute. auto: the GPU if there is one.
    """
    from wordmint.progress import line_progress
    from wordmint.reproduce import Cells, rows_as_markdown
    from wordmint.results import show_cells

    for one in set_:
        if "=" not in one:
            raise UserError(f"--set {one}: it is NAME=VALUE, such as training.epochs=3")
    if side_by_side < 1:
        raise UserError(f"--side-by-side {side_by_side}: it must be at least 1")
    settings = tuple(part for one in set_ for part in (f"--{one.partition('=')[0]}", one.partition("=")[2]))
    cells = [
        cell
        for name in corpora or ("ptb",)
        for cell in _cells(name, data, out, tuple(models), like, as_printed, settings)
    ]
    try:
        Cells(device, line_progress).compute(cells, side_by_side)
    except KeyboardInterrupt:
        print("wordmint: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    show_cells(cells)
    if rows:
        with rows.open("a", encoding="utf-8") as file:
            file.write("\n".join(rows_as_markdown(cells)) + "\n\n")


def _cells(
    name: str,
    data: Path | None,
    out: Path,
    models: tuple[str, ...],
    like: str,
    as_printed: bool,
    settings: tuple[str, ...],
) -> list[Cell]:
    """The cells of a name, or of all corpora in a folder."""
    from wordmint.corpora.catalogue import find_sources
    from wordmint.corpora.mwc import LANGUAGES
    from wordmint.reproduce import Cell
    from wordmint.text.documents import Encoding
    from wordmint.training.presets import best_preset, resolve

    sources = find_sources(name, data, Encoding())
    is_named = name in ("ptb", "wikitext-2", "wikitext2", "demo") or name.startswith("mwc")
    cells = []
    for source in sources:
        if is_named:
            corpus, table = source.name, source.name.removesuffix("-large")
        else:
            path = Path(name) if len(sources) == 1 else Path(name) / source.name
            corpus, table = str(path), f"mwc-{source.name}" if source.name in LANGUAGES else like
        for model in models:
            preset = best_preset(f"{table.replace('wikitext-2', 'wikitext2')}-{model}", as_printed)
            resolve(preset, settings)  # a mistake in the settings is told before anything is computed
            cells.append(Cell(table, corpus, data, model, preset, out / f"{source.name}-{model}", settings))
    return cells
