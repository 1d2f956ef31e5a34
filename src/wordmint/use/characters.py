"""The exact probability of the next character after any beginning of a word, spelling and copying marginalised.

The mass of all words that begin so is λ p(spelled so far) + (1 − λ) Σ p(copied words that begin so); the probability of
a character is the share of it that goes on with that character. Over a word the shares multiply to its probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from wordmint.model.language_model import LanguageModel
from wordmint.shapes import Array, Float
from wordmint.text.alphabet import END_OF_WORD_ID
from wordmint.use.prediction import Prediction, log_not
from wordmint.use.steps import Recurrent, speller

Copies = tuple[tuple[tuple[int, ...], float], ...]  # what is left of each spelling, and the word's log-probability


@dataclass(frozen=True)
class Prefix:
    """The beginning of a word, as character ids, and all that is needed to go on from it."""

    model: LanguageModel
    log_spelled: float  # of the beginning, spelled, the gate included
    log_next: Float[Array, " characters"]  # of the next character if it is spelled
    copies: Copies  # the words in the cache that begin so, the gate included
    spelling: Recurrent

    @property
    def log_p(self) -> float:
        """Of all words that begin so."""
        return float(np.logaddexp.reduce([self.log_spelled, *(log_p for _, log_p in self.copies)]))

    def log_next_character(self) -> Float[Array, " characters"]:
        """The log-probability of each character, the end of the word included."""
        mass = self.log_spelled + self.log_next
        for left, log_p in self.copies:
            mass[left[0]] = np.logaddexp(mass[left[0]], log_p)
        return mass - np.logaddexp.reduce(mass)

    def go_on(self, character: int) -> Prefix:
        """With one more character, which is not the end of the word."""
        with torch.inference_mode():
            spelling, log_next = speller(self.model).go_on(torch.tensor([character]), self.spelling)
        return Prefix(
            self.model,
            self.log_spelled + float(self.log_next[character]),
            _row(log_next),
            tuple((left[1:], log_p) for left, log_p in self.copies if left[0] == character),
            spelling,
        )


def begin(prediction: Prediction, row: int = 0) -> Prefix:
    """Before the first character of a text's next word."""
    model, log_gate = prediction.model, float(prediction.log_gate[row])
    log_copied, copies = log_not(log_gate), prediction.log_copy[row]
    spelled = [tuple(one.tolist()) for one in model.alphabet.spell(copies)]
    with torch.inference_mode():
        spelling, log_next = speller(model).begin(prediction.spelling.rows(torch.tensor([row])))
    masses = (log_copied + log_p for log_p in copies.values())
    return Prefix(model, log_gate, _row(log_next), tuple(zip(spelled, masses, strict=True)), spelling)


def after(prefix: Prefix, text: str) -> Prefix:
    """With the characters of a text."""
    for character in prefix.model.alphabet.spell([text])[0][:-1].tolist():
        prefix = prefix.go_on(character)
    return prefix


def by_character(prefix: Prefix) -> dict[str, float]:
    """The probability of each character; a space stands for the end of the word, U+FFFD for any other character."""
    alphabet, probabilities = prefix.model.alphabet, np.exp(prefix.log_next_character())
    names = [chr(point) for point in alphabet.code_point_of_id.tolist()]
    assert names[END_OF_WORD_ID] == " "
    return dict(zip(names, probabilities.tolist(), strict=True))


def is_possible(log_p: float) -> bool:
    """True for a probability above 0."""
    return log_p > -math.inf


def _row(values: torch.Tensor) -> Float[Array, " characters"]:
    return values[0].double().cpu().numpy()
