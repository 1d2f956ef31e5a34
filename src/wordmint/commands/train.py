"""`wordmint train`: from a preset and a corpus to a run's folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

app = App(name="train", help="Train a model.")


@app.default
def train(
    *settings: Annotated[str, Parameter(allow_leading_hyphen=True)],
    preset: str = "demo-hclm-cache",
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
        demo-, ptb-, wikitext2- or mwc-LANG- with lstm, hclm or hclm-cache, or a TOML file.
    corpus
        Another corpus than the preset's, as for `wordmint corpus stats`: a name or a folder.
    data
        Folder with the files of a named corpus.
    out
        Folder of the run. Without it: runs/PRESET.
    resume
        Go on with the run in that folder.
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
    from wordmint.training.run import start_run

    config = resolve(preset, settings, corpus)
    folder = out or Path("runs", Path(preset).stem)
    prepared, rules = corpus_to_train_on(config.corpus, data)
    try:
        start_run(folder, config, prepared, rules, torch_device(device), resume, checkpoint_every, tensorboard)
    except Stopped:
        print(f"wordmint: stopped and saved; go on with --resume --out {folder}", file=sys.stderr)
        sys.exit(130)
    print(f"the best model is in {folder / 'model'}", file=sys.stderr)
