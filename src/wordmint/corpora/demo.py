"""The embedded corpus: the documentation that every Python installation carries.

The docstrings of the standard library's modules, one document a module, and the language reference's topics as `help()`
shows them. Real technical English, full of rare names used in bursts, about 2 million characters; nothing is
downloaded and nothing of it lies in this repository. The same Python version gives the same corpus.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wordmint.corpora.source import SPLITS, Source
from wordmint.text.documents import Document

TOPICS = "pydoc_data/topics.py"
# Not the library itself, or not there on every machine that has the same Python.
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip", "tkinter", "distutils", "pydoc_data"}
LEFT_OUT |= {"site-packages", "dist-packages", "sitecustomize.py", "usercustomize.py"}


def demo() -> Source:
    """The embedded corpus, split by document."""
    return Source(
        "demo",
        {split: _DemoDocuments(split) for split in SPLITS},
        settings={"python": platform.python_version()},
    )


@dataclass(frozen=True)
class _DemoDocuments:
    split: str

    @property
    def files(self) -> tuple[tuple[str, Path], ...]:
        modules = [(name, path) for name, path in _modules() if _split_of(name) == self.split]
        return (*modules, (TOPICS, _library() / TOPICS))

    def __iter__(self) -> Iterator[Document]:
        for name, path in self.files:
            if name == TOPICS:
                yield from (d for d in _topics(path) if _split_of(d.name) == self.split)
            elif text := _docstrings(path):
                yield Document(name, (text,))


def _library() -> Path:
    return Path(sysconfig.get_path("stdlib"))


@cache
def _modules() -> tuple[tuple[str, Path], ...]:
    """The library's modules by name, without a look into what is left out: there may be thousands of files."""
    paths: list[Path] = []
    for folder, inner, files in os.walk(_library()):
        inner[:] = (name for name in inner if name not in LEFT_OUT)  # os.walk goes on into these alone
        paths += (Path(folder, name) for name in files if name.endswith(".py"))
    modules = ((path.relative_to(_library()).as_posix(), path) for path in sorted(paths))
    return tuple((name, path) for name, path in modules if not _left_out(name))


def _left_out(name: str) -> bool:
    parts = name.split("/")
    return not LEFT_OUT.isdisjoint(parts) or parts[0].startswith(("_sysconfigdata", "config-"))


def _split_of(document_name: str) -> str:
    """Nine in eleven documents are for training, one each for valid and test, by a hash of the name."""
    share = int.from_bytes(hashlib.blake2b(document_name.encode(), digest_size=4).digest()) % 11
    return {0: "valid", 1: "test"}.get(share, "train")


def _docstrings(path: Path) -> str:
    """A module's docstrings in the order of its source, a blank line between them."""
    found: list[str] = []
    nodes: list[ast.AST] = [ast.parse(path.read_bytes())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            found.append(text + "\n")
        nodes.extend(reversed(list(ast.iter_child_nodes(node))))
    return "\n".join(found)


def _topics(path: Path) -> Iterator[Document]:
    for statement in ast.parse(path.read_bytes()).body:
        if isinstance(statement, ast.Assign):
            topics = ast.literal_eval(statement.value)
            yield from (Document(f"topics/{name}", (topics[name] + "\n",)) for name in sorted(topics))
