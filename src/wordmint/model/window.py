"""Windows laid out for a model: all integers that a step needs, made on the host and moved to the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate
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
    """Lengths that the spellings, or the streams, of every window of a corpus fit in, so that all have one shape."""

    reading: Packing | None = None
    spelling: Packing | None = None
    num_steps: int = 0  # of characters, for the baseline


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
                num_steps = profile.num_steps if profile else 0
                sequence = lay_out_sequence(window.words, spellings, num_steps)
                yield CharacterWindow(torch.from_numpy(window.present), sequence)


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
ALIGNED = 16  # bytes


def to_device(window: Value, device: torch.device) -> Value:
    """A window on a device; what describes shapes to the host stays there."""
    return in_one_piece(window, device) if device.type == "cuda" else window


def in_one_piece(window: Value, device: torch.device) -> Value:
    """A copy on a device whose tensors share one piece of memory, `memory_of` it, so that it can be copied at once."""
    pieces: list[Tensor] = []
    map_tensors(window, lambda tensor: pieces.append(tensor) or tensor)
    sizes = [-(-tensor.nbytes // ALIGNED) * ALIGNED for tensor in pieces]
    whole = torch.zeros(sum(sizes), dtype=torch.uint8, device=pieces[0].device)
    for tensor, begin in zip(pieces, accumulate(sizes, initial=0), strict=False):
        whole[begin : begin + tensor.nbytes] = tensor.contiguous().view(-1).view(torch.uint8)
    whole, begins = whole.to(device, copy=True), accumulate(sizes, initial=0)

    def view_of(tensor: Tensor) -> Tensor:
        begin = next(begins)
        return whole[begin : begin + tensor.nbytes].view(tensor.dtype).view(tensor.shape)

    return map_tensors(window, view_of)


def memory_of(window: AnyWindow) -> Tensor:
    """The memory of a window in one piece, as bytes."""
    return torch.empty(0, dtype=torch.uint8, device=window.present.device).set_(window.present.untyped_storage())


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


def fitting_profile(windows: Sequence_[AnyWindow], share: float = 0.97) -> Profile:
    """The lengths that fit all windows but those with the longest words, or most characters."""
    sequences = [window.sequence for window in windows if isinstance(window, CharacterWindow)]
    if sequences:
        return Profile(num_steps=int(np.quantile([len(one.sizes) for one in sequences], share)))
    found = [window for window in windows if isinstance(window, Window)]
    steps = np.array([len(window.spelling.sizes) + len(window.reading.sizes) for window in found])
    chosen = [found[i] for i in np.flatnonzero(steps <= np.quantile(steps, share))]
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
