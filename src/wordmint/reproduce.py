"""The paper's tables of results: a cell is one model on one corpus, trained and evaluated as a user would do it.

Each cell is a run's folder; `result.json` is written into it when the cell is done. So a table that was interrupted
goes on where it stopped, and cells can be computed side by side.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordmint.errors import UserError
from wordmint.evaluation.published import PAPER, Published

MODELS = ("lstm", "hclm", "hclm-cache")
RESULT = "result.json"
SPLITS = ("valid", "test")
HEADERS = ("corpus", "model", "dev bpc", "test bpc", "test bits", "paper dev", "paper test", "paper bits")
HEADERS += ("parameters", "epochs", "minutes")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """One model on one corpus."""

    table: str  # the corpus whose presets and published numbers these are: "ptb", "mwc-de"
    corpus: str  # a name or a path
    data: Path | None
    model: str
    preset: str
    folder: Path
    settings: tuple[str, ...] = ()  # laid over the preset, as on the command line

    @property
    def training(self) -> list[str]:
        """What is given to `wordmint train`."""
        return ["train", "--preset", self.preset, "--out", str(self.folder), *self.text, *self.settings]

    @property
    def text(self) -> list[str]:
        """The options that name the corpus."""
        return ["--corpus", self.corpus, *(["--data", str(self.data)] if self.data else [])]

    @property
    def name(self) -> str:
        """Short, for progress."""
        return f"{Path(self.corpus).name} {self.model}"

    @property
    def published(self) -> Published | None:
        """The paper's numbers, where the corpus is the paper's."""
        return PAPER.get(self.table, {}).get(self.model) if self.corpus == self.table else None

    @property
    def result(self) -> dict[str, Any] | None:
        """What came out, if the cell is done."""
        path = self.folder / RESULT
        if not path.is_file():
            return None
        result = json.loads(path.read_text("utf-8"))
        if result["command"] != _command(self):
            raise UserError(f"{path}: of another command ({result['command']}); name another folder with --out")
        return result


class Cells:
    """Computes cells, some side by side; what is done is not done again."""

    def __init__(self, device: str, say: Say) -> None:
        self.device, self.say = device, say
        self.running: set[subprocess.Popen[str]] = set()

    def compute(self, cells: list[Cell], side_by_side: int) -> None:
        """Compute all cells; Ctrl-C and SIGTERM let each training save."""
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        with ThreadPoolExecutor(side_by_side) as pool:
            futures = [pool.submit(self._compute, cell, side_by_side > 1) for cell in cells if not cell.result]
            try:
                failures = [failure for future in as_completed(futures) if (failure := self._failure(future))]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in list(self.running):
                    process.send_signal(signal.SIGTERM)
                raise
            finally:
                signal.signal(signal.SIGTERM, before)
        if failures:
            raise UserError(f"{'; '.join(failures)}; the cells that are done are kept")

    def _failure(self, future: Future[None]) -> str | None:
        """What went wrong with a cell, if anything did: no reason to stop those beside it."""
        try:
            return future.result()
        except UserError as error:
            self.say(str(error))
            return str(error)

    def _compute(self, cell: Cell, quietly: bool) -> None:
        device = ["--device", self.device]
        resume = ["--resume"] if (cell.folder / "config.toml").exists() else []
        self.say(f"{cell.name}: training{' goes on' if resume else ''} ({cell.preset})")
        self._wordmint([*cell.training, *device, *resume], cell, quietly)
        evaluate = ["evaluate", str(cell.folder), *cell.text, *device, "--json", "--split"]
        evaluations = {split: json.loads(self._wordmint([*evaluate, split], cell, quietly)) for split in SPLITS}
        result = evaluations | _about(cell)
        partial = cell.folder / f".{RESULT}"
        partial.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        partial.rename(cell.folder / RESULT)
        self.say(f"{cell.name}: test {result['test']['bits']:,.0f} bits, {result['test']['bpc']:.4f} bpc")

    def _wordmint(self, arguments: list[str], cell: Cell, quietly: bool) -> str:
        """Run the command; side by side its progress goes into a file instead of the terminal."""
        cell.folder.parent.mkdir(parents=True, exist_ok=True)
        log = cell.folder.with_name(f"{cell.folder.name}.log")
        with log.open("a", encoding="utf-8") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "wordmint", *arguments],
                stdout=subprocess.PIPE,
                stderr=file if quietly else None,
                text=True,
            )
            self.running.add(process)
            output, _ = process.communicate()
            self.running.discard(process)
        if process.returncode:
            reason = (log.read_text("utf-8").strip().splitlines() or [""])[-1] if quietly else "see above"
            raise UserError(f"{cell.name}: wordmint {arguments[0]} failed ({reason})")
        return output


def _command(cell: Cell) -> str:
    return shlex.join(["wordmint", *cell.training])


def _about(cell: Cell) -> dict[str, Any]:
    run = json.loads((cell.folder / "run.json").read_text("utf-8"))
    rows = [json.loads(row) for row in (cell.folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return {
        "command": _command(cell),
        "commit": run["commit"],
        "hardware": run["hardware"],
        "date": run["date"][:10],
        "parameters": run["parameters"],
        "epochs": len(rows),
        "seconds": sum(row["seconds"] for row in rows),
    }


def rows_as_markdown(cells: list[Cell]) -> Iterator[str]:
    """Rows for `docs/results.md`: ours beside the paper's, and how to get them again."""
    yield f"| {' | '.join(HEADERS)} |"
    yield f"|{'---|' * len(HEADERS)}"
    done = [(cell, result) for cell in cells if (result := cell.result)]
    for cell, result in done:
        yield "| " + " | ".join(_columns(cell, result)) + " |"
    yield ""
    for cell, result in done:
        yield f"- {cell.name}: `{result['command']}`, commit {result['commit']}, {result['hardware']}, {result['date']}"


def _columns(cell: Cell, result: dict[str, Any]) -> list[str]:
    test, published = result["test"], cell.published
    return [
        Path(cell.corpus).name,
        cell.model,
        f"{result['valid']['bpc']:.4f}",
        f"{test['bpc']:.4f}",
        f"{test['bits']:,.0f}",
        f"{published.valid:.3f}" if published else "–",
        f"{published.test:.3f}" if published else "–",
        f"{published.test * test['characters']:,.0f}" if published else "–",
        f"{result['parameters']:,}",
        str(result["epochs"]),
        f"{result['seconds'] / 60:.1f}",
    ]
