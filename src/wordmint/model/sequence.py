"""A window as mere characters: each stream's words, spelled one after the other, for the baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wordmint.model.packing import Packing, Spellings
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import END_OF_WORD_ID
from wordmint.text.streams import NO_WORD


@dataclass(frozen=True)
class Sequence:
    """The characters of every stream, packed, the stream with most characters first."""

    inputs: Int[Tensor, " places"]  # the character before each target; a window begins after the end of a word
    targets: Int[Tensor, " places"]
    sizes: Int[Tensor, " steps"]
    word_of_place: Int[Tensor, " places"]  # which word of the window, streams one after the other
    stream_of_rank: Int[Tensor, " ranks"]  # without the streams that have ended


def lay_out_sequence(words: Int[Array, "streams words"], spellings: Spellings) -> Sequence:
    """The characters of a window, each with the one before it and the word it belongs to."""
    positions = np.flatnonzero(words != NO_WORD)
    lengths = spellings.lengths(words.flat[positions])
    word_of_character = np.repeat(positions, lengths)
    within = np.arange(len(word_of_character)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    characters = spellings.ids[np.repeat(spellings.starts[words.flat[positions]], lengths) + within]
    stream = word_of_character // words.shape[1]
    num_characters = np.bincount(stream, minlength=len(words))
    order = np.argsort(-num_characters, kind="stable")
    rank_of_stream = np.argsort(order)
    stream_of_rank = order[num_characters[order] > 0]
    packing = Packing.of(num_characters[stream_of_rank])
    step = np.arange(len(characters)) - (np.cumsum(num_characters) - num_characters)[stream]
    places = packing.place(rank_of_stream[stream], step)
    before = np.where(step == 0, END_OF_WORD_ID, np.roll(characters, 1))
    return Sequence(
        _scattered(before, places),
        _scattered(characters, places),
        torch.from_numpy(packing.sizes),
        _scattered(word_of_character, places),
        torch.from_numpy(stream_of_rank),
    )


def _scattered(values: Int[Array, " places"], places: Int[Array, " places"]) -> Int[Tensor, " places"]:
    packed = np.empty(len(values), dtype=np.int64)
    packed[places] = values
    return torch.from_numpy(packed)
