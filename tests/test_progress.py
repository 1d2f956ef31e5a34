"""Progress where no terminal is: a line now and then, and none for short work."""

from __future__ import annotations

import pytest

from wordmint import progress
from wordmint.progress import reading_progress


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with reading_progress("corpus") as report:
        report("reading train", 5)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with reading_progress("corpus") as report:
        report("reading train", 1000)
        report("reading [valid]", 234)
    assert capsys.readouterr().err.splitlines() == [
        "preparing corpus: reading train, 1,000 characters so far",
        "preparing corpus: reading [valid], 1,234 characters so far",
    ]
