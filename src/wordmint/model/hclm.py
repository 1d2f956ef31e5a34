"""The hierarchical character language model, with a word cache or without: section 3 of the paper, top to bottom."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import dropout

from wordmint.model.beside import Beside
from wordmint.model.config import HCLMConfig
from wordmint.model.context import Context
from wordmint.model.decoder import CharacterDecoder
from wordmint.model.encoder import CharacterEncoder
from wordmint.model.initial import draw_parameters
from wordmint.model.lookup import lookup
from wordmint.model.mixture import Gate, WordScores, mix
from wordmint.model.state import State
from wordmint.model.window import Window
from wordmint.model.word_cache import WordCache
from wordmint.shapes import Float, Int


class HCLM(nn.Module):
    """Reads words character by character, remembers them word by word, and spells or copies the next one."""

    def __init__(self, config: HCLMConfig, alphabet_size: int) -> None:
        super().__init__()
        self.config, self.alphabet_size = config, alphabet_size
        self.characters = nn.Embedding(alphabet_size + 1, config.units)  # and the start symbol
        units, layers, drop = config.units, config.layers, config.dropout
        self.encoder = CharacterEncoder(units, layers, drop.characters)
        self.context = Context(units, layers, drop.words, drop.recurrent)
        self.decoder = CharacterDecoder(alphabet_size, units, layers, drop.output)
        self.cache = WordCache(units) if config.slots else None
        self.gate = Gate(units) if config.slots else None
        draw_parameters(self)

    def start(self, num_streams: int, num_slots: int | None = None) -> State:
        """The state before a text; the cache may have another size than in training."""
        slots = self.config.slots if num_slots is None else num_slots
        weight = self.characters.weight
        return State.zeros(self.config.layers, num_streams, self.config.units, slots if self.cache else 0, weight)

    def forward(self, window: Window, state: State) -> tuple[WordScores, State]:
        """Scores of the window's words, and the state after them."""
        drop, dtype = self.config.dropout, state.hidden.dtype
        words = self.encoder(self._vectors(window.reading.characters), window.reading)
        before = self._drop(lookup(words, window.reading.word_before), drop.words)
        context, (hidden, cell) = self.context(before, (state.hidden, state.cell), window.lengths)
        told = self._drop(context, drop.context)
        if self.cache is None or self.gate is None or window.plan is None:
            log_p_spell = self._spell(told, window)
            return WordScores.of_spelling(log_p_spell), State(hidden.to(dtype), cell.to(dtype), state.keys)
        asked, cache, gate, plan = self._drop(context, drop.cache), self.cache, self.gate, window.plan
        beside = Beside(context.device)  # copying and spelling need nothing of each other
        copying, gamma = beside.start(lambda: (cache(asked, state.keys, plan), gate(told)), uses=(asked, told))
        log_p_spell = self._spell(told, window)
        beside.join((*copying, gamma))
        scores = mix(log_p_spell, copying.log_p_copy, gamma, copying.is_empty | ~window.present)
        return scores, State(hidden.to(dtype), cell.to(dtype), copying.keys)

    def _spell(self, told: Float[Tensor, "streams words units"], window: Window) -> Float[Tensor, "streams words"]:
        spelling = window.spelling
        log_p = self.decoder(told.flatten(0, 1), self._vectors(spelling.inputs), spelling)
        return log_p.view(window.present.shape)

    def _vectors(self, characters: Int[Tensor, " places"]) -> Float[Tensor, "places units"]:
        return self._drop(lookup(self.characters.weight, characters), self.config.dropout.characters)

    def _drop(self, values: Tensor, share: float) -> Tensor:
        return dropout(values, share, self.training)
