"""The paper's tables 1–3 on a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from wordmint.console import Output, table_width
from wordmint.corpora.source import SPLITS
from wordmint.corpora.statistics import LEAST_WORDS, CorpusStatistics, SplitStatistics

ROWS = (
    ("Character types", "character_types"),
    ("Word types", "word_types"),
    ("OOV rate", "oov_rate"),
    ("Tokens", "tokens"),
    ("Characters", "characters"),
)


def as_json(statistics: list[CorpusStatistics]) -> str:
    """An object for one corpus, a list for several."""
    objects = [_object(one) for one in statistics]
    return json.dumps(objects[0] if len(objects) == 1 else objects, ensure_ascii=False, allow_nan=False)


def _object(statistics: CorpusStatistics) -> dict[str, Any]:
    bursts = statistics.burstiness
    return asdict(statistics) | {"burstiness": bursts and asdict(bursts) | {"ratio": bursts.ratio}}


def show(statistics: list[CorpusStatistics]) -> None:
    """Print tables a person enjoys reading: tables 1 and 2 for one corpus, table 3 for several."""
    console = Output()
    if len(statistics) == 1:
        console.print(Text(statistics[0].name, "bold"), soft_wrap=True)
        console.print_whole(_one(statistics[0]))
        console.print(_growth(statistics[0]), soft_wrap=True)
    else:
        for table in _several(statistics, console.columns):
            console.print_whole(table)
        console.print_whole(_growth_of_several(statistics))


def _one(statistics: CorpusStatistics) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("")
    for split in SPLITS:
        table.add_column(split.capitalize(), justify="right")
    for label, field in ROWS:
        table.add_row(label, *(_cell(statistics.splits[split], field) for split in SPLITS))
    return table


def _several(statistics: list[CorpusStatistics], max_width: int) -> list[Table]:
    """A row a corpus, in one table or in as many, one below the other, as the width demands."""
    shown = [[ROWS[0]]]
    for row in ROWS[1:]:
        if table_width(_some_of_several(statistics, [*shown[-1], row])) <= max_width:
            shown[-1].append(row)
        else:
            shown.append([row])
    return [_some_of_several(statistics, rows) for rows in shown]


def _some_of_several(statistics: list[CorpusStatistics], rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("\nCorpus")
    columns = [(label, field, split) for label, field in rows for split in SPLITS]
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
    if not bursts:
        return f"[bold]Growth[/] and [bold]burstiness[/] need {LEAST_WORDS:,} words; {text} is too short\n"
    fit = f"{heaps.scale:.3g} · tokens^{heaps.exponent:.3f}" if heaps.exponent else "(none that fits)"
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
            f"{bursts.returned:.1%}" if bursts else "–",
            f"{bursts.predicted:.2%}" if bursts else "–",
            f"{bursts.ratio:.0f}" if bursts and bursts.ratio else "–",
        )
    return table
