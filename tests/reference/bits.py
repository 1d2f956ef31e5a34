"""What a text counts and costs, from its definition, a character at a time."""

from __future__ import annotations

import math


def normalised(text: str) -> str:
    """One space between the words of a line, one line end a line."""
    lines = text.split("\n")
    if lines[-1].split() or text == "":
        lines.append("")
    return "".join(" ".join(line.split()) + "\n" for line in lines[:-1])


def escape_cost(unknown: str, num_unknown: int) -> float:
    """The adaptive code for dummies, in bits."""
    p = 1.0
    for number, character in enumerate(unknown):
        before = unknown[:number]
        if character in before:
            p *= before.count(character) / (number + 1)
        else:
            p *= 1 / (number + 1) / (num_unknown - len(set(before)))
    return -math.log2(p)
