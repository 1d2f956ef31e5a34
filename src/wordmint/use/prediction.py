"""What a model says of the next word, before it is known: the gate, the words in the cache, and where spelling begins.

The word that comes moves it on to the next state: word by word what `reading` does in windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from wordmint.model.attention import scores_in_blocks
from wordmint.model.hclm import HCLM
from wordmint.model.language_model import LanguageModel
from wordmint.model.state import State
from wordmint.shapes import Array, Float
from wordmint.use.reading import apart, stacked
from wordmint.use.state import TextState, check_belongs
from wordmint.use.steps import Recurrent, read_along, speller


@dataclass(frozen=True)
class Prediction:
    """For each of some texts, what comes next."""

    model: LanguageModel
    states: Sequence[TextState]
    log_gate: Float[Array, " texts"]  # of spelling
    log_copy: list[dict[str, float]]  # of each text, the log-probability of each word in its cache if one is copied
    spelling: Recurrent  # where spelling begins
    neural: State  # with the last words read
    context: Float[Tensor, "texts units"] | None  # h_t, which the baseline has not

    @torch.inference_mode()
    def after(self, words: Sequence[str]) -> list[TextState]:
        """The states after the words that came, as the model spells them."""
        neural = self.neural if self.context is not None else self._baseline_after(words)
        keys, caches = self.neural.keys.clone(), []
        for row, (state, word) in enumerate(zip(self.states, words, strict=True)):
            cached = dict(state.cached)
            if state.num_slots and self.context is not None:
                slot, is_hit = _slot(cached, word, state.num_slots)
                keys[row, slot] = (keys[row, slot] + self.context[row]) / 2 if is_hit else self.context[row]
                cached.pop(word, None)
                cached = {known: place for known, place in cached.items() if place != slot} | {word: slot}
            caches.append(tuple(cached.items()))
        parts = apart(State(*(part.cpu() for part in (neural.hidden, neural.cell, keys))))
        return [
            replace(state, neural=neural, last_word=word, cached=cached, pending="")
            for state, neural, word, cached in zip(self.states, parts, words, caches, strict=True)
        ]

    def _baseline_after(self, words: Sequence[str]) -> State:
        """The baseline reads the symbol that begins a word and its characters, but not yet its end."""
        steps = speller(self.model)
        read = [[steps.first, *one[:-1].tolist()] for one in self.model.alphabet.spell(words)]
        after = read_along(steps.steps, read, Recurrent(self.neural.hidden, self.neural.cell))
        return State(after.hidden, after.cell, self.neural.keys)


@torch.inference_mode()
def predict(model: LanguageModel, states: Sequence[TextState]) -> Prediction:
    """What comes next in each text; characters that are pending in it are not considered yet."""
    check_belongs(states, model)
    network, steps, neural = model.network, speller(model), stacked(states, model)
    before, number = Recurrent(neural.hidden, neural.cell), len(states)
    if not isinstance(network, HCLM):  # the baseline's state has read all but the end of the last word
        return Prediction(model, states, np.zeros(number), [{}] * number, before, neural, None)
    assert steps.context is not None
    last = [one.tolist() for one in model.alphabet.spell([state.last_word for state in states])]
    after = steps.context.take(steps.encode(last), before)
    context = after.hidden[-1]
    start = context.expand(network.decoder.lstm.num_layers, -1, -1)
    log_gate, log_copy = np.zeros(number), [dict[str, float]()] * number
    if network.cache is not None and network.gate is not None and neural.keys.shape[1]:
        gamma = network.gate(context[None])[0].double()
        has_words = torch.tensor([bool(state.cached) for state in states], device=gamma.device)
        log_gate = torch.where(has_words, torch.nn.functional.logsigmoid(gamma), 0.0).cpu().numpy()
        log_copy = _log_copy(network, states, context, neural.keys)
    read = State(after.hidden, after.cell, neural.keys)
    return Prediction(model, states, log_gate, log_copy, Recurrent(start, torch.zeros_like(start)), read, context)


def log_not(log_p: float) -> float:
    """log(1 − p)."""
    return math.log(-math.expm1(log_p)) if log_p < 0 else -math.inf


def _log_copy(network: HCLM, states: Sequence[TextState], context: Tensor, keys: Tensor) -> list[dict[str, float]]:
    cache = network.cache
    assert cache is not None
    queries = torch.tanh(cache.query(context))[:, None]
    scores = scores_in_blocks(queries, cache.key(keys), cache.score)[:, 0].double().cpu().numpy()
    result = []
    for row, state in zip(scores, states, strict=True):
        if not state.cached:
            result.append({})
            continue
        own = row[[slot for _, slot in state.cached]]
        own = own - own.max()
        own = own - math.log(math.fsum(np.exp(own)))
        result.append({word: value for (word, _), value in zip(state.cached, own.tolist(), strict=True)})
    return result


def _slot(cached: dict[str, int], word: str, num_slots: int) -> tuple[int, bool]:
    """Where a word is, or where it goes; the words are ordered by their last use."""
    if word in cached:
        return cached[word], True
    return (len(cached), False) if len(cached) < num_slots else (next(iter(cached.values())), False)
