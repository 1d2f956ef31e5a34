"""The paper's equations, a word at a time, in float64 and plain loops; written from the paper alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tests.reference.word_cache import WordCacheTwin

Vector = np.ndarray
Weights = Mapping[str, np.ndarray]


class Scored(NamedTuple):
    log_p_spell: float
    log_p_copy: float
    log_gate: float
    log_p: float


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTMTwin:
    """Layers of LSTM cells; gates in PyTorch's order: input, forget, cell, output."""

    def __init__(self, weights: Weights, prefix: str) -> None:
        self.layers = []
        while f"{prefix}weight_ih_l{len(self.layers)}" in weights:
            layer = len(self.layers)
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            self.layers.append([weights[f"{prefix}{name}_l{layer}"] for name in names])

    def zero(self) -> list[tuple[Vector, Vector]]:
        units = self.layers[0][1].shape[1]
        return [(np.zeros(units), np.zeros(units)) for _ in self.layers]

    def step(self, x: Vector, state: list[tuple[Vector, Vector]]) -> tuple[Vector, list[tuple[Vector, Vector]]]:
        after = []
        for (w_ih, w_hh, b_ih, b_hh), (h, c) in zip(self.layers, state, strict=True):
            i, f, g, o = np.split(w_ih @ x + b_ih + w_hh @ h + b_hh, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            x = sigmoid(o) * np.tanh(c)
            after.append((x, c))
        return x, after


def log_softmax(scores: Vector) -> Vector:
    scores = scores - scores.max()
    return scores - np.log(np.exp(scores).sum())


class HCLMTwin:
    """HCLM with a word cache; `num_slots` = 0 is HCLM without."""

    def __init__(self, weights: Weights, start_id: int, num_slots: int) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}
        self.start_id = start_id
        self.encoder = LSTMTwin(self.weights, "encoder.lstm.")
        self.context = LSTMTwin(self.weights, "context.lstm.")
        self.decoder = LSTMTwin(self.weights, "decoder.lstm.")
        self.cache = WordCacheTwin(num_slots)
        self.context_state = self.context.zero()

    def read(self, text: list[tuple[int, ...]], word_before: tuple[int, ...]) -> list[Scored]:
        """Scores of the words of a text, each given as its spelling."""
        scores = []
        for word in text:
            h, self.context_state = self.context.step(self.encode(word_before), self.context_state)
            scores.append(self.score(word, h))
            self.cache.add(word, h)
            word_before = word
        return scores

    def encode(self, word: tuple[int, ...]) -> Vector:
        h, state = np.zeros(0), self.encoder.zero()
        for character in word:
            h, state = self.encoder.step(self.weights["characters.weight"][character], state)
        return h

    def spell(self, word: tuple[int, ...], h: Vector) -> float:
        state = [(h, np.zeros_like(h)) for _ in self.decoder.layers]
        total = 0.0
        for read, predicted in zip((self.start_id, *word), word, strict=False):
            out, state = self.decoder.step(self.weights["characters.weight"][read], state)
            logits = self.weights["decoder.softmax.weight"] @ out + self.weights["decoder.softmax.bias"]
            total += log_softmax(logits)[predicted]
        return total

    def copy(self, word: tuple[int, ...], h: Vector) -> float:
        w = self.weights
        r = np.tanh(w["cache.query.weight"] @ h + w["cache.query.bias"])
        words = list(self.cache.key_of)
        u = np.array([w["cache.score"] @ np.tanh(w["cache.key.weight"] @ self.cache.key_of[m] + r) for m in words])
        return log_softmax(u)[words.index(word)] if word in words else -np.inf

    def gate(self, h: Vector) -> float:
        w = self.weights
        for layer in ("gate.mlp.0", "gate.mlp.2"):
            h = np.tanh(w[f"{layer}.weight"] @ h + w[f"{layer}.bias"])
        return sigmoid((w["gate.out.weight"] @ h + w["gate.out.bias"])[0])

    def score(self, word: tuple[int, ...], h: Vector) -> Scored:
        log_p_spell = self.spell(word, h)
        if not self.cache.key_of:
            return Scored(log_p_spell, -np.inf, 0.0, log_p_spell)
        log_p_copy, gate = self.copy(word, h), self.gate(h)
        p = gate * np.exp(log_p_spell) + (1 - gate) * np.exp(log_p_copy)
        return Scored(log_p_spell, log_p_copy, np.log(gate), np.log(p))


class CharLSTMTwin:
    """One LSTM over all characters; it reads the end of a word before the text begins."""

    def __init__(self, weights: Weights, end_of_word: int) -> None:
        self.weights = {name: np.asarray(value, dtype=np.float64) for name, value in weights.items()}
        self.lstm = LSTMTwin(self.weights, "lstm.")
        self.state = self.lstm.zero()
        self.last = end_of_word

    def read(self, text: list[tuple[int, ...]]) -> list[float]:
        return [sum(self._next(character) for character in word) for word in text]

    def _next(self, character: int) -> float:
        out, self.state = self.lstm.step(self.weights["characters.weight"][self.last], self.state)
        self.last = character
        return log_softmax(self.weights["softmax.weight"] @ out + self.weights["softmax.bias"])[character]
