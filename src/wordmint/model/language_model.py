"""A trained model as users hold it: a network, the alphabet it spells with, and what it says of its text.

Saved and loaded as a folder, or from the Hugging Face Hub: `model.safetensors` and `config.json`, nothing pickled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub import ModelCard, PyTorchModelHubMixin, hf_hub_download
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from wordmint.config import settings_from
from wordmint.errors import UserError
from wordmint.model.card import card_text
from wordmint.model.char_lstm import CharLSTM
from wordmint.model.config import CharLSTMConfig, HCLMConfig, ModelConfig
from wordmint.model.hclm import HCLM
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import Alphabet
from wordmint.text.words import Segmentation

FORMAT_VERSION = 1
WEIGHTS, CONFIG = "model.safetensors", "config.json"
KINDS: dict[str, type[ModelConfig]] = {"hclm": HCLMConfig, "lstm": CharLSTMConfig}
Network = HCLM | CharLSTM


def build(config: ModelConfig, alphabet_size: int) -> Network:
    """A network with parameters drawn at random."""
    match config:
        case HCLMConfig():
            return HCLM(config, alphabet_size)
        case CharLSTMConfig():
            return CharLSTM(config, alphabet_size)


def has_cache(network: Network) -> bool:
    """True for a model that can copy."""
    return isinstance(network, HCLM) and network.cache is not None


def model_config(table: Mapping[str, Any], where: str) -> ModelConfig:
    """A model's settings from a table whose `kind` says which model it is."""
    kind = table.get("kind")
    if kind not in KINDS:
        raise UserError(f"{where}: model.kind is {kind!r}; it can be {' or '.join(KINDS)}")
    return settings_from(KINDS[kind], {key: table[key] for key in table if key != "kind"}, where, "model.")


def model_table(config: ModelConfig) -> dict[str, Any]:
    """The table that `model_config` reads."""
    kind = next(kind for kind, one in KINDS.items() if isinstance(config, one))
    return {"kind": kind, **asdict(config)}


@dataclass(frozen=True)
class TextRules:
    """How a text becomes words for this model."""

    segmentation: Segmentation = Segmentation.WHITESPACE
    respell: dict[str, str] = field(default_factory=dict)


