"""kenlm's interface: change `import kenlm` to `from wordmint.adapters import kenlm`, and a path to a model's.

Scores are base-10 logarithms as there. A sentence is a line: it begins as after a line end, and `eos` pays for the line
end. There is no n: `order` is how many words of history tell states apart, and matched lengths are always 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from wordmint.text.words import LINE_END
from wordmint.use.model import Model as WordmintModel
from wordmint.use.reading import read_words
from wordmint.use.state import TextState

LN_10 = math.log(10)
ORDER = 1 << 20


class FullScoreReturn(NamedTuple):
    """One word's score."""

    log_prob: float
    ngram_length: int
    oov: bool


class Config:
    """kenlm's settings of how a file is loaded; there are none here."""


class State:
    """A place for a state, filled by a model."""

    def __init__(self) -> None:
        self.value: TextState | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.value == other.value

    def __copy__(self) -> State:
        copied = State()
        copied.value = self.value
        return copied

    def __deepcopy__(self, _memo: object) -> State:
        return self.__copy__()  # values are never changed

    def __hash__(self) -> int:
        return 0 if self.value is None else hash((self.value.last_word, self.value.cached))


class Model:
    """A model that answers as kenlm's do."""

    def __init__(self, path: str, _config: object = None) -> None:
        self.path = path
        self.lm = WordmintModel.load(path)

    @property
    def order(self) -> int:
        """No number of words tells all states apart; this is more than any sentence has."""
        return ORDER

    def score(self, sentence: str, bos: bool = True, eos: bool = True) -> float:
        """Log10 probability of a sentence."""
        return math.fsum(score for score, _, _ in self.full_scores(sentence, bos, eos))

    def perplexity(self, sentence: str) -> float:
        """A word, the sentence's end included."""
        return 10.0 ** (-self.score(sentence) / (len(sentence.split()) + 1))

    def full_scores(self, sentence: str, bos: bool = True, eos: bool = True) -> Iterator[FullScoreReturn]:  # noqa: ARG002
        """The score of each word, and of the sentence's end."""
        words = [*sentence.split(), *([LINE_END] if eos else [])]
        scores = self.lm.score(" ".join(words)) if words else []
        known = self.lm.language_model.has_seen(words) if words else []
        for row, is_known in zip(scores, known, strict=True):
            yield FullScoreReturn(row.log_p / LN_10, 1, not is_known)

    def BeginSentenceWrite(self, state: State) -> None:
        """Where sentences begin."""
        state.value = self.lm.start()

    def NullContextWrite(self, state: State) -> None:
        """The same: without a context a text begins."""
        state.value = self.lm.start()

    def BaseScore(self, in_state: State, word: str, out_state: State) -> float:
        """A word's log10 probability; fills the state after it."""
        return self.BaseFullScore(in_state, word, out_state).log_prob

    def BaseFullScore(self, in_state: State, word: str, out_state: State) -> FullScoreReturn:
        """The same with more."""
        model = self.lm.language_model
        said = LINE_END if word == "</s>" else model.rules.respell.get(word, word)
        spelled = model.alphabet.read(*model.alphabet.spell([said]))
        ((scores,), _, (out_state.value,)) = read_words(model, [[spelled]], [in_state.value or self.lm.start()])
        return FullScoreReturn(float(scores.log_p[0]) / LN_10, 1, word not in self)

    def __contains__(self, word: str) -> bool:
        """True for a word of the training text; any other has a probability too."""
        return bool(self.lm.language_model.has_seen([LINE_END if word == "</s>" else word])[0])


LanguageModel = Model  # as kenlm names it too
