"""A window as mere characters: each stream's words, spelled one after the other, for the baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wordmint.model.packing import NOTHING, Packing, Spellings
from wordmint.shapes import Array, Int
from wordmint.text.alphabet import DUMMY_ID, END_OF_WORD_ID
from wordmint.text.streams import NO_WORD


@dataclass(frozen=True)
class Sequence:
    """The characters of every stream, packed, the stream with most characters first."""

    inputs: Int[Tensor, " places"]  # the character before each target; a window begins after the end of a word
    targets: Int[Tensor, " places"]
    sizes: Int[Tensor, " steps"]
    word_of_place: Int[Tensor, " places"]  # which word of the window, streams one after the other
    stream_of_rank: Int[Tensor, " ranks"]  # without the streams that have ended
    last_places: Int[Tensor, " ranks"] | None  # of each rank's last character, where places are lent to all alike


def lay_out_sequence(words: Int[Array, "streams words"], spellings: Spellings, num_steps: int = 0) -> Sequence:
    """The characters of a window, each with the one before it and the word it belongs to.

    If all streams fit into so many steps, each is lent so many, so that all windows of a corpus have one shape.
    """
    positions = np.flatnonzero(words != NO_WORD)
    lengths = spellings.lengths(words.flat[positions])
    word_of_character = np.repeat(positions, lengths)
    within = np.arange(len(word_of_character)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    characters = spellings.ids[np.repeat(spellings.starts[words.flat[positions]], lengths) + within]
    stream = word_of_character // words.shape[1]
    num_characters = np.bincount(stream, minlength=len(words))
    is_lent = num_characters.min() > 0 and num_characters.max() <= num_steps
    order = np.arange(len(words)) if is_lent else np.argsort(-num_characters, kind="stable")
    rank_of_stream = np.argsort(order)
    stream_of_rank = order[num_characters[order] > 0]
    packing = Packing.of(np.full(len(words), num_steps) if is_lent else num_characters[stream_of_rank])
    step = np.arange(len(characters)) - (np.cumsum(num_characters) - num_characters)[stream]
    places = packing.place(rank_of_stream[stream], step)
    before = np.where(step == 0, END_OF_WORD_ID, np.roll(characters, 1))
    return Sequence(
        _scattered(before, places, packing, DUMMY_ID),
        _scattered(characters, places, packing, NOTHING),
        torch.from_numpy(packing.sizes),
        _scattered(word_of_character, places, packing, 0),
        torch.from_numpy(stream_of_rank),
        torch.from_numpy(packing.place(order, num_characters - 1)) if is_lent else None,
    )


def _scattered(
    values: Int[Array, " characters"], places: Int[Array, " characters"], packing: Packing, elsewhere: int
) -> Int[Tensor, " places"]:
    packed = np.full(packing.num_places, elsewhere, dtype=np.int64)
    packed[places] = values
    return torch.from_numpy(packed)
