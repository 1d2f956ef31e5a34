"""Sampling text as the model tells its story: spell or copy, and which word, or which character after the other.

Temperature, top-k and top-p sharpen each of these choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from wordmint.model.language_model import LanguageModel
from wordmint.shapes import Array, Float
from wordmint.text.alphabet import END_OF_WORD_ID
from wordmint.text.words import join
from wordmint.use.characters import after, begin
from wordmint.use.prediction import Prediction, log_not, predict
from wordmint.use.state import TextState
from wordmint.use.steps import speller

LONGEST = 1_000  # characters, after which a word is ended


@dataclass(frozen=True)
class Choosing:
    """How sharply to choose."""

    temperature: float = 1.0  # 0: always the most probable
    top_k: int = 0  # of so many only; 0: of all
    top_p: float = 1.0  # of the most probable that make up this share

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise ValueError("temperature and top_k must be at least 0, and top_p above 0 and at most 1")

    def choose(self, log_p: Float[Array, " choices"], random: np.random.Generator) -> int:
        """One of some choices."""
        if self.temperature == 0:
            return int(np.argmax(log_p))
        order = np.argsort(-log_p, kind="stable")
        sharp = log_p[order] / self.temperature
        p = np.exp(sharp - np.logaddexp.reduce(sharp))
        kept = len(p) if not self.top_k else min(self.top_k, len(p))
        kept = min(kept, int(np.searchsorted(np.cumsum(p), self.top_p - 1e-12)) + 1)
        ends = np.cumsum(p[:kept])
        return int(order[min(int(np.searchsorted(ends, random.random() * ends[-1], side="right")), kept - 1)])


class SampledWord(NamedTuple):
    """A word, and whether it was copied from the cache."""

    text: str
    copied: bool


@dataclass(frozen=True)
class Sample:
    """A text that was sampled, and the state after it."""

    words: list[SampledWord]
    state: TextState
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", join(word.text for word in self.words))


def sample(
    model: LanguageModel,
    states: Sequence[TextState],
    words: int,
    choosing: Choosing = Choosing(),
    seed: int = 0,
    stop: Sequence[str] = (),
) -> list[Sample]:
    """A text for each state, side by side; each ends after so many words or with one of the words to stop at.

    A word that is pending in a state is finished first. The same seed gives the same texts on a machine.
    """
    randoms = [np.random.default_rng([seed, row]) for row in range(len(states))]
    states, told = list(states), [list[SampledWord]() for _ in states]
    going = [row for row in range(len(states)) if words > 0]
    while going:
        prediction = predict(model, [states[row] for row in going])
        chosen = _words(prediction, choosing, [randoms[row] for row in going])
        for row, word, state in zip(going, chosen, prediction.after([word.spelled for word in chosen]), strict=True):
            told[row].append(SampledWord(word.shown, word.copied))
            states[row] = state
        going = [row for row in going if len(told[row]) < words and told[row][-1].text not in stop]
    return [Sample(one, state) for one, state in zip(told, states, strict=True)]


class _Chosen(NamedTuple):
    shown: str  # with the pending characters as they were written
    spelled: str  # as the model spells it
    copied: bool


def _words(prediction: Prediction, choosing: Choosing, randoms: list[np.random.Generator]) -> list[_Chosen]:
    """The next word of every text."""
    result, spelling = dict[int, _Chosen](), list[int]()
    for row, random in enumerate(randoms):
        copied = _copied(prediction, row, choosing, random)
        if copied is None:
            spelling.append(row)
        else:
            result[row] = copied
    spelled = _spelled(prediction, spelling, choosing, [randoms[row] for row in spelling])
    for row, word in zip(spelling, spelled, strict=True):
        pending = prediction.states[row].pending
        result[row] = _Chosen(pending + word[len(pending) :], word, copied=False)
    return [result[row] for row in range(len(randoms))]


def _copied(prediction: Prediction, row: int, choosing: Choosing, random: np.random.Generator) -> _Chosen | None:
    """A copied word, or none if the next is to be spelled; what is pending makes some words, and one way, likelier."""
    pending, copies = prediction.states[row].pending, prediction.log_copy[row]
    if not copies:
        return None
    if not pending:
        log_gate = float(prediction.log_gate[row])
        sources, log_p, words = [log_gate, log_not(log_gate)], list(copies.values()), list(copies)
    else:
        alphabet, prefix = prediction.model.alphabet, after(begin(prediction, row), pending)
        if not prefix.copies:
            return None
        known, log_p = alphabet.read(*alphabet.spell([pending])), [one for _, one in prefix.copies]
        words = [known + alphabet.read(np.array(left[:-1], dtype=np.int64)) for left, _ in prefix.copies]
        sources = [prefix.log_spelled, float(np.logaddexp.reduce(log_p))]
    if choosing.choose(np.array(sources) - np.logaddexp.reduce(sources), random) == 0:
        return None
    word = words[choosing.choose(np.array(log_p) - np.logaddexp.reduce(log_p), random)]
    return _Chosen(pending + word[len(pending) :], word, copied=True)


@torch.inference_mode()
def _spelled(
    prediction: Prediction, rows: list[int], choosing: Choosing, randoms: list[np.random.Generator]
) -> list[str]:
    """Words spelled side by side, a character at a time, each beginning with what is pending in its text."""
    if not rows:
        return []
    model, steps = prediction.model, speller(prediction.model)
    given = [model.alphabet.spell([prediction.states[row].pending])[0][:-1].tolist() for row in rows]
    spelled, open_rows = [list(one) for one in given], list(range(len(rows)))
    state, log_p = steps.begin(prediction.spelling.rows(torch.tensor(rows)))
    for place in range(LONGEST):
        choices = log_p.double().cpu().numpy()
        characters = []
        for choice, row in zip(choices, open_rows, strict=True):
            if place < len(given[row]):
                characters.append(given[row][place])
                continue
            if not spelled[row]:
                choice[END_OF_WORD_ID] = -np.inf  # no word is empty
            character = choosing.choose(choice, randoms[row]) if place + 1 < LONGEST else END_OF_WORD_ID
            characters.append(character)
            if character != END_OF_WORD_ID:
                spelled[row].append(character)
        going = [i for i, character in enumerate(characters) if character != END_OF_WORD_ID]
        if not going:
            break
        open_rows = [open_rows[i] for i in going]
        state, log_p = steps.go_on(torch.tensor([characters[i] for i in going]), state.rows(torch.tensor(going)))
    return [model.alphabet.read(np.array(one, dtype=np.int64)) for one in spelled]
