"""The cache as a schedule: which word hits or overwrites which slot depends on the words alone, never on weights.

In a window each key is one of the K *carried* ones or one of the T *versions* that the window's words write, numbered
0 … K−1 and K … K+T−1. A version lives from the word after the one that wrote it up to and including the word that
replaces it: before w_t is predicted, the cache knows w_<t only.

A hit makes the key the mean of the old one and h_t. So the versions of one slot form a *chain* from a miss, or from a
carried key, and a key is a weighted sum over its chain with powers of one half: no recursion is left.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wordmint.model.packing import NOTHING
from wordmint.shapes import Array, Float, Int
from wordmint.text.streams import NO_WORD

BEFORE_ALL = -1


@dataclass(frozen=True)
class CachePlan:
    """What happens to the cache in a window."""

    hit: Int[Tensor, "streams words"]  # the version that holds the word before it is predicted, or NOTHING
    carried: Int[Tensor, "streams words"]  # the carried key in the chain of the word's version, or any
    carried_weight: Float[Tensor, "streams words"]  # of that key in the word's version, 0 if there is none
    weight: Float[Tensor, "streams words words"]  # of h_s, s the second, in the first word's version
    last_time: Int[Tensor, "streams versions"]  # the last word for which a version lives; BEFORE_ALL if for none
    kept: Int[Tensor, "streams slots"]  # the version in each slot after the window

    @property
    def slots(self) -> int:
        """K."""
        return self.kept.shape[1]


class Slots:
    """The words in one stream's cache, least recently used first; it moves on with every word."""

    def __init__(self, num_slots: int) -> None:
        self.num_slots = num_slots
        self.slot_of: OrderedDict[int, int] = OrderedDict()

    def use(self, word: int) -> tuple[int, bool]:
        """The slot that a word hits or is written to, and whether it is a hit."""
        slot = self.slot_of.get(word)
        if slot is not None:
            self.slot_of.move_to_end(word)
            return slot, True
        slot = len(self.slot_of) if len(self.slot_of) < self.num_slots else self.slot_of.popitem(last=False)[1]
        self.slot_of[word] = slot
        return slot, False


def plan_cache(words: Int[Array, "streams words"], streams: list[Slots]) -> CachePlan:
    """The plan of one window; `streams` move on."""
    plans = [_plan_stream(row.tolist(), slots) for row, slots in zip(words, streams, strict=True)]
    hit, chain, depth, last_time, kept = (np.array(part, dtype=np.int64) for part in zip(*plans, strict=True))
    num_slots = streams[0].num_slots
    return CachePlan(
        torch.from_numpy(hit),
        torch.from_numpy(np.minimum(chain, num_slots - 1)),
        torch.from_numpy(np.where(chain < num_slots, 0.5**depth, 0.0).astype(np.float32)),
        torch.from_numpy(_weights(chain, depth)),
        torch.from_numpy(last_time),
        torch.from_numpy(kept),
    )


def _weights(chain: Int[Array, "streams words"], depth: Int[Array, "streams words"]) -> Float[Array, "streams words _"]:
    """Of each h_s in each version: one half for every hit from s on, its own included unless it began the chain."""
    time = np.arange(chain.shape[1])
    same_chain = (chain[:, :, None] == chain[:, None, :]) & (time[:, None] >= time)
    hits_since = depth[:, :, None] - depth[:, None, :] + (depth > 0)[:, None, :]
    return np.where(same_chain, np.ldexp(np.float32(1), -np.maximum(hits_since, 0)), np.float32(0))


def _plan_stream(words: Iterable[int], slots: Slots) -> tuple[list[int], ...]:
    """Of each word the version it hits, the version that begins its version's chain, and the hits since then; of each
    version its last time; of each slot the version it ends with."""
    words = list(words)
    first_version, num_words = slots.num_slots, len(words)
    hit, depth = [NOTHING] * num_words, [0] * num_words
    chain = list(range(first_version, first_version + num_words))
    num_used = len(slots.slot_of)
    last_time = [num_words] * num_used + [BEFORE_ALL] * (first_version - num_used + num_words)
    kept = list(range(slots.num_slots))
    for time, word in enumerate(words):
        if word == NO_WORD:
            break
        slot, is_hit = slots.use(word)
        old, kept[slot] = kept[slot], first_version + time
        if is_hit:
            hit[time] = old
            chain[time] = chain[old - first_version] if old >= first_version else old
            depth[time] = depth[old - first_version] + 1 if old >= first_version else 1
        if is_hit or last_time[old] != BEFORE_ALL:
            last_time[old] = time
        last_time[first_version + time] = num_words
    return hit, chain, depth, last_time, kept
