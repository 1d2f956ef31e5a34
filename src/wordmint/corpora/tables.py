"""The paper's tables 1–3 on a terminal, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wordmint.corpora.source import SPLITS
from wordmint.corpora.statistics import CorpusStatistics, SplitStatistics

ROWS = (
    ("Character types", "character_types"),
    ("Word types", "word_types"),
    ("OOV rate", "oov_rate"),
    ("Tokens", "tokens"),
    ("Characters", "characters"),
)
WIDEST = 200  # columns, where the output is no terminal


def as_json(statistics: list[CorpusStatistics]) -> str:
    """An object for one corpus, a list for several."""
    objects = [
        asdict(one) | {"burstiness": asdict(one.burstiness) | {"ratio": one.burstiness.ratio}} for one in statistics
    ]
    return json.dumps(objects[0] if len(objects) == 1 else objects, ensure_ascii=False, allow_nan=False)


def show(statistics: list[CorpusStatistics]) -> None:
    """Print tables a person enjoys reading: tables 1 and 2 for one corpus, table 3 for several."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(highlight=False, width=WIDEST)
    if len(statistics) == 1:
        console.print(_one(statistics[0]))
        console.print(_growth(statistics[0]), soft_wrap=True)
    else:
        console.print(_several(statistics))
        console.print(_growth_of_several(statistics))


def _one(statistics: CorpusStatistics) -> Table:
    table = Table(title=Text(statistics.name, "bold"), box=SIMPLE_HEAD, title_justify="left")
    table.add_column("")
    for split in SPLITS:
        table.add_column(split.capitalize(), justify="right")
    for label, field in ROWS:
        table.add_row(label, *(_cell(statistics.splits[split], field) for split in SPLITS))
    return table


def _several(statistics: list[CorpusStatistics]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("\nCorpus")
    columns = [(label, field, split) for label, field in ROWS for split in SPLITS]
    columns = [column for column in columns if column[1:] != ("oov_rate", "train")]
    for label, field, split in columns:
        starts_group = split == ("valid" if field == "oov_rate" else "train")
        table.add_column(f"{label if starts_group else ''}\n{split.capitalize()}", justify="right", no_wrap=True)
    for one in statistics:
        table.add_row(Text(one.name), *(_cell(one.splits[split], field) for _, field, split in columns))
    return table


def _cell(split: SplitStatistics | None, field: str) -> str:
    value = getattr(split, field) if split else None
    if value is None:
        return "–"
    return f"{value:.2%}" if field == "oov_rate" else f"{value:,}"


def _growth(statistics: CorpusStatistics) -> str:
    heaps, bursts, text = statistics.heaps, statistics.burstiness, statistics.measured_on
    fit = f"{heaps.scale:.3g} · tokens^{heaps.exponent:.3f}" if heaps.exponent else "(too short a text to fit)"
    times = f" ({bursts.ratio:.0f} times less)" if bursts.ratio else ""
    return (
        f"[bold]Growth[/]      word types ≈ {fit} in {text}\n"
        f"[bold]Burstiness[/]  {bursts.returned:.1%} of the words new to {text} come again within the "
        f"next 100 distinct words;\n            their frequency alone predicts {bursts.predicted:.2%}{times}\n"
    )


def _growth_of_several(statistics: list[CorpusStatistics]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("\nCorpus")
    for header in ("Growth\nexponent", "New words that come again\nwithin 100 distinct", "\npredicted", "\ntimes more"):
        table.add_column(header, justify="right")
    for one in statistics:
        bursts, exponent = one.burstiness, one.heaps.exponent
        table.add_row(
            Text(one.name),
            f"{exponent:.3f}" if exponent else "–",
            f"{bursts.returned:.1%}",
            f"{bursts.predicted:.2%}",
            f"{bursts.ratio:.0f}" if bursts.ratio else "–",
        )
    return table
