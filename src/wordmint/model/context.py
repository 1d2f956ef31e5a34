"""The context LSTM: what came before, word by word (section 3.1, h^ctx)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wordmint.model.lstm import LSTM, Recurrent
from wordmint.shapes import Bool, Float, Int


class Context(nn.Module):
    """LSTM_ctx: h_t, its output, has read the words before t."""

    def __init__(self, units: int, layers: int, dropout: float, recurrent_dropout: float) -> None:
        super().__init__()
        self.lstm = LSTM(units, layers, dropout, recurrent_dropout)

    def forward(
        self,
        words: Float[Tensor, "streams words units"],
        recurrent: Recurrent,
        lengths: Int[Tensor, " streams"] | None,
    ) -> tuple[Float[Tensor, "streams words units"], Recurrent]:
        """Lengths are given where streams end inside the window: their state is the one after their last word."""
        num_streams, num_words, units = words.shape
        if lengths is None:
            sizes = torch.full((num_words,), num_streams)
            outputs, after = self.lstm.read(words.transpose(0, 1).flatten(0, 1), sizes, recurrent)
            return outputs.view(num_words, num_streams, units).transpose(0, 1), after
        longest_first = torch.argsort(lengths, descending=True, stable=True)[: int((lengths > 0).sum())]
        is_word = torch.arange(num_words)[:, None] < lengths[longest_first]
        at, is_word_there = longest_first.to(words.device), is_word.to(words.device)
        before = (recurrent[0][:, at], recurrent[1][:, at])
        packed, after = self.lstm.read(words[at].transpose(0, 1)[is_word_there], is_word.sum(1)[is_word.any(1)], before)
        hidden, cell = (old.index_copy(1, at, new.to(old)) for old, new in zip(recurrent, after, strict=True))
        return self._unpacked(packed, words, at, is_word_there), (hidden, cell)

    @staticmethod
    def _unpacked(packed: Tensor, words: Tensor, at: Tensor, is_word: Bool[Tensor, "words going"]) -> Tensor:
        going = packed.new_zeros(*is_word.shape, packed.shape[-1]).masked_scatter(is_word[..., None], packed)
        return packed.new_zeros(words.shape).index_copy(0, at, going.transpose(0, 1))
