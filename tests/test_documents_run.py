"""The examples in the documentation run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_use import made
from wordmint.model.config import HCLMConfig

ROOT = Path(__file__).parent.parent
LETTERS = "\n .ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def test_the_examples_of_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(HCLMConfig(units=16, slots=20), LETTERS.replace(" ", "")).language_model.save_pretrained(
        tmp_path / "runs" / "english"
    )
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "use.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/use.md", "exec"), names)
