"""What a model is made of, as typed values."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SLOTS = 10_000


@dataclass(frozen=True)
class Dropout:
    """The share of values dropped on each connection that is not recurrent; the paper: 0.5 on all of them."""

    characters: float = 0.5  # character vectors → encoder, decoder
    words: float = 0.5  # encoder → context
    context: float = 0.5  # context → decoder, gate
    cache: float = 0.5  # context → queries and keys of the cache
    output: float = 0.5  # decoder → softmax
    recurrent: float = 0.0  # of the recurrent weights of the context or of the baseline; the paper drops none

    def __post_init__(self) -> None:
        for place, share in vars(self).items():
            if not 0 <= share < 1:
                raise ValueError(f"dropout.{place} is {share}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class HCLMConfig:
    """The hierarchical character language model; with `slots` = 0 it has no cache."""

    units: int = 600  # of the character vectors and of all three LSTMs
    layers: int = 1
    slots: int = 100
    dropout: Dropout = Dropout()

    def __post_init__(self) -> None:
        _check_size(self.units, self.layers)
        if not 0 <= self.slots <= MAX_SLOTS:
            raise ValueError(f"slots is {self.slots}; it must lie between 0 and {MAX_SLOTS:,}")


@dataclass(frozen=True)
class CharLSTMConfig:
    """The baseline: one LSTM over characters."""

    units: int = 1000  # of the character vectors and of the LSTM
    layers: int = 1
    dropout: Dropout = Dropout()

    def __post_init__(self) -> None:
        _check_size(self.units, self.layers)


ModelConfig = HCLMConfig | CharLSTMConfig


def _check_size(units: int, layers: int) -> None:
    if units < 1 or layers < 1:
        raise ValueError(f"{units} units in {layers} layers are no model; both must be at least 1")
