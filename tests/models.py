"""Small models with random weights, random texts for them, and their slow twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from tests.reference.hclm import CharLSTMTwin, HCLMTwin, Scored
from wordmint.evaluation.score import TextScores, score_text
from wordmint.model.config import CharLSTMConfig, Dropout, HCLMConfig, ModelConfig
from wordmint.model.language_model import Network, build
from wordmint.model.packing import Spellings
from wordmint.model.window import AnyWindow, Profile, Reader, lay_out
from wordmint.text.alphabet import END_OF_WORD_ID, NUM_SPECIAL
from wordmint.text.streams import windows
from wordmint.training.config import TrainingConfig
from wordmint.training.step import Step

LINE_END_TYPE = 0
NO_DROPOUT = Dropout(0.0, 0.0, 0.0, 0.0, 0.0)
ALPHABET_SIZE = 9
CONFIGS: dict[str, ModelConfig] = {
    "lstm": CharLSTMConfig(units=11, dropout=NO_DROPOUT),
    "lstm-2-layers": CharLSTMConfig(units=7, layers=2, dropout=NO_DROPOUT),
    "hclm": HCLMConfig(units=7, slots=0, dropout=NO_DROPOUT),
    "hclm-cache": HCLMConfig(units=7, slots=5, dropout=NO_DROPOUT),
    "hclm-cache-1-slot": HCLMConfig(units=7, slots=1, dropout=NO_DROPOUT),
    "hclm-cache-2-layers": HCLMConfig(units=5, layers=2, slots=4, dropout=NO_DROPOUT),
}


def made_model(config: ModelConfig, seed: int = 0, reach: float = 0.5) -> Network:
    """A model in float64 whose weights are large enough to matter."""
    torch.manual_seed(seed)
    model = build(config, ALPHABET_SIZE).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-reach, reach)
    return model.eval()


@dataclass(frozen=True)
class MadeText:
    """Words as type ids, with their spellings; type 0 is the line end."""

    words: np.ndarray
    spellings: Spellings

    def spelled(self, word: int) -> tuple[int, ...]:
        begin, end = self.spellings.starts[word : word + 2]
        return tuple(self.spellings.ids[begin:end].tolist())


def made_text(num_words: int, num_types: int = 12, seed: int = 0, longest: int = 6) -> MadeText:
    """A text in which few types come often and some come once, as in real ones."""
    random = np.random.default_rng(seed)
    spelled = {(NUM_SPECIAL, END_OF_WORD_ID): None}
    while len(spelled) < num_types:
        letters = random.integers(NUM_SPECIAL, ALPHABET_SIZE, random.integers(1, longest + 1))
        spelled[*letters.tolist(), END_OF_WORD_ID] = None
    lengths = [len(one) for one in spelled]
    spellings = Spellings(
        np.array([character for one in spelled for character in one], dtype=np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
    )
    share = 1 / np.arange(1, num_types + 1)
    words = random.choice(num_types, num_words, p=share / share.sum()).astype(np.int32)
    return MadeText(words, spellings)


def twin_scores(model: Network, text: MadeText, num_slots: int | None = None) -> list[Scored]:
    """What the paper's equations say of each word of the text."""
    weights = {name: value.detach().cpu().double().numpy() for name, value in model.state_dict().items()}
    spelled = [text.spelled(word) for word in text.words.tolist()]
    if isinstance(model.config, CharLSTMConfig):
        log_p = CharLSTMTwin(weights, END_OF_WORD_ID).read(spelled)
        return [Scored(one, -np.inf, 0.0, one) for one in log_p]
    slots = model.config.slots if num_slots is None else num_slots
    return HCLMTwin(weights, model.alphabet_size, slots).read(spelled, text.spelled(0))


def scores_of(model: Network, text: MadeText, streams: int = 1, slots: int | None = None) -> TextScores:
    """What the fast model says of each word of the text."""
    return score_text(model, text.words, text.spellings, LINE_END_TYPE, streams, slots)


def laid_out(
    model: Network,
    text: MadeText,
    streams: int = 1,
    words_per_window: int = 7,
    slots: int | None = None,
    profile: Profile | None = None,
) -> Iterator[AnyWindow]:
    """The text's windows, as the model takes them."""
    state = model.start(streams, slots)
    reader = Reader(streams, state.keys.shape[1], LINE_END_TYPE)
    cut = windows(text.words, streams, words_per_window)
    return lay_out(model.config, cut, text.spellings, model.alphabet_size, reader, profile)


def trained_model(config: ModelConfig, text: MadeText, num_epochs: int = 12) -> Network:
    """A model that has learnt the text, in single precision as all models are."""
    torch.manual_seed(0)
    model = build(config, ALPHABET_SIZE).train()
    step = Step(model, TrainingConfig(streams=3, words_per_window=10, learning_rate=0.02))
    for _ in range(num_epochs):
        state = model.start(3)
        for window in laid_out(model, text, 3, 10):
            state = step(window, state)
    return model.eval()
