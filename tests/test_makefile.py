"""The front door, on a machine whose Python is too old."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(not shutil.which("make"), reason="no make here")
@pytest.mark.parametrize("python", ["false", "no-such-python"])  # the one fails as an old Python does
def test_an_old_python_is_told_before_anything_is_made(tmp_path: Path, python: str) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of `make test`
    command = ["make", "demo", f"PYTHON={python}"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode != 0
    said, from_make = result.stderr.splitlines()
    assert said == f"Wordmint needs Python 3.11 or newer, which {python} is not: make PYTHON=/path/to/python3.11"
    assert from_make.startswith("make: ***")
    assert not (tmp_path / ".venv").exists()
