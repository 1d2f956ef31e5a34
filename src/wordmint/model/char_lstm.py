"""The baseline: one LSTM over the same characters; a word's probability is the product of its characters'."""

from __future__ import annotations

from torch import nn
from torch.nn.functional import dropout

from wordmint.model.config import CharLSTMConfig
from wordmint.model.initial import draw_parameters
from wordmint.model.lookup import lookup
from wordmint.model.lstm import LSTM
from wordmint.model.mixture import WordScores
from wordmint.model.softmax import Softmax
from wordmint.model.state import State
from wordmint.model.window import CharacterWindow


class CharLSTM(nn.Module):
    """Knows nothing of words: the end of a word is one more character."""

    def __init__(self, config: CharLSTMConfig, alphabet_size: int) -> None:
        super().__init__()
        self.config, self.alphabet_size = config, alphabet_size
        self.characters = nn.Embedding(alphabet_size, config.units)
        self.lstm = LSTM(config.units, config.layers, config.dropout.context, config.dropout.recurrent)
        self.softmax = Softmax(config.units, alphabet_size)
        draw_parameters(self)

    def start(self, num_streams: int, num_slots: int | None = None) -> State:  # noqa: ARG002 (one signature for all)
        """The state before a text."""
        return State.zeros(self.config.layers, num_streams, self.config.units, 0, self.characters.weight)

    def forward(self, window: CharacterWindow, state: State) -> tuple[WordScores, State]:
        """Scores of the window's words, and the state after them."""
        drop, sequence = self.config.dropout, window.sequence
        inputs = dropout(lookup(self.characters.weight, sequence.inputs), drop.characters, self.training)
        going = sequence.stream_of_rank
        before = (state.hidden[:, going], state.cell[:, going])
        outputs, (hidden, cell) = self.lstm.read(inputs, sequence.sizes, before, sequence.last_places)
        nats = self.softmax.nats(dropout(outputs, drop.output, self.training), sequence.targets)
        log_p = nats.new_zeros(window.present.numel()).index_add(0, sequence.word_of_place, -nats)
        after = State(
            state.hidden.index_copy(1, going, hidden.to(state.hidden)),
            state.cell.index_copy(1, going, cell.to(state.cell)),
            state.keys,
        )
        return WordScores.of_spelling(log_p.view(window.present.shape)), after
