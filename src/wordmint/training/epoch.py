"""The windows of a training text: laid out once, kept where they are used, the same in every epoch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch

from wordmint.corpora.corpus import LINE_END_ID, Corpus
from wordmint.model.config import HCLMConfig, ModelConfig
from wordmint.model.kernels.recurrence import suits
from wordmint.model.packing import Spellings
from wordmint.model.window import AnyWindow, Profile, Reader, fitting_profile, lay_out, to_device
from wordmint.text.streams import num_windows, windows
from wordmint.training.config import TrainingConfig

WORDS_KEPT = 4_000_000  # about 350 bytes each
WINDOWS_FOR_PROFILE = 2_000


class Epoch:
    """Windows by their number; a short text is kept whole, a long one is laid out anew as it is read."""

    def __init__(self, corpus: Corpus, model: ModelConfig, config: TrainingConfig, device: torch.device) -> None:
        self.model, self.config, self.device = model, config, device
        self.text = corpus.splits["train"].words
        self.num_streams = min(config.streams, len(self.text))
        self.spellings = Spellings(corpus.spellings, corpus.spelling_starts)
        self.alphabet_size = len(corpus.alphabet)
        self.num_windows = num_windows(len(self.text), self.num_streams, config.words_per_window)
        self.profile = self._profile() if has_one_shape(model, config, device) else None
        self.kept: list[AnyWindow] | None = list(self._lay_out()) if len(self.text) <= WORDS_KEPT else None

    def windows(self, first: int = 0) -> Iterator[AnyWindow]:
        """The windows from a number on."""
        if self.kept is not None:
            yield from self.kept[first:]
            return
        for index, window in enumerate(self._lay_out()):  # from the start, as the cache's plan depends on all before
            if index >= first:
                yield window

    def _lay_out(self) -> Iterator[AnyWindow]:
        slots = self.model.slots if isinstance(self.model, HCLMConfig) else 0
        reader = Reader(self.num_streams, slots, LINE_END_ID)
        cut = windows(self.text, self.num_streams, self.config.words_per_window)
        for window in lay_out(self.model, cut, self.spellings, self.alphabet_size, reader, self.profile):
            yield to_device(window, self.device)

    def _profile(self) -> Profile:
        config = HCLMConfig(slots=0) if isinstance(self.model, HCLMConfig) else self.model
        cut = windows(self.text, self.num_streams, self.config.words_per_window)
        reader = Reader(self.num_streams, 0, LINE_END_ID)
        laid_out = lay_out(config, cut, self.spellings, self.alphabet_size, reader)
        return fitting_profile(list(islice(laid_out, WINDOWS_FOR_PROFILE)))


def has_one_shape(model: ModelConfig, config: TrainingConfig, device: torch.device) -> bool:
    """True where nearly all windows shall have one shape, so that a step can be recorded."""
    if device.type != "cuda":
        return False
    return isinstance(model, HCLMConfig) or (config.precision == "bfloat16" and suits(model.units, device))
