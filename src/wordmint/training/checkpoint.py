"""Checkpoints: everything that makes a resumed run the same run, bit for bit on a CPU.

A checkpoint is a folder, written under another name and renamed when it is whole: `tensors.safetensors` (weights,
optimiser, average, random numbers, recurrent state and keys) and `checkpoint.json` (where the run stands, of which
data, and the checksum of the tensors). The last two are kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from wordmint.errors import UserError
from wordmint.model.language_model import by_themselves
from wordmint.model.state import State
from wordmint.training.schedule import Position
from wordmint.training.step import Step

FORMAT_VERSION = 1
KEPT = 2
TENSORS, DESCRIPTION = "tensors.safetensors", "checkpoint.json"


def save_checkpoint(folder: Path, step: Step, state: State, position: Position, fingerprint: str) -> Path:
    """Write a checkpoint and remove all but the last two; a failure leaves those as they were."""
    name = f"{position.epoch:05d}-{position.window:08d}"
    partial, final = folder / f".{name}.partial", folder / name
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        save_file(by_themselves(_tensors(step, state)), partial / TENSORS)
        description = {
            "format": FORMAT_VERSION,
            "position": asdict(position),
            "average_updates": step.average.num_updates if step.average else 0,
            "nats": float(step.nats),
            "fingerprint": fingerprint,
            "sha256": _digest(partial / TENSORS),
        }
        (partial / DESCRIPTION).write_text(_sealed(description), "utf-8")
        _flush(partial)
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{folder}: a checkpoint could not be written ({reason}); one from before, if there is any, is whole: "
            "free some space and run the same command with --resume"
        ) from None
    for old in _found(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def restore_checkpoint(folder: Path, step: Step, state: State, fingerprint: str) -> tuple[State, Position, list[str]]:
    """Bring a step to where the newest whole checkpoint stands; also says which damaged ones were removed, and why."""
    passed: list[str] = []
    for path in reversed(_found(folder)):
        try:
            description = _described(path, fingerprint)
            tensors, position = _checked_tensors(path, description), _position(description)
        except _DamagedError as error:
            passed.append(f"{path}: {error}")
            continue
        restored = _restore(step, state, tensors, description)
        for damaged in _found(folder):
            if damaged > path:  # or it would count as one of the last two
                shutil.rmtree(damaged, ignore_errors=True)
        return restored, position, passed
    if passed:
        raise UserError(f"no checkpoint can be resumed: {'; '.join(passed)}; train again without --resume")
    raise UserError(f"{folder}: no checkpoint to resume; train without --resume")


def has_checkpoint(folder: Path) -> bool:
    """False for a run that ended before its first one."""
    return bool(_found(folder))


class _DamagedError(Exception):
    """Why a checkpoint is not whole; an older one may be."""


def _found(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*-*") if path.is_dir() and not path.name.startswith("."))


def _described(path: Path, fingerprint: str) -> dict[str, Any]:
    try:
        text = (path / DESCRIPTION).read_text("utf-8")
        description = json.loads(text)
        version, data = description["format"], description["fingerprint"]
        if version == FORMAT_VERSION and text != _sealed(description):
            raise _DamagedError(f"{DESCRIPTION} is not what was written (its checksum differs)")
    except (OSError, ValueError, KeyError, TypeError):
        raise _DamagedError(f"{DESCRIPTION} is missing or damaged") from None
    if version != FORMAT_VERSION:
        raise UserError(f"{path}: written in format {version}, this wordmint reads {FORMAT_VERSION}; train again")
    if data != fingerprint:
        raise UserError(
            f"{path}: its data have the fingerprint {data[:12]}…, those given {fingerprint[:12]}…; "
            "give --data the same files, or train into another folder"
        )
    return description


def _checked_tensors(path: Path, description: dict[str, Any]) -> dict[str, Tensor]:
    try:
        if _digest(path / TENSORS) != description["sha256"]:
            raise _DamagedError(f"{TENSORS} is not what was written (its checksum differs)")
        # in memory of their own: where a tensor begins decides how it is cut into vectors, and so its last bits
        return {name: tensor.clone() for name, tensor in load_file(path / TENSORS).items()}
    except (OSError, SafetensorError, KeyError) as error:
        raise _DamagedError(f"{TENSORS} cannot be read ({error})") from None


def _sealed(description: dict[str, Any]) -> str:
    """The description as text, with a checksum of itself."""
    plain = {key: value for key, value in description.items() if key != "seal"}
    return json.dumps(plain | {"seal": hashlib.sha256(json.dumps(plain).encode()).hexdigest()})


def _position(description: dict[str, Any]) -> Position:
    position = description["position"]
    return Position(**(position | {"best_bits": float(position["best_bits"])}))


def _tensors(step: Step, state: State) -> dict[str, Tensor]:
    tensors = {f"model.{name}": value for name, value in step.model.state_dict().items()}
    for index, parameter in enumerate(step.parameters):
        for name, value in step.optimizer.state[parameter].items():
            tensors[f"optimizer.{index}.{name}"] = value
    for index, total in enumerate(step.average.sums if step.average else []):
        tensors[f"average.{index}"] = total
    tensors |= {f"state.{name}": value for name, value in state.tensors().items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if step.device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(step.device)
    return tensors


def _restore(step: Step, state: State, tensors: dict[str, Tensor], description: dict[str, Any]) -> State:
    parts = _by_prefix(tensors)
    try:
        step.model.load_state_dict(parts["model"])
        for index, parameter in enumerate(step.parameters):
            names = ("step", "exp_avg", "exp_avg_sq")
            step.optimizer.state[parameter] = {
                name: _optimizer_tensor(parts["optimizer"][f"{index}.{name}"], name, step) for name in names
            }
        if step.average:
            for index, total in enumerate(step.average.sums):
                total.copy_(parts["average"][str(index)])
            step.average.num_updates = description["average_updates"]
        restored = State(*(parts["state"][name].to(step.device) for name in state.tensors()))
    except (KeyError, RuntimeError):
        raise UserError("the checkpoint belongs to another model; give the same preset and options") from None
    step.nats.fill_(description["nats"])
    torch.set_rng_state(parts["random"]["cpu"])
    if step.device.type == "cuda" and "cuda" in parts["random"]:
        torch.cuda.set_rng_state(parts["random"]["cuda"], step.device)
    return restored


def _optimizer_tensor(value: Tensor, name: str, step: Step) -> Tensor:
    return value.to(step.device) if name != "step" or step.device.type == "cuda" else value


def _by_prefix(tensors: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    parts: dict[str, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        prefix, name = key.split(".", 1)
        parts.setdefault(prefix, {})[name] = value
    return parts


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
