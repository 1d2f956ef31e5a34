"""A window in one piece of memory is the same window, and copying the memory copies all of it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from tests.models import CONFIGS, laid_out, made_text
from wordmint.model.language_model import build
from wordmint.model.window import Window, fitting_profile, in_one_piece, memory_of

HOST = {"sizes", "lengths"}


def device_tensors(part: Any) -> list[Tensor]:
    """All tensors that live on the device."""
    values = [(field.name, getattr(part, field.name)) for field in fields(part)]
    return [
        tensor
        for name, value in values
        for tensor in (device_tensors(value) if is_dataclass(value) else [value])
        if isinstance(tensor, Tensor) and name not in HOST
    ]


def same(one: Window, other: Window) -> bool:
    pairs = zip(device_tensors(one), device_tensors(other), strict=True)
    return all(torch.equal(mine, theirs) for mine, theirs in pairs)


def test_copying_the_memory_copies_the_window() -> None:
    network, text = build(CONFIGS["hclm-cache"], 9), made_text(140, num_types=20, seed=1)
    free = [window for window in laid_out(network, text, 2) if isinstance(window, Window)]
    laid = laid_out(network, text, 2, profile=fitting_profile(free, share=1.0))
    windows = [window for window in laid if isinstance(window, Window)]
    pieces = [in_one_piece(window, torch.device("cpu")) for window in windows]
    assert all(same(piece, window) for piece, window in zip(pieces, windows, strict=True))
    assert not same(pieces[3], windows[4])
    memory_of(pieces[3]).copy_(memory_of(pieces[4]))
    assert same(pieces[3], windows[4])
