"""Scores of every word of a long text, in the order of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from wordmint.dynamic import Learner
from wordmint.model.language_model import Network
from wordmint.model.packing import Spellings
from wordmint.model.window import Reader, lay_out, to_device
from wordmint.shapes import Array, Float, Int
from wordmint.text.streams import num_windows, stream_starts, windows

WORDS_AT_ONCE = {"cpu": 512, "cuda": 8192}  # of all streams: the decoder's batch
MOST_WORDS_PER_WINDOW = 512  # as each of its words is a version of a key for all the others, dead or alive


class TextScores(NamedTuple):
    """The fields of `WordScores`, one value a word of the text."""

    log_p_spell: Float[Array, " words"]
    log_p_copy: Float[Array, " words"]
    log_gate: Float[Array, " words"]
    log_p: Float[Array, " words"]

    @property
    def p_copied(self) -> Float[Array, " words"]:
        """The posterior probability that each word was copied."""
        return -np.expm1(self.log_gate + self.log_p_spell - self.log_p)


@contextmanager
def reading_mode(learner: Learner | None) -> Iterator[None]:
    """Exact products; gradients only for a learner."""
    exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    with torch.enable_grad() if learner else torch.inference_mode(), exact:
        yield


def score_text(
    model: Network,
    text: Int[Array, " words"],
    spellings: Spellings,
    first_word: int,
    num_streams: int = 1,
    num_slots: int | None = None,
    report: Callable[[int], None] = lambda _num_words: None,
    learner: Learner | None = None,
) -> TextScores:
    """Score a text. One stream is the fair way: with more of them, each begins without knowing what came before."""
    num_streams = min(num_streams, len(text))
    device = next(model.parameters()).device
    words_per_window = max(1, min(MOST_WORDS_PER_WINDOW, WORDS_AT_ONCE[device.type] // num_streams))
    if learner:
        model, words_per_window = learner.network, learner.dynamic.words
    width = num_windows(len(text), num_streams, words_per_window) * words_per_window
    scores = np.zeros((len(TextScores._fields), num_streams, width))
    state = model.start(num_streams, num_slots)
    reader = Reader(num_streams, state.keys.shape[1], first_word)
    cut = windows(text, num_streams, words_per_window)
    was_training = model.training
    model.eval()
    with reading_mode(learner):
        for index, window in enumerate(lay_out(model.config, cut, spellings, model.alphabet_size, reader)):
            window_scores, state = model(to_device(window, device), state)
            if learner:
                learner.learn(window_scores, int(window.present.sum()))
                state = state.detached()
            columns = slice(index * words_per_window, (index + 1) * words_per_window)
            scores[:, :, columns] = torch.stack(window_scores).detach().cpu().numpy()
            report(int(window.present.sum()))
    model.train(was_training)
    lengths = np.diff(stream_starts(len(text), num_streams))
    is_word = np.arange(width) < lengths[:, None]
    return TextScores(*(part[is_word] for part in scores))
