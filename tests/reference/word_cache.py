"""The word cache in plain words: an ordered dictionary from a word to its key, least recently used first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

import numpy as np

Vector = np.ndarray


class WordCacheTwin:
    """Holds the last `num_slots` distinct words."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.key_of: OrderedDict[Hashable, Vector] = OrderedDict()

    def add(self, word: Hashable, h: Vector) -> None:
        if self.num_slots == 0:
            return
        if word in self.key_of:
            self.key_of[word] = (self.key_of[word] + h) / 2
            self.key_of.move_to_end(word)
            return
        if len(self.key_of) == self.num_slots:
            self.key_of.popitem(last=False)
        self.key_of[word] = h
