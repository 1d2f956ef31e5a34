"""The character decoder: how probable it is that a word is spelled just so (section 3.1, p_lm).

It starts from h_t, reads a start symbol and then each character of the word, and predicts the next one, the end of
the word included, so that the probabilities of all words sum to one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from wordmint.model.lookup import lookup
from wordmint.model.lstm import LSTM
from wordmint.model.packing import NOTHING, Packing, Spellings, longest_first, packing_for
from wordmint.model.softmax import Softmax
from wordmint.shapes import Array, Bool, Float, Int
from wordmint.text.alphabet import DUMMY_ID


@dataclass(frozen=True)
class Spelling:
    """The words that a window spells, packed."""

    inputs: Int[Tensor, " places"]  # the start symbol, then each character but the end
    targets: Int[Tensor, " places"]  # the character to be predicted; NOTHING where there is none
    sizes: Int[Tensor, " steps"]
    word_of_place: Int[Tensor, " places"]  # which word of the window, streams one after the other
    word_of_rank: Int[Tensor, " ranks"]


def lay_out_spelling(
    words: Int[Array, "streams words"],
    present: Bool[Array, "streams words"],
    spellings: Spellings,
    start_id: int,
    profile: Packing | None = None,
) -> Spelling:
    """What the decoder reads and predicts at each place, and for which word."""
    positions = np.flatnonzero(present)
    positions = positions[longest_first(spellings, words.flat[positions])]
    types = words.flat[positions]
    packing = packing_for(spellings.lengths(types), profile)
    targets = packing.characters(spellings, types)
    word_of_rank = np.zeros(len(packing.lengths), dtype=np.int64)
    word_of_rank[: len(types)] = positions
    ranks = _rank_of_place(packing)
    return Spelling(
        torch.from_numpy(_inputs(targets, packing, start_id)),
        torch.from_numpy(targets),
        torch.from_numpy(packing.sizes),
        torch.from_numpy(word_of_rank[ranks]),
        torch.from_numpy(word_of_rank),
    )


def _rank_of_place(packing: Packing) -> Int[Array, " places"]:
    firsts = packing.sizes.cumsum() - packing.sizes
    return np.arange(packing.num_places) - np.repeat(firsts, packing.sizes)


def _inputs(targets: Int[Array, " places"], packing: Packing, start_id: int) -> Int[Array, " places"]:
    """What is read before each target: the start symbol, or the character of the same rank one step earlier."""
    if not len(packing.sizes):
        return targets
    places_back = np.repeat(packing.sizes[:-1], packing.sizes[1:])
    later = np.arange(packing.sizes[0], packing.num_places)
    inputs = np.full(len(targets), start_id, dtype=np.int64)
    inputs[later] = targets[later - places_back]
    return np.where(inputs == NOTHING, DUMMY_ID, inputs)


class CharacterDecoder(nn.Module):
    """LSTM_dec and the softmax over the alphabet."""

    def __init__(self, alphabet_size: int, units: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.lstm = LSTM(units, layers, dropout)
        self.softmax = Softmax(units, alphabet_size)

    def forward(
        self,
        context: Float[Tensor, "all_words units"],
        characters: Float[Tensor, "places units"],
        spelling: Spelling,
    ) -> Float[Tensor, " all_words"]:
        """Log p_lm of every word of the window, and 0 for the words that are absent."""
        start = lookup(context, spelling.word_of_rank).expand(self.lstm.num_layers, -1, -1).contiguous()
        hidden, _ = self.lstm.read(characters, spelling.sizes, (start, torch.zeros_like(start)))
        nats = self.softmax.nats(dropout(hidden, self.dropout, self.training), spelling.targets)
        return nats.new_zeros(len(context)).index_add(0, spelling.word_of_place, -nats)
