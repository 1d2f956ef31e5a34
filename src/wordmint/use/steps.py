"""A model a character at a time, without gradients: what reading in windows computes, one step after the other.

The first product of each step, of a character's vector, is looked up: there are as many as characters. Kept with the
model once they are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from wordmint.model.hclm import HCLM
from wordmint.model.language_model import LanguageModel, Network
from wordmint.model.lstm import LSTM
from wordmint.shapes import Float, Int
from wordmint.text.alphabet import END_OF_WORD_ID


class Recurrent(NamedTuple):
    """The state of an LSTM over some rows."""

    hidden: Float[Tensor, "layers rows units"]
    cell: Float[Tensor, "layers rows units"]

    def rows(self, which: Int[Tensor, " some"]) -> Recurrent:
        """The state of some rows."""
        return Recurrent(self.hidden[:, which], self.cell[:, which])


class Steps:
    """One LSTM, step by step."""

    def __init__(self, lstm: LSTM, characters: Tensor | None) -> None:
        self.lstm = lstm
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        self.layers = [tuple(getattr(lstm, f"{name}_l{layer}") for name in names) for layer in range(lstm.num_layers)]
        w_ih, _, b_ih, b_hh = self.layers[0]
        self.table = None if characters is None else linear(characters, w_ih, b_ih + b_hh)

    def read(self, characters: Int[Tensor, " rows"], before: Recurrent) -> Recurrent:
        """The state after one more character in each row."""
        assert self.table is not None
        return self._go_on(self.table[characters], before)

    def take(self, inputs: Float[Tensor, "rows units"], before: Recurrent) -> Recurrent:
        """The state after one more input in each row."""
        w_ih, _, b_ih, b_hh = self.layers[0]
        return self._go_on(linear(inputs, w_ih, b_ih + b_hh), before)

    def _go_on(self, gates: Tensor, before: Recurrent) -> Recurrent:
        hidden, cell = [], []
        for layer, (w_ih, w_hh, b_ih, b_hh) in enumerate(self.layers):
            if layer:
                gates = linear(hidden[-1], w_ih, b_ih + b_hh)
            sums = torch.addmm(gates, before.hidden[layer], w_hh.T)
            i, f, g, o = sums.chunk(4, 1)
            c = f.sigmoid() * before.cell[layer] + i.sigmoid() * g.tanh()
            hidden.append(o.sigmoid() * c.tanh())
            cell.append(c)
        return Recurrent(torch.stack(hidden), torch.stack(cell))


def read_along(steps: Steps, texts: Sequence[Sequence[int]], before: Recurrent) -> Recurrent:
    """The state of each row after its own characters."""
    state, device = Recurrent(before.hidden.clone(), before.cell.clone()), before.hidden.device
    for step in range(max(map(len, texts))):
        going = torch.tensor([row for row, one in enumerate(texts) if len(one) > step], device=device)
        characters = torch.tensor([one[step] for one in texts if len(one) > step], device=device)
        state.hidden[:, going], state.cell[:, going] = steps.read(characters, state.rows(going))
    return state


class Speller:
    """What a network needs to spell: its decoder, or all of the baseline."""

    def __init__(self, network: Network) -> None:
        self.network, self.device = network, network.characters.weight.device
        self.softmax = network.decoder.softmax if isinstance(network, HCLM) else network.softmax
        vectors = network.characters.weight
        self.steps = Steps(network.decoder.lstm if isinstance(network, HCLM) else network.lstm, vectors)
        self.encoder = Steps(network.encoder.lstm, vectors) if isinstance(network, HCLM) else None
        self.context = Steps(network.context.lstm, None) if isinstance(network, HCLM) else None
        self.first = network.alphabet_size if isinstance(network, HCLM) else END_OF_WORD_ID

    def begin(self, before: Recurrent) -> tuple[Recurrent, Float[Tensor, "rows characters"]]:
        """The state after the symbol that begins a word, and the log-probabilities of its first character."""
        rows = before.hidden.shape[1]
        return self.go_on(torch.full((rows,), self.first, device=before.hidden.device), before)

    def go_on(
        self, characters: Int[Tensor, " rows"], before: Recurrent
    ) -> tuple[Recurrent, Float[Tensor, "rows characters"]]:
        """The state after one more character in each row, and the log-probabilities of the next."""
        after = self.steps.read(characters, before)
        return after, self.softmax(after.hidden[-1]).log_softmax(-1)

    def encode(self, spellings: Sequence[Sequence[int]]) -> Float[Tensor, "words units"]:
        """The vectors of some words, given with their ends."""
        assert self.encoder is not None
        shape = (self.encoder.lstm.num_layers, len(spellings), self.encoder.lstm.hidden_size)
        zeros = self.softmax.weight.new_zeros(shape)
        return read_along(self.encoder, spellings, Recurrent(zeros, zeros)).hidden[-1]


def speller(model: LanguageModel) -> Speller:
    """The model's; made once, and again when it has moved to another device."""
    device = next(model.network.parameters()).device
    known = model.__dict__.get("_speller")
    if known is None or known.device != device:
        with torch.inference_mode():
            known = model.__dict__["_speller"] = Speller(model.network)
    return known
