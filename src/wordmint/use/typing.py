"""A text typed character by character, from any place in it: how probable it was, and whether the likeliest.

The probability that a text begins with a given string is the product over its characters, so scores of continuations
that begin or end inside a word are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wordmint.model.language_model import LanguageModel
from wordmint.text.alphabet import END_OF_WORD_ID
from wordmint.text.words import LINE_END
from wordmint.use.characters import Prefix, after, begin
from wordmint.use.prediction import Prediction, predict
from wordmint.use.state import TextState


@dataclass(frozen=True)
class Typed:
    """Where the typing is, and what was typed since it began."""

    prediction: Prediction
    prefix: Prefix
    pending: str
    log_p: float = 0.0
    is_likeliest: bool = True  # every character was the most probable one
    log_p_before: float = 0.0  # before the pending word

    @property
    def state(self) -> TextState:
        """The state to go on reading from."""
        return replace(self.prediction.states[0], pending=self.pending)


def typing_from(model: LanguageModel, state: TextState) -> Typed:
    """Before the next character after a state."""
    prediction = predict(model, [state])
    prefix = after(begin(prediction), state.pending)
    return Typed(prediction, prefix, state.pending, log_p_before=-prefix.log_p)


def typed(before: Typed, text: str) -> Typed:
    """With the characters of a text; runs of white space are one, as words are all that a model knows."""
    now = before
    for character in text:
        if character.isspace():
            if now.pending:
                now = _ended(now)
            if character == LINE_END:
                now = _ended(_with(now, LINE_END))
        else:
            now = _with(now, character)
    return now


def _with(now: Typed, character: str) -> Typed:
    model = now.prediction.model
    (id_, _) = model.alphabet.spell([character])[0].tolist()
    log_p = now.prefix.log_next_character()
    return replace(
        now,
        prefix=now.prefix.go_on(id_),
        pending=now.pending + character,
        log_p=now.log_p + float(log_p[id_]),
        is_likeliest=now.is_likeliest and int(np.argmax(log_p)) == id_,
    )


def _ended(now: Typed) -> Typed:
    """The pending word ends, and the next one begins; a word that the model respells costs what it is spelled as."""
    model, told = now.prediction.model, now.prediction.model.rules.respell.get(now.pending)
    if told is not None:
        now = replace(now, prefix=after(begin(now.prediction), told), pending=told)
        now = replace(now, log_p=now.log_p_before + now.prefix.log_p)
    log_p = now.prefix.log_next_character()
    word = model.alphabet.read(model.alphabet.spell([now.pending])[0])
    prediction = predict(model, now.prediction.after([word]))
    return Typed(
        prediction,
        begin(prediction),
        "",
        now.log_p + float(log_p[END_OF_WORD_ID]),
        now.is_likeliest and int(np.argmax(log_p)) == END_OF_WORD_ID,
        now.log_p + float(log_p[END_OF_WORD_ID]),
    )