class LanguageModel(
    nn.Module,
    PyTorchModelHubMixin,
    library_name="wordmint",
    tags=["open-vocabulary", "character-level", "word-cache"],
    pipeline_tag="text-generation",
):
    """A network, and all that is needed to read a text with it."""

    def __init__(
        self,
        architecture: dict[str, Any],
        alphabet: list[str],
        text: dict[str, Any],
        trained_on: dict[str, Any],
        num_words_seen: int = 0,
        format: int = FORMAT_VERSION,
    ) -> None:
        super().__init__()
        if format != FORMAT_VERSION:
            raise UserError(f"the model is of format {format}, this wordmint reads {FORMAT_VERSION}")
        self.alphabet = Alphabet(tuple(alphabet))
        segmentation = Segmentation(text.get("segmentation", Segmentation.WHITESPACE))
        self.rules = TextRules(segmentation, dict(text.get("respell", {})))
        self.trained_on = trained_on
        self.network = build(model_config(architecture, "the model's config.json"), len(self.alphabet))
        self.words_seen: torch.Tensor
        self.register_buffer("words_seen", torch.zeros(num_words_seen, dtype=torch.int64))

    @classmethod
    def of(
        cls, config: ModelConfig, alphabet: Alphabet, rules: TextRules, words: Iterable[str], trained_on: dict[str, Any]
    ) -> LanguageModel:
        """A new model for a corpus; `words` are those of its training text."""
        seen = np.unique(word_hashes(words))
        model = cls(model_table(config), list(alphabet.characters), asdict(rules), trained_on, len(seen))
        model.words_seen.copy_(torch.from_numpy(seen))
        return model

    def has_seen(self, words: Iterable[str]) -> Array:
        """Which of the words occurred in the training text."""
        return np.isin(word_hashes(words), self.words_seen.cpu().numpy())

    @classmethod
    def load(cls, folder_or_name: str | Path) -> LanguageModel:
        """The model in a folder, or of that name on the Hub."""
        path = Path(folder_or_name)
        if path.is_dir() and not (path / CONFIG).is_file():
            if not (path / "model" / CONFIG).is_file():
                raise UserError(f"{path}: no model here; it would be a folder with {CONFIG} and {WEIGHTS}")
            path = path / "model"  # of a run
        if path.is_dir():
            return cls._read_from(str(path), "save or fetch it again")
        if path.exists() or path.parent.is_dir() or str(folder_or_name).count("/") != 1:
            raise UserError(f"{path}: no such folder; name a model's folder, a run's, or OWNER/NAME on the Hub")
        return cls._read_from(str(folder_or_name), "is the name right, and the Hub within reach?")

    @classmethod
    def _read_from(cls, place: str, remedy: str) -> LanguageModel:
        try:
            return cls.from_pretrained(place)
        except UserError:
            raise
        except Exception as error:  # whatever a damaged file, a library or a network may come up with
            reason = " ".join(str(error).split())[:200]
            raise UserError(f"{place}: no whole Wordmint model ({reason}); {remedy}") from None

    def generate_model_card(self, *_args: Any, **_options: Any) -> ModelCard:
        """The README of the model's folder."""
        parameters = sum(parameter.numel() for parameter in self.parameters())
        architecture = model_table(self.network.config)
        return ModelCard(card_text(architecture, self.trained_on, len(self.alphabet.characters), parameters))

    def _save_pretrained(self, save_directory: Path) -> None:
        """Each tensor by itself: on a GPU cuDNN keeps the weights of an LSTM in one block of memory."""
        save_file(by_themselves(self.state_dict()), save_directory / WEIGHTS)
        (save_directory / WEIGHTS).chmod(0o644)  # safetensors lets nobody else read it

    @classmethod
    def _from_pretrained(cls, *, model_id: str, map_location: str = "cpu", **options: Any) -> LanguageModel:
        downloading = ("revision", "cache_dir", "force_download", "local_files_only", "token")
        hub = {name: options.pop(name) for name in downloading if name in options}
        options.pop("strict", None)
        here = Path(model_id, WEIGHTS)
        weights = here if here.parent.is_dir() else Path(hf_hub_download(model_id, WEIGHTS, **hub))
        found = _shapes_in(weights)
        _check(weights, found, _telling_shapes(options))  # before any memory is taken for what config.json says
        model = cls(**options)
        _check(weights, found, {name: list(tensor.shape) for name, tensor in model.state_dict().items()}, whole=True)
        model.load_state_dict(load_file(weights, device=map_location), strict=True)
        return model.eval()


Shapes = dict[str, list[int]]


def _shapes_in(weights: Path) -> Shapes:
    with safe_open(weights, "pt") as file:
        return {name: list(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def _telling_shapes(options: Mapping[str, Any]) -> Shapes:
    """Those that say how much memory a model takes."""
    config = model_config(options["architecture"], f"the model's {CONFIG}")
    lstm, rows = ("network.context.lstm", 1) if isinstance(config, HCLMConfig) else ("network.lstm", 0)
    return {
        "words_seen": [options.get("num_words_seen", 0)],
        "network.characters.weight": [len(Alphabet(tuple(options["alphabet"]))) + rows, config.units],
        f"{lstm}.weight_hh_l{config.layers - 1}": [4 * config.units, config.units],
    }


def _check(weights: Path, found: Shapes, expected: Shapes, whole: bool = False) -> None:
    """Does the file hold what its config.json says, and, as a whole, no more?"""
    for name in sorted(expected.keys() | found.keys() if whole else expected):
        if expected.get(name) != found.get(name):
            said = f"{name} is {found.get(name, 'missing')}, and {CONFIG} wants {expected.get(name, 'none')}"
            raise UserError(f"{weights}: {said}; the two files do not belong together")


def by_themselves(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same values on the host, each in memory of its own, as safetensors wants them."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def word_hashes(words: Iterable[str]) -> Int[Array, " words"]:
    """64 bits of each word: enough to know it again."""
    digests = b"".join(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, dtype=np.int64)
