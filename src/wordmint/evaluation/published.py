"""The results that the paper prints (tables 4–6), in bits per character; facts to stand beside ours."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A row of a table, by the paper's count of characters (decision 0004)."""

    valid: float
    test: float


PAPER: dict[str, dict[str, Published]] = {
    "ptb": {
        "lstm": Published(1.369, 1.331),
        "hclm": Published(1.308, 1.276),
        "hclm-cache": Published(1.266, 1.247),
    },
    "wikitext-2": {
        "lstm": Published(1.758, 1.803),
        "hclm": Published(1.625, 1.670),
        "hclm-cache": Published(1.480, 1.500),
    },
    "mwc-en": {
        "lstm": Published(1.793, 1.736),
        "hclm": Published(1.683, 1.622),
        "hclm-cache": Published(1.591, 1.538),
    },
    "mwc-fr": {
        "lstm": Published(1.669, 1.621),
        "hclm": Published(1.553, 1.508),
        "hclm-cache": Published(1.499, 1.467),
    },
    "mwc-de": {
        "lstm": Published(1.780, 1.754),
        "hclm": Published(1.666, 1.641),
        "hclm-cache": Published(1.605, 1.588),
    },
    "mwc-es": {
        "lstm": Published(1.733, 1.667),
        "hclm": Published(1.617, 1.555),
        "hclm-cache": Published(1.548, 1.498),
    },
    "mwc-cs": {
        "lstm": Published(2.191, 2.155),
        "hclm": Published(2.070, 2.035),
        "hclm-cache": Published(2.010, 1.984),
    },
    "mwc-fi": {
        "lstm": Published(1.943, 1.913),
        "hclm": Published(1.832, 1.796),
        "hclm-cache": Published(1.754, 1.711),
    },
    "mwc-ru": {
        "lstm": Published(1.942, 1.932),
        "hclm": Published(1.832, 1.810),
        "hclm-cache": Published(1.777, 1.761),
    },
}
