"""What a model remembers of a text read so far: a value that can be kept, compared, saved and gone on from."""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from wordmint.errors import UserError
from wordmint.model.cache_plan import Slots
from wordmint.model.language_model import LanguageModel
from wordmint.model.state import State
from wordmint.text.words import LINE_END

FORMAT, VERSION = "wordmint-state", 1


@dataclass(frozen=True, eq=False)
class TextState:
    """The state of one text. Reading makes a new one and leaves this as it is."""

    model: str  # the fingerprint of the model that made it
    neural: State  # of one stream, without the last word
    last_word: str  # as the model spells it
    cached: tuple[tuple[str, int], ...]  # the words in the cache and their slots, least recently used first
    pending: str = ""  # the characters of a word that has not ended yet
    position: int = 0  # characters read, those of the pending word included

    @property
    def num_slots(self) -> int:
        """The size of the cache."""
        return self.neural.keys.shape[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextState):
            return NotImplemented
        return self._said() == other._said() and self.neural == other.neural

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        pending = f", in the middle of {self.pending!r}" if self.pending else ""
        return f"<state after {self.position} characters{pending}, {len(self.cached)} of {self.num_slots} slots used>"

    def _said(self) -> tuple[object, ...]:
        return self.model, self.last_word, self.cached, self.pending, self.position

    def slots(self, number_of: dict[str, int]) -> Slots:
        """The cache as the planner takes it, words as numbers."""
        slots = Slots(self.num_slots)
        slots.slot_of = OrderedDict((number_of[word], slot) for word, slot in self.cached)
        return slots

    def save(self, path: str | Path) -> None:
        """Write the state to a file, whole or not at all."""
        path = Path(path)
        if not path.name or path.is_dir():
            raise UserError(f"{path}: a folder; name the file that the state shall be saved in")
        text = json.dumps([self.last_word, self.cached, self.pending, self.position])
        tensors = {name: tensor.cpu().clone() for name, tensor in self.neural.tensors().items()}
        about = {"format": FORMAT, "version": str(VERSION), "model": self.model, "text": text}
        about["checksum"] = _checksum(about, tensors)
        unfinished = path.with_name(path.name + f".{os.getpid()}.part")
        try:
            save_file(tensors, unfinished, about)
            unfinished.chmod(0o644)
            unfinished.replace(path)
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: the state could not be saved ({error})") from None
        finally:
            unfinished.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> TextState:
        """The state in a file."""
        about, tensors = _read(Path(path))
        if about.get("format") != FORMAT:
            raise UserError(f"{path}: no state of Wordmint; write one with --state or `state.save`")
        if about.get("version") != str(VERSION):
            raise UserError(f"{path}: a state of format {about.get('version')}, this wordmint reads {VERSION}")
        said = about.pop("checksum", None)
        if said != _checksum(about, tensors) or set(tensors) != {"hidden", "cell", "keys"}:
            raise UserError(f"{path}: the state is damaged (its checksum is another); save it again")
        last_word, cached, pending, position = json.loads(about["text"])
        return cls(about["model"], State(**tensors), last_word, tuple((w, s) for w, s in cached), pending, position)


def start(model: LanguageModel, slots: int | None = None) -> TextState:
    """The state before a text, which begins as if after a line end."""
    return TextState(fingerprint(model), model.network.start(1, slots).to("cpu"), LINE_END, ())


def fingerprint(model: LanguageModel) -> str:
    """The same for the same weights and alphabet; kept once it was computed."""
    known = model.__dict__.get("_fingerprint")
    if known is None:
        digest = hashlib.blake2b("".join(model.alphabet.characters).encode(), digest_size=16)
        for name, tensor in sorted(model.state_dict().items()):
            digest.update(name.encode() + str(tuple(tensor.shape)).encode())
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
        known = model.__dict__["_fingerprint"] = digest.hexdigest()
    return known


def check_belongs(states: Sequence[TextState], model: LanguageModel) -> None:
    """A state means nothing to another model than the one that made it."""
    if any(state.model != fingerprint(model) for state in states):
        raise UserError("the state was made by another model; start a new one, or load the model that made it")


def _read(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    if not path.is_file():
        raise UserError(f"{path}: no such file; there is no state to go on from")
    try:
        with safe_open(path, "pt") as file:
            return dict(file.metadata() or {}), {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: no state that can be read ({error}); it was cut short or is another file") from None


def _checksum(about: dict[str, str], tensors: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
