"""A trained model as its users hold it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from wordmint.dynamic import Dynamic, Learner
from wordmint.errors import UserError
from wordmint.model.config import MAX_SLOTS
from wordmint.model.int8 import read_in_int8
from wordmint.model.language_model import LanguageModel, has_cache
from wordmint.use import completion, generation, reading
from wordmint.use.characters import after, begin, by_character
from wordmint.use.completion import Completions
from wordmint.use.generation import Choosing, Sample
from wordmint.use.prediction import predict
from wordmint.use.scores import Scores
from wordmint.use.state import TextState, start


class Model:
    """Reads, scores, completes and samples text.

    All its methods leave states as they are and may be called from several threads.
    """

    def __init__(self, language_model: LanguageModel) -> None:
        self.language_model = language_model.eval()

    @classmethod
    def load(cls, folder_or_name: str | Path, device: str = "cpu", int8: bool = False) -> Model:
        """The model in a folder, a run's folder, or of that name on the Hugging Face Hub."""
        model = LanguageModel.load(folder_or_name)
        model.network.to(torch.device(device))
        if int8:
            read_in_int8(model.network)
        return cls(model)

    def start(self, slots: int | None = None) -> TextState:
        """The state before a text; the cache may have another size than in training (0 to 10,000)."""
        if slots is not None and not 0 <= slots <= MAX_SLOTS:
            raise UserError(f"a cache of {slots} slots; it can have 0 to {MAX_SLOTS:,}")
        if slots and not has_cache(self.language_model.network):
            raise UserError(f"a cache of {slots} slots, but this model has none; leave the slots away")
        return start(self.language_model, slots)

    def read(
        self, text: str, state: TextState | None = None, end: bool = False, learner: Learner | None = None
    ) -> tuple[Scores, TextState]:
        """Scores of the words that end in a text, and the state after it.

        A last word that no white space follows may go on in the next text: it is kept pending in the state, unless
        the text ends here. With a learner, the text is scored by it, and it learns from it.
        """
        return reading.read(self.language_model, text, state or self.start(), end, learner)

    def learner(self, rate: float = 0.1, decay: float = 0.01, words: int = 20) -> Learner:
        """A copy of the model that goes on learning while it reads: see `wordmint.dynamic`."""
        return Learner(self.language_model.network, Dynamic(rate, decay, words))

    def score(self, text: str, state: TextState | None = None) -> Scores:
        """Scores of all words of a text."""
        return self.read(text, state, end=True)[0]

    def score_many(self, texts: Sequence[str], states: Sequence[TextState] | None = None) -> list[Scores]:
        """Scores of several texts, as a batch."""
        states = states or [self.start()] * len(texts)
        return [scores for scores, _ in reading.read_many(self.language_model, texts, states, end=True)]

    def next_character(self, state: TextState | None = None) -> dict[str, float]:
        """The probability of each next character; a space is the end of the word, U+FFFD any character unknown."""
        state = state or self.start()
        prefix = after(begin(predict(self.language_model, [state])), state.pending)
        return by_character(prefix)

    def complete(self, text: str = "", state: TextState | None = None, number: int = 5) -> Completions:
        """The most probable whole words for the one that a text ends in, or for the next one."""
        if number < 1:
            raise UserError(f"{number} completions; ask for at least 1")
        return completion.complete(self.language_model, text, state or self.start(), number)

    def sample(
        self,
        state: TextState | None = None,
        words: int = 50,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
    ) -> Sample:
        """A text that goes on from a state."""
        (one,) = self.sample_many([state or self.start()], words, seed, temperature, top_k, top_p, stop)
        return one

    def sample_many(
        self,
        states: Sequence[TextState],
        words: int = 50,
        seed: int = 0,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
    ) -> list[Sample]:
        """Texts that go on from several states, as a batch."""
        choosing = Choosing(temperature, top_k, top_p)
        return generation.sample(self.language_model, states, words, choosing, seed, stop)
