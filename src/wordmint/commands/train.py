"""`wordmint train`: from a preset and a corpus to a run's folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(name="train", help="Train a model.", default_parameter=Parameter(negative=()))


@app.default
def train(
    *settings: Annotated[str, Parameter(allow_leading_hyphen=True)],
    preset: str | None = None,
    corpus: str | None = None,
    data: Path | None = None,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"])] = None,
    resume: bool = False,
    checkpoint_every: float = 60.0,
    tensorboard: bool = False,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> None:
    """Train a model; Ctrl-C saves, and --resume goes on where the run stopped.

    Parameters
    ----------
    settings
        Any setting of the preset, such as --training.epochs 3 or --model.slots 0.
    preset
        demo-, ptb-, wikitext2- or mwc-LANG- with lstm, hclm or hclm-cache, or a TOML file. Without it:
        demo-hclm-cache.
    corpus
        Another corpus than the preset's, as for `wordmint corpus stats`: a name or a folder.
    data
        Folder with the files of a named corpus.
    out
        Folder of the run. Without it: runs/PRESET, or with another corpus runs/CORPUS-PRESET.
    resume
        Go on with the run in that folder; its settings and its data need not be named again.
    checkpoint_every
        Seconds between checkpoints.
    tensorboard
        Also write the figures for TensorBoard, into the run's folder.
    device
        Where to compute. auto: the GPU if there is one.
    """
    from wordmint.commands.inputs import corpus_to_train_on, torch_device
    from wordmint.training.loop import Stopped
    from wordmint.training.presets import resolve
    from wordmint.training.run import data_of, read_config, start_run

    if corpus and Path(corpus).exists():
        corpus = str(Path(corpus).resolve())
    if resume and out and not (preset or settings or corpus):
        config, folder, data = read_config(out), out, data or data_of(out)
    else:
        chosen = preset or "demo-hclm-cache"
        config = resolve(chosen, settings, corpus)
        folder = out or Path("runs", "-".join([*([Path(corpus).name] if corpus else []), Path(chosen).stem]))
    prepared, rules = corpus_to_train_on(config.corpus, data)
    options = (resume, checkpoint_every, tensorboard, str(data.resolve()) if data else None)
    try:
        start_run(folder, config, prepared, rules, torch_device(device), *options)
    except Stopped as stopped:
        print(f"wordmint: stopped and saved; go on with: wordmint train --resume --out {folder}", file=sys.stderr)
        sys.exit(stopped.exit_code)
    print(f"the best model is in {folder / 'model'}", file=sys.stderr)
