"""The paper's figure of new words: how often the words of dev and test occur that train lacks (figures 2 and 4)."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordmint.corpora.corpus import Corpus
from wordmint.corpora.statistics import num_train_types
from wordmint.corpora.vocabulary import count_words
from wordmint.errors import UserError
from wordmint.shapes import Array, Int

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".svg", ".pdf", ".png")
PAGE_WIDTH, PAGE_HEIGHT = 7.0, 9.0  # inches: within the text of A4 and letter paper
PANEL_HEIGHT = 2.5  # where the page has room for it
LABELS_HEIGHT = 0.4
LETTERS_PER_INCH = 12  # of a title, in the usual size
BLUE, ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito: told apart by everybody
LEAST_SHOWN = 0.6  # word types: where the fit expects fewer than one, it says nothing
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "wordmint",  # the same figure is the same file
    "svg.fonttype": "none",
}


def new_word_frequencies(corpus: Corpus) -> Int[Array, " new_types"]:
    """How often each type that train lacks occurs in valid and test together."""
    if "train" not in corpus.splits or len(corpus.splits) < 2:
        raise UserError(f"{corpus.name}: new words are told by a train split and a valid or test split; one is missing")
    held_out = [split.words for name, split in corpus.splits.items() if name != "train"]
    counts = np.sum([count_words(words, corpus.num_types) for words in held_out], axis=0)
    return counts[num_train_types(corpus) :]


def draw_new_words(corpora: list[Corpus], path: Path) -> None:
    """Write the figure, a panel a corpus, fit to a page."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"{path}: a picture's name ends in {', '.join(SUFFIXES)}")
    frequencies = [(corpus.name, new_word_frequencies(corpus)) for corpus in corpora]
    try:
        import matplotlib
    except ImportError:
        raise UserError("drawing needs matplotlib: `pip install 'wordmint[figures]'`") from None
    matplotlib.use("Agg")
    _, columns = _grid(len(corpora))
    with matplotlib.rc_context(STYLE | {"font.size": STYLE["font.size"] * min(1.0, 3.5 / columns)}):
        _draw(frequencies, path)


def _draw(frequencies: list[tuple[str, Int[Array, " new_types"]]], path: Path) -> None:
    from matplotlib import pyplot

    rows, columns = _grid(len(frequencies))
    width = PAGE_WIDTH if columns > 1 else PAGE_WIDTH * 0.65
    height = min(PANEL_HEIGHT * rows + LABELS_HEIGHT, PAGE_HEIGHT) if columns > 1 else PAGE_WIDTH * 0.45
    figure, panels = pyplot.subplots(
        rows, columns, figsize=(width, height), squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    num_letters = int(width / columns * LETTERS_PER_INCH * STYLE["font.size"] / pyplot.rcParams["font.size"])
    for (name, counts), panel in zip(frequencies, panels.flat, strict=False):
        _panel(panel, _title(name, len(counts), num_letters), counts)
    panels.flat[0].set_ylim(bottom=LEAST_SHOWN)
    for empty in range(len(frequencies), rows * columns):
        panels.flat[empty].set_visible(False)
        panels.flat[empty - columns].tick_params(labelbottom=True)  # nothing below it bears them
    figure.supxlabel("occurrences in valid + test", fontsize="medium")
    figure.supylabel("word types", fontsize="medium")
    picture, kind = BytesIO(), path.suffix[1:].lower()
    figure.savefig(picture, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)
    pyplot.close(figure)
    _write_whole(path, picture.getvalue())


def _grid(num_panels: int) -> tuple[int, int]:
    """Rows and columns: three columns as long as the page is high enough, then more, so that panels stay readable."""
    columns = min(num_panels, 3)
    while -(-num_panels // columns) > columns + 1:
        columns += 1
    return -(-num_panels // columns), columns


def _title(name: str, num_new: int, num_letters: int) -> str:
    """On one line, or on two where the panel is too narrow; a name that is longer than a line loses its middle."""
    title = f"{name}: {num_new:,} words not in train"
    if len(title) <= num_letters:
        return title
    if len(name) > num_letters:
        name = f"{name[: num_letters // 2]}…{name[len(name) - (num_letters - 1) // 2 :]}"
    return f"{name}\n{num_new:,} words not in train"


def _write_whole(path: Path, content: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise UserError(f"{path}: cannot be written ({error.strerror})") from None


def _panel(panel: Axes, title: str, counts: Int[Array, " new_types"]) -> None:
    panel.set_title(title, fontsize="medium", loc="left", parse_math=False)
    panel.set(xscale="log", yscale="log")
    panel.grid(True, which="major", color="0.9", linewidth=0.6)
    panel.set_axisbelow(True)
    if not len(counts):
        panel.text(0.5, 0.5, "every word is in train", transform=panel.transAxes, ha="center")
        return
    occurrences, types = np.unique(counts, return_counts=True)
    panel.scatter(occurrences, types, s=14, color=BLUE, linewidths=0)
    if slope := _power_law(counts):
        reach = np.array([1, counts.max()])
        panel.plot(reach, types[0] * reach**-slope, color=ORANGE, linewidth=1.2, linestyle="--")
        panel.text(0.97, 0.92, f"∝ occurrences$^{{-{slope:.2f}}}$", transform=panel.transAxes, ha="right", color=ORANGE)


def _power_law(counts: Int[Array, " new_types"]) -> float | None:
    """The exponent of greatest likelihood of a discrete power law from 1 on, by bisection of its score."""
    mean_log = float(np.log(counts).mean())
    if mean_log == 0:
        return None
    support = np.arange(1, 1_000_001, dtype=np.float64)
    logs = np.log(support)
    low, high = 1.01, 12.0
    for _ in range(24):  # to a millionth
        middle = (low + high) / 2
        weights = support**-middle
        expected = float(weights @ logs / weights.sum())
        low, high = (middle, high) if expected > mean_log else (low, middle)
    return (low + high) / 2
