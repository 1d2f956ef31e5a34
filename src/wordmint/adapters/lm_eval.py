"""EleutherAI's lm-evaluation-harness: importing this registers the model `wordmint`.

    python -m wordmint.adapters.lm_eval run --model wordmint --model_args pretrained=MODEL --tasks …

Continuations are scored exactly, wherever they begin or end; a rolling log-likelihood reads the whole string, without a
limit. Tokens are words.
"""

from __future__ import annotations

from typing import Any

from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from wordmint.text.words import LINE_END
from wordmint.use.generation import Choosing, sample
from wordmint.use.model import Model
from wordmint.use.state import TextState
from wordmint.use.typing import typed, typing_from

MOST_WORDS = 256
STRINGS_AT_ONCE = 32


@register_model("wordmint")
class WordmintLM(LM):
    """The harness's three questions."""

    def __init__(self, pretrained: str, device: str = "cpu", slots: int | None = None, **_more: Any) -> None:
        super().__init__()
        self.lm = Model.load(pretrained, device if device in ("cpu", "cuda") else "cpu")
        self.first = self.lm.start(None if slots is None else int(slots))

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Log-probability that a context goes on with a continuation, and whether it is the likeliest way."""
        answers = []
        for request in requests:
            context, continuation = request.args
            begun = typing_from(self.lm.language_model, self._after(context))
            ended = typed(begun, continuation)
            answers.append((ended.log_p, ended.is_likeliest))
        return answers

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        """Log-probability of whole strings, each by itself."""
        texts = [request.args[0] for request in requests]
        answers: list[float] = []
        for begin in range(0, len(texts), STRINGS_AT_ONCE):
            part = texts[begin : begin + STRINGS_AT_ONCE]
            answers += [float(one.log_p.sum()) for one in self.lm.score_many(part, [self.first] * len(part))]
        return answers

    def generate_until(self, requests: list[Any]) -> list[str]:
        """What each context goes on with, up to the first of the strings to stop at."""
        answers = []
        for request in requests:
            context, options = request.args
            until = options.get("until") or []
            stops = [until] if isinstance(until, str) else list(until)
            words = min(int(options.get("max_gen_toks", MOST_WORDS)), MOST_WORDS)
            hot = float(options.get("temperature", 0.0)) if options.get("do_sample") else 0.0
            answers.append(self._going_on(context, stops, words, hot))
        return answers

    def _going_on(self, context: str, stops: list[str], words: int, temperature: float) -> str:
        state, text = self._after(context), ""
        previous = LINE_END if not context or context[-1].isspace() else context
        for number in range(words):
            pending = state.pending
            (one,) = sample(self.lm.language_model, [state], 1, Choosing(temperature), seed=number)
            word, state = one.words[0].text, one.state
            gap = "" if pending or LINE_END in (previous, word) else " "
            text, previous = text + gap + word[len(pending) :], word
            ends = [text.find(stop) for stop in stops if stop in text]
            if ends:
                return text[: min(ends)]
        return text

    def _after(self, context: str) -> TextState:
        return self.lm.read(context, self.first)[1]


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
