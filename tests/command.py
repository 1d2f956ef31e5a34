"""The real command, in a process of its own: what a user types, and what comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORDMINT = (sys.executable, "-m", "wordmint")
STATS = (*WORDMINT, "corpus", "stats")
USER_MISTAKE = 2
HANGS_SECONDS = 300  # no test waits for this; it only keeps a hanging command from hanging the suite


def wordmint(
    *arguments: str | Path,
    prefix: tuple[str, ...] = (),
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `wordmint ARGUMENTS`, under another program if there is a prefix."""
    result = subprocess.run(
        [*prefix, *WORDMINT, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=os.environ | (environment or {}),
        timeout=HANGS_SECONDS,
    )
    return subprocess.CompletedProcess(
        result.args, result.returncode, result.stdout.decode("utf-8"), result.stderr.decode("utf-8")
    )


def statistics(*arguments: str | Path, stdin: bytes = b"") -> Any:
    """What `wordmint corpus stats … --json` says."""
    result = wordmint("corpus", "stats", *arguments, "--json", stdin=stdin)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def assert_user_mistake(result: subprocess.CompletedProcess[str], *said: str) -> None:
    """One sentence on stderr that says all of this, exit code 2, and nothing else but progress."""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("preparing ")]
    assert result.returncode == USER_MISTAKE, result.stderr
    assert result.stdout == ""
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("wordmint: ")
    for part in said:
        assert part in lines[0]


def write_corpus(folder: Path, **splits: str | bytes) -> Path:
    """A folder with a file for each split."""
    folder.mkdir(parents=True)
    for split, text in splits.items():
        (folder / f"{split}.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder
