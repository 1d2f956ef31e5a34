"""What all tests share: shape checks while they run, a home of their own, and the real text at hand."""

from __future__ import annotations

from pathlib import Path
from pkgutil import walk_packages

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

import wordmint

# all modules but the kernels, whose functions Triton reads as text
CHECKED = [name for _, name, is_package in walk_packages(wordmint.__path__, "wordmint.") if not is_package]
install_import_hook([name for name in CHECKED if ".kernels." not in name], "beartype.beartype")
hypothesis.settings.register_profile("wordmint", deadline=None)  # no test depends on timing
hypothesis.settings.load_profile("wordmint")
torch.set_num_threads(1)  # tests run side by side, and threads that wait for each other cost more than they win

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def wordmint_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing a test prepares or downloads outlives it."""
    home = tmp_path / "home"
    monkeypatch.setenv("WORDMINT_HOME", str(home))
    return home


@pytest.fixture
def shared_data(request: pytest.FixtureRequest) -> Path:
    """The real text beside the project; a test marked `needs_data("ptb")` is skipped, and says why, without it."""
    marker = request.node.get_closest_marker("needs_data")
    assert marker is not None
    folder = SHARED_DATA / marker.args[0]
    if not folder.is_dir():
        pytest.skip(f"the real text {folder} is not at hand")
    return folder
