"""The character encoder: from a word's spelling to one vector (section 3.1, h^enc).

It sees nothing but spellings, so each distinct word of a window is read once, however often it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from wordmint.model.lookup import lookup
from wordmint.model.lstm import LSTM
from wordmint.model.packing import NOTHING, Packing, Spellings, longest_first, packing_for
from wordmint.shapes import Array, Float, Int
from wordmint.text.alphabet import DUMMY_ID


@dataclass(frozen=True)
class Reading:
    """The distinct words that a window reads, packed."""

    characters: Int[Tensor, " places"]
    sizes: Int[Tensor, " steps"]
    last_places: Int[Tensor, " distinct"]  # of each distinct word's end
    word_before: Int[Tensor, "streams words"]  # which distinct word stands before each word of the window


def lay_out_reading(
    words_before: Int[Array, "streams words"], spellings: Spellings, profile: Packing | None = None
) -> Reading:
    """Which characters the encoder reads, and which of its results stands before which word."""
    distinct, inverse = np.unique(words_before, return_inverse=True)
    order = longest_first(spellings, distinct)
    types = distinct[order]
    lengths = spellings.lengths(types)
    packing = packing_for(lengths, profile)
    characters = packing.characters(spellings, types)
    last_places = np.zeros(len(packing.lengths), dtype=np.int64)
    last_places[: len(types)] = packing.place(np.arange(len(types)), lengths - 1)
    rank_of_distinct = np.argsort(order)
    return Reading(
        torch.from_numpy(np.where(characters == NOTHING, DUMMY_ID, characters)),
        torch.from_numpy(packing.sizes),
        torch.from_numpy(last_places),
        torch.from_numpy(rank_of_distinct[inverse].reshape(words_before.shape)),
    )


class CharacterEncoder(nn.Module):
    """LSTM_enc: its last hidden state stands for the word."""

    def __init__(self, units: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.lstm = LSTM(units, layers, dropout)

    def forward(self, characters: Float[Tensor, "places units"], reading: Reading) -> Float[Tensor, "distinct units"]:
        hidden, _ = self.lstm.read(characters, reading.sizes)
        return lookup(hidden, reading.last_places)
