"""Wordmint: open-vocabulary language modelling that coins words character by character and reuses them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wordmint.use.model import Model
    from wordmint.use.state import TextState

__all__ = ["__version__", "load", "load_state"]
__version__ = "0.1.0"


def load(folder_or_name: str | Path, device: str = "cpu", int8: bool = False) -> Model:
    """The model in a folder, a run's folder, or of that name on the Hugging Face Hub.

    With int8 it reads in 8-bit integers on a CPU: several times as fast, and nearly the same.
    """
    from wordmint.use.model import Model  # torch is imported here, and not before

    return Model.load(folder_or_name, device, int8)


def load_state(path: str | Path) -> TextState:
    """A state that was saved, to go on reading from."""
    from wordmint.use.state import TextState

    return TextState.load(path)
