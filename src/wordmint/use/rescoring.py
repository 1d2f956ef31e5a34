"""Choosing among hypotheses with a model's help: final = score + α · log p + β · words.

The state after the chosen hypothesis is where the next utterance begins, so a name that was heard once helps the next
time. α and β are tuned on a list with references: scores of the model are computed with the choices of the last round,
then all pairs of a grid are tried by arithmetic alone, until the choice no longer changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product

from wordmint.errors import UserError
from wordmint.model.language_model import LanguageModel
from wordmint.text.words import LINE_END
from wordmint.use.nbest import Utterance, ranked
from wordmint.use.reading import ended, read_many
from wordmint.use.state import TextState

ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0)
BETAS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
MOST_ROUNDS = 4
AT_ONCE = 64  # hypotheses

Report = Callable[[int], None]


@dataclass(frozen=True)
class Weights:
    """Of the model, and of each word; nats."""

    alpha: float = 0.5
    beta: float = 0.0


@dataclass(frozen=True)
class Rescored:
    """Utterances with their hypotheses ranked anew, what the model said of each as they stood, and the last state."""

    utterances: list[Utterance]
    log_p: list[list[float]]
    state: TextState


def rescore(
    model: LanguageModel,
    utterances: Sequence[Utterance],
    state: TextState,
    weights: Weights = Weights(),
    carry: bool = True,
    report: Report = lambda _: None,
) -> Rescored:
    """Rank the hypotheses of every utterance, each a line of its own."""
    state = ended(model, state)
    result, log_ps, first = list[Utterance](), list[list[float]](), state
    for utterance in utterances:
        texts = [" ".join(each.text.split()) + LINE_END for each in utterance.hypotheses]
        before = state if carry else first
        log_p, after = list[float](), list[TextState]()
        for begin in range(0, len(texts), AT_ONCE):
            part = texts[begin : begin + AT_ONCE]
            for scores, one in read_many(model, part, [before] * len(part)):
                log_p.append(float(scores.log_p.sum()))
                after.append(one)
        final = _final(utterance, log_p, weights)
        state = after[max(range(len(final)), key=final.__getitem__)]
        result.append(ranked(utterance, final))
        log_ps.append(log_p)
        report(1)
    return Rescored(result, log_ps, state)


def tune(
    model: LanguageModel,
    utterances: Sequence[Utterance],
    references: dict[str, str],
    state: TextState,
    carry: bool = True,
    report: Report = lambda _: None,
) -> tuple[Weights, float]:
    """The weights with the fewest word errors on a list, and their rate."""
    weights, errors = Weights(), 1.0
    counts = [_errors_of_each(utterance, references[utterance.name]) for utterance in utterances]
    words = sum(len(references[utterance.name].split()) for utterance in utterances)
    if not words:
        raise UserError("the references hold no words, so there is nothing to tune by")
    for _ in range(MOST_ROUNDS if carry else 1):
        log_p = rescore(model, utterances, state, weights, carry, report).log_p
        before, (errors, weights) = (
            weights,
            min(
                (
                    (_errors(utterances, log_p, counts, Weights(alpha, beta)), Weights(alpha, beta))
                    for alpha, beta in product(ALPHAS, BETAS)
                ),
                key=lambda one: (one[0], abs(one[1].beta), one[1].alpha),
            ),
        )
        if weights == before:
            break
    return weights, errors / words


def word_error_rate(utterances: Sequence[Utterance], references: dict[str, str]) -> float:
    """Of the first hypotheses."""
    errors = sum(_errors_of_each(one, references[one.name])[0] for one in utterances)
    return errors / max(1, sum(len(references[one.name].split()) for one in utterances))


def _final(utterance: Utterance, log_p: Sequence[float], weights: Weights) -> list[float]:
    return [
        each.score + weights.alpha * of_model + weights.beta * len(each.text.split())
        for each, of_model in zip(utterance.hypotheses, log_p, strict=True)
    ]


def _errors(
    utterances: Sequence[Utterance], log_p: Sequence[Sequence[float]], counts: Sequence[Sequence[int]], weights: Weights
) -> int:
    total = 0
    for utterance, of_model, errors in zip(utterances, log_p, counts, strict=True):
        final = _final(utterance, of_model, weights)
        total += errors[max(range(len(final)), key=final.__getitem__)]
    return total


def can_count_errors() -> bool:
    """True where jiwer is installed."""
    return find_spec("jiwer") is not None


def _errors_of_each(utterance: Utterance, reference: str) -> list[int]:
    """Word errors of every hypothesis."""
    try:
        import jiwer
    except ImportError:
        raise UserError("counting word errors needs `pip install 'wordmint[rescore]'`") from None
    said = " ".join(reference.split())
    result = []
    for each in utterance.hypotheses:
        heard = " ".join(each.text.split())
        if not said:  # jiwer refuses an empty reference
            result.append(len(heard.split()))
            continue
        found = jiwer.process_words(said, heard)
        result.append(found.substitutions + found.deletions + found.insertions)
    return result
