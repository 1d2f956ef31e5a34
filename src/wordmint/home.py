"""Where wordmint keeps what it downloads and prepares: $WORDMINT_HOME, else ~/.cache/wordmint."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder for downloads and prepared corpora; it can be deleted at any time."""
    chosen = os.environ.get("WORDMINT_HOME")
    return Path(chosen) if chosen else Path.home() / ".cache" / "wordmint"


def downloads(corpus: str) -> Path:
    """Where `wordmint corpus fetch` puts a corpus."""
    return home() / "downloads" / corpus
