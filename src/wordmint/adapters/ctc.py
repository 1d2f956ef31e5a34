"""pyctcdecode's language model: `BeamSearchDecoderCTC(alphabet, language_model=CTCLanguageModel(path))`."""

from __future__ import annotations

from typing import Any

from pyctcdecode.language_model import AbstractLanguageModel  # pyright: ignore[reportMissingImports]

from wordmint.text.words import LINE_END
from wordmint.use.model import Model
from wordmint.use.reading import read_words
from wordmint.use.state import TextState


class CTCLanguageModel(AbstractLanguageModel):
    """Scores each word as the beam search completes it: alpha · log p + beta.

    Beams whose last `order` − 1 words agree are taken for one. With a state, decoding goes on from what was said.
    """

    def __init__(
        self, path: str | Model, alpha: float = 0.5, beta: float = 1.5, order: int = 8, state: TextState | None = None
    ) -> None:
        self.lm = path if isinstance(path, Model) else Model.load(path)
        self.alpha, self.beta, self._order = alpha, beta, order
        self.state = state or self.lm.start()

    @property
    def order(self) -> int:
        """How many words tell beams apart, and one more."""
        return self._order

    def get_start_state(self) -> Any:
        """The state before the first word."""
        return self.state

    def score_partial_token(self, partial_token: str) -> float:  # noqa: ARG002
        """Nothing: any beginning may become a word."""
        return 0.0

    def score(self, prev_state: Any, word: str, is_last_word: bool = False) -> tuple[float, Any]:
        """What a word adds to a beam, and the state after it; the last word also pays for the line end."""
        model = self.lm.language_model
        words = [model.rules.respell.get(word, word)] if word else []
        words = [model.alphabet.read(*model.alphabet.spell([one])) for one in words]
        words += [LINE_END] if is_last_word else []
        if not words:
            return 0.0, prev_state
        (scores,), _, (after,) = read_words(model, [words], [prev_state])
        return self.alpha * float(scores.log_p.sum()) + self.beta * bool(word), after

    def reset_params(self, **params: Any) -> None:
        """Other weights."""
        self.alpha, self.beta = (
            old if params.get(name) is None else params[name]
            for name, old in (("alpha", self.alpha), ("beta", self.beta))
        )
