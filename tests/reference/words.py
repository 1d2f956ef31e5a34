"""Words by white space, character by character: the slow, obvious twin of `wordmint.text.words`."""

from __future__ import annotations


def words(text: str) -> list[tuple[str, int, int]]:
    """Each word with its start and end; a last line without a line end is given one, of length 0."""
    found: list[tuple[str, int, int]] = []
    word = ""
    for position, character in enumerate(text):
        if not character.isspace():
            word += character
            continue
        if word:
            found.append((word, position - len(word), position))
            word = ""
        if character == "\n":
            found.append(("\n", position, position + 1))
    if word:
        found.append((word, len(text) - len(word), len(text)))
    if found and found[-1][0] != "\n":
        found.append(("\n", len(text), len(text)))
    return found


def join(texts: list[str]) -> str:
    """One space between the words of a line, and after the last of them its line end."""
    lines: list[list[str]] = [[]]
    for text in texts:
        if text == "\n":
            lines.append([])
        else:
            lines[-1].append(text)
    return "\n".join(" ".join(line) for line in lines)
