"""`wordmint demo`: the whole of it on text that every Python carries, without a download."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

app = App(name="demo", help="Train and evaluate a small model on the text that every Python carries.")

NEXT = """The model is in {model}. Try it on a text of yours:

    wordmint evaluate {model} FILE --exact
"""


@app.default
def demo(
    *settings: Annotated[str, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("demo-out"),
    baselines: bool = True,
) -> None:
    """A few minutes on two cores: statistics, training, and what the cache is worth beside simple baselines.

    Parameters
    ----------
    settings
        Any setting of the preset demo-hclm-cache, such as --training.epochs 1.
    out
        Where the run is kept; with one there already, its training goes on or is used as it is.
    baselines
        Show what compressors and n-grams make of the same text.
    """
    import torch

    from wordmint.commands.inputs import corpus_to_train_on
    from wordmint.corpora import tables as corpus_tables
    from wordmint.corpora.demo import demo as demo_source
    from wordmint.corpora.statistics import corpus_statistics
    from wordmint.evaluation import baselines as simple
    from wordmint.evaluation import tables
    from wordmint.evaluation.evaluate import evaluate
    from wordmint.evaluation.text import read_text
    from wordmint.progress import line_progress, scoring_progress
    from wordmint.training.loop import Stopped
    from wordmint.training.presets import resolve
    from wordmint.training.run import CONFIG, start_run

    corpus, rules = corpus_to_train_on("demo", None)
    corpus_tables.show([corpus_statistics(corpus)])
    run = out / "run"
    config = resolve("demo-hclm-cache", settings)
    try:
        model = start_run(run, config, corpus, rules, torch.device("cpu"), resume=(run / CONFIG).exists())
    except Stopped as stopped:
        print("wordmint: stopped and saved; the same command goes on from here", file=sys.stderr)
        sys.exit(stopped.exit_code)
    text = read_text(demo_source().splits["test"], model)
    with scoring_progress("the model", len(text.words)) as report:
        evaluation = evaluate(model, text, name="HCLM with cache", report=report)
    tables.show([evaluation], None, simple.baselines(corpus, "test", line_progress) if baselines else [])
    print(NEXT.format(model=run / "model"))
