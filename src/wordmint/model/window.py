"""Windows laid out for a model: all integers that a step needs, made on the host and moved to the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from wordmint.model.cache_plan import CachePlan, Slots, plan_cache
from wordmint.model.config import CharLSTMConfig, HCLMConfig, ModelConfig
from wordmint.model.decoder import Spelling, lay_out_spelling
from wordmint.model.encoder import Reading, lay_out_reading
from wordmint.model.packing import Packing, Spellings
from wordmint.model.sequence import Sequence, lay_out_sequence
from wordmint.shapes import Array, Bool, Int
from wordmint.text import streams
from wordmint.text.streams import NO_WORD


@dataclass(frozen=True)
class Window:
    """The next words of every stream, for a hierarchical model."""

    present: Bool[Tensor, "streams words"]
    lengths: Int[Tensor, " streams"] | None  # where some streams end inside the window
    reading: Reading
    spelling: Spelling
    plan: CachePlan | None  # None: no cache


@dataclass(frozen=True)
class CharacterWindow:
    """The next words of every stream, for a model that knows characters only."""

    present: Bool[Tensor, "streams words"]
    sequence: Sequence


AnyWindow = Window | CharacterWindow


@dataclass(frozen=True)
class Profile:
    """Lengths that the spellings of every window of a corpus fit in, so that all have one shape."""

    reading: Packing
    spelling: Packing


def lay_out(
    config: ModelConfig,
    windows: Iterable[streams.Window],
    spellings: Spellings,
    alphabet_size: int,
    reader: Reader,
    profile: Profile | None = None,
) -> Iterator[AnyWindow]:
    """The windows of a text as the model takes them; `reader` moves on with them."""
    for window in windows:
        match config:
            case HCLMConfig():
                yield _hierarchical(window, spellings, alphabet_size, reader, profile)
            case CharLSTMConfig():
                yield CharacterWindow(torch.from_numpy(window.present), lay_out_sequence(window.words, spellings))


class Reader:
    """What the host remembers of the text so far: the last word of each stream, and the words in its cache.

    A text begins as if after a line end.
    """

    def __init__(self, num_streams: int, num_slots: int, first_word: int) -> None:
        self.last_words = np.full(num_streams, first_word)
        self.slots = [Slots(num_slots) for _ in range(num_streams)]

    def read(self, window: streams.Window) -> tuple[Int[Array, "streams words"], CachePlan | None]:
        """The word before each word of the window, and what the words do to the cache."""
        rows = np.concatenate([self.last_words[:, None], window.words], axis=1)
        before = np.where(rows[:, :-1] == NO_WORD, 0, rows[:, :-1])
        self.last_words = rows[np.arange(len(rows)), window.present.sum(1)]
        return before, plan_cache(window.words, self.slots) if self.slots[0].num_slots else None


def _hierarchical(
    window: streams.Window, spellings: Spellings, alphabet_size: int, reader: Reader, profile: Profile | None
) -> Window:
    before, plan = reader.read(window)
    present = window.present
    return Window(
        torch.from_numpy(present),
        None if present.all() else torch.from_numpy(present.sum(1)),
        lay_out_reading(before, spellings, profile.reading if profile else None),
        lay_out_spelling(window.words, present, spellings, alphabet_size, profile.spelling if profile else None),
        plan,
    )


Value = TypeVar("Value")
ON_HOST = {"sizes", "lengths"}  # torch wants them there


def to_device(window: Value, device: torch.device) -> Value:
    """A window on a device; what describes shapes to the host stays there."""
    return map_tensors(window, lambda tensor: tensor.to(device, non_blocking=True))


def map_tensors(window: Value, change: Callable[[Tensor], Tensor]) -> Value:
    """A window, or a part of one, with every tensor changed that lives on the device."""
    moved: dict[str, Any] = {}
    for field in fields(window):  # pyright: ignore[reportArgumentType]
        part = getattr(window, field.name)
        if is_dataclass(part):
            moved[field.name] = map_tensors(part, change)
        elif isinstance(part, Tensor) and field.name not in ON_HOST:
            moved[field.name] = change(part)
    return replace(window, **moved)  # pyright: ignore[reportArgumentType]


def fitting_profile(windows: list[Window], share: float = 0.97) -> Profile:
    """The lengths that fit all windows but those with the longest words."""
    steps = np.array([len(window.spelling.sizes) + len(window.reading.sizes) for window in windows])
    chosen = [windows[i] for i in np.flatnonzero(steps <= np.quantile(steps, share))]
    reading = _longest([window.reading.sizes for window in chosen])
    spelling = _longest([window.spelling.sizes for window in chosen])
    return Profile(reading, spelling)


def _longest(sizes: list[Int[Tensor, " _"]]) -> Packing:
    """Each rank's greatest length; a window's sizes tell its lengths, as the longest come first."""
    num_ranks = max(int(one[0]) for one in sizes)
    most = np.zeros(max(map(len, sizes)), dtype=np.int64)
    for one in sizes:
        most[: len(one)] = np.maximum(most[: len(one)], one.numpy())
    return Packing.of((np.arange(num_ranks)[:, None] < most).sum(1))
