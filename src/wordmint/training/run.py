"""A run: a folder with all that is needed to know, resume and use a training.

config.toml      the settings as resolved
run.json         data, versions, command, commit, hardware
metrics.jsonl    a line an epoch
checkpoints/     the last two
tensorboard/     the same figures, where asked for
model/           the best on dev so far, ready to use
"""

from __future__ import annotations

import json
import platform
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from wordmint.config import settings_from
from wordmint.corpora.corpus import Corpus
from wordmint.errors import UserError
from wordmint.model.config import ModelConfig
from wordmint.model.language_model import LanguageModel, TextRules, model_config, model_table
from wordmint.training.config import TrainingConfig
from wordmint.training.loop import train
from wordmint.training.run_log import RunLog, board_writer

CONFIG, ABOUT, METRICS = "config.toml", "run.json", "metrics.jsonl"
CHECKPOINTS, MODEL, BOARD = "checkpoints", "model", "tensorboard"


@dataclass(frozen=True)
class RunConfig:
    """All settings of a run: on which corpus which model is trained, and how."""

    corpus: str
    model: ModelConfig
    training: TrainingConfig

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str) -> RunConfig:
        """Checked settings; what is wrong is named, and where it stands."""
        others = set(table) - {"corpus", "model", "training"}
        if others:
            raise UserError(f"{where}: {', '.join(sorted(others))}: there are corpus, [model] and [training], no more")
        training = settings_from(TrainingConfig, table.get("training", {}), where, "training.")
        return cls(table.get("corpus", "demo"), model_config(table.get("model", {}), where), training)

    def as_table(self) -> dict[str, Any]:
        """The table that `from_table` reads."""
        return {"corpus": self.corpus, "model": model_table(self.model), "training": asdict(self.training)}


def read_config(folder: Path) -> RunConfig:
    """The settings of the run in a folder."""
    path = folder / CONFIG
    try:
        return RunConfig.from_table(tomllib.loads(path.read_text("utf-8")), str(path))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not the settings of a run ({error}); train into another --out") from None


def data_of(folder: Path) -> Path | None:
    """Where the files of a run's corpus are, if that was said when it began."""
    path = folder / ABOUT
    data = json.loads(path.read_text("utf-8")).get("data") if path.is_file() else None
    return Path(data) if data else None


def start_run(
    folder: Path,
    config: RunConfig,
    corpus: Corpus,
    rules: TextRules,
    device: torch.device,
    resume: bool = False,
    seconds_between_checkpoints: float = 60.0,
    tensorboard: bool = False,
    data: str | None = None,
) -> LanguageModel:
    """Train into a folder, anew or on from its last checkpoint; returns the best model."""
    torch.manual_seed(config.training.seed)
    model = new_model(config.model, corpus, rules)
    _prepare_folder(folder, config, _about(corpus, model, device) | {"data": data}, resume)
    model.network.to(device)

    def keep(dev_bits: float) -> None:
        model.trained_on["valid_bits"] = dev_bits
        save_model(model, folder / MODEL)

    log = RunLog(folder / METRICS, board_writer(folder / BOARD) if tensorboard else None)
    train(corpus, model.network, config.training, log, keep, folder / CHECKPOINTS, resume, seconds_between_checkpoints)
    return LanguageModel.load(folder / MODEL)


def new_model(config: ModelConfig, corpus: Corpus, rules: TextRules) -> LanguageModel:
    """A model with random weights for a corpus."""
    train_types = int(corpus.splits["train"].words.max()) + 1
    trained_on = {
        "corpus": corpus.name,
        "fingerprint": corpus.fingerprint,
        "train_characters": corpus.splits["train"].num_characters,
        "valid_characters": corpus.splits["valid"].num_characters,
    }
    return LanguageModel.of(config, corpus.alphabet, rules, map(corpus.word, range(train_types)), trained_on)


def save_model(model: LanguageModel, folder: Path) -> None:
    """Write a model's folder whole: under another name first, so that a kill leaves the old one or the new."""
    partial, old = folder.with_name(f".{folder.name}.partial"), folder.with_name(f".{folder.name}.old")
    for rest in (partial, old):
        shutil.rmtree(rest, ignore_errors=True)
    try:
        model.save_pretrained(partial)
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{folder}: the model could not be written ({reason}); free some space") from None
    shutil.rmtree(old, ignore_errors=True)


def _prepare_folder(folder: Path, config: RunConfig, about: dict[str, Any], resume: bool) -> None:
    if (folder / CONFIG).exists():
        if not resume:
            raise UserError(f"{folder}: there is a run already; go on with --resume, or name another folder with --out")
        before = read_config(folder)
        if before != config:
            raise UserError(
                f"{folder}: the run there has other settings ({_difference(before, config)}); --resume --out "
                f"{folder} alone takes those it has, --out names another folder"
            )
        return
    if resume:
        raise UserError(f"{folder}: no run to resume here")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(as_toml(config.as_table()), "utf-8")
        (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", "utf-8")
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); name another folder with --out") from None


def _difference(one: RunConfig, other: RunConfig) -> str:
    mine, theirs = dict(flat(one.as_table())), dict(flat(other.as_table()))
    return ", ".join(
        f"{key} {mine.get(key)} there, {theirs.get(key)} here"
        for key in mine | theirs
        if mine.get(key) != theirs.get(key)
    )


def flat(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of a nested table by their dotted names."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def as_toml(table: Mapping[str, Any], path: str = "") -> str:
    """A nested table of texts and numbers as TOML."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{path}{key}]", as_toml(value, f"{path}{key}.").rstrip("\n")]
    return "\n".join(lines) + "\n"


def _about(corpus: Corpus, model: LanguageModel, device: torch.device) -> dict[str, Any]:
    return {
        "corpus": corpus.name,
        "fingerprint": corpus.fingerprint,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "command": shlex.join(sys.argv),
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "hardware": hardware(device),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("wordmint", "torch", "numpy", "safetensors")},
    }


def commit() -> str:
    """The commit of the code, where it runs from a checkout."""
    return (
        _output(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10"])
        or "unknown"
    )


def hardware(device: torch.device) -> str:
    """The GPU, or the processor and how many threads are used."""
    if device.type == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
