"""Imports only go down: each part of wordmint may import itself and the parts below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wordmint

ROOT = Path(wordmint.__file__).parent
# From the bottom up; the parts of one row do not know each other.
LAYERS = (
    ("errors", "home", "shapes", "progress", "console", "presets"),
    ("config",),
    ("text",),
    ("corpora",),
    ("model",),
    ("dynamic",),
    ("evaluation",),
    ("training",),
    ("reproduce",),
    ("results",),
    ("analysis",),
    ("use",),
    ("adapters", "serving"),
    ("commands",),
    ("cli",),
    ("__main__",),
)
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}
MODULES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "wordmint" and len(parts) > 1 and parts[1] in HEIGHT:
                yield parts[1]


def goes_up(part: str, imported: str) -> bool:
    return imported != part and HEIGHT[imported] >= HEIGHT[part]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_go_down(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return  # the door of the package may show what it likes
    assert part in HEIGHT, f"{part} has no place in the layers yet; give it one here"
    upwards = [imported for imported in imported_parts(path.read_text("utf-8")) if goes_up(part, imported)]
    assert not upwards, f"{path} imports {upwards} from above or beside it"


def test_an_import_upwards_is_seen() -> None:
    assert list(imported_parts("def f():\n    from wordmint.cli import app\n")) == ["cli"]
    assert goes_up("text", "cli")
    assert goes_up("errors", "home")
    assert not goes_up("cli", "text")
