"""`wordmint train` as a user meets it: real processes, real kills, real damage."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.command import HANGS_SECONDS, USER_MISTAKE, WORDMINT, assert_user_mistake, wordmint, write_corpus
from tests.models import ALPHABET_SIZE, CONFIGS, laid_out, made_text
from wordmint.errors import UserError
from wordmint.model.language_model import LanguageModel, build
from wordmint.model.state import State
from wordmint.training.checkpoint import DESCRIPTION, TENSORS, restore_checkpoint, save_checkpoint
from wordmint.training.config import TrainingConfig
from wordmint.training.schedule import Position
from wordmint.training.step import Step

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
LINES = ["the cat saw Zoltan .", "Zoltan saw the dog .", "a dog and a cat", "Mirabel met Zoltan twice ."]
SMALL = ("--model.units", "12", "--model.slots", "6", "--training.streams", "4", "--training.words-per-window", "5")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "mine", train="\n".join(LINES * 40), valid="\n".join(LINES), test=LINES[0])


def train(data: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return wordmint("train", "--corpus", data, "--out", out, *SMALL, *options, environment=ONE_THREAD)


def test_a_run_and_what_it_leaves(data: Path, tmp_path: Path) -> None:
    result = train(data, tmp_path / "run", "--training.epochs", "2")
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert "epoch 2/2  train " in result.stderr and "(best)" in result.stderr
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["corpus"] == "mine"
    assert len(about["fingerprint"]) == 64
    assert about["versions"]["torch"] == torch.__version__
    assert all(about[key] for key in ("command", "commit", "date", "hardware", "python"))
    assert "epochs = 2" in (tmp_path / "run" / "config.toml").read_text()
    rows = [json.loads(row) for row in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2]
    assert rows[1]["train_bpc"] < rows[0]["train_bpc"]
    model = LanguageModel.load(tmp_path / "run")
    assert model.trained_on["valid_bits"] == min(row["dev_bits"] for row in rows)
    assert model.has_seen(["Zoltan", "Zoltans"]).tolist() == [True, False]
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "# HCLM with a cache of 6 words trained on mine" in card
    assert f"{model.trained_on['valid_bits']:,.0f} bits" in card
    assert not list((tmp_path / "run").glob(".*")), "something half-written was left"


@contextmanager
def started(data: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A training at work: its first epoch is over."""
    command = [*WORDMINT, "train", "--corpus", str(data), "--out", str(out), *SMALL, *options]
    interruptible = (
        "import os, signal, sys; signal.signal(2, signal.default_int_handler); os.execv(sys.argv[1], sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", interruptible, *command], stderr=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if line.startswith("epoch 2/"):
                    break
            yield process
        finally:
            process.kill()


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def assert_same_run(one: Path, other: Path) -> None:
    mine, theirs = weights(one), weights(other)
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    rows, also_rows = (
        [json.loads(row) | {"seconds": 0} for row in (run / "metrics.jsonl").read_text().splitlines()]
        for run in (one, other)
    )
    assert rows == also_rows


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_a_run_that_is_killed_goes_on_to_the_same_end(
    signal_number: signal.Signals, data: Path, tmp_path: Path
) -> None:
    options = ("--training.epochs", "15", "--training.patience", "0", "--checkpoint-every", "0")
    assert train(data, tmp_path / "whole", *options).returncode == 0
    with started(data, tmp_path / "killed", *options) as process:
        process.send_signal(signal_number)
        _, said = process.communicate(timeout=HANGS_SECONDS)
        assert process.returncode == (-signal.SIGKILL if signal_number == signal.SIGKILL else 128 + signal_number)
    if signal_number != signal.SIGKILL:
        assert f"go on with: wordmint train --resume --out {tmp_path / 'killed'}" in said
    result = wordmint("train", "--resume", "--out", tmp_path / "killed", environment=ONE_THREAD)
    assert result.returncode == 0, result.stderr
    assert "resumed at epoch" in result.stderr
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_a_folder_holds_one_run(data: Path, tmp_path: Path) -> None:
    assert_user_mistake(train(data, tmp_path / "run", "--resume"), "run: no run to resume here")
    assert train(data, tmp_path / "run", "--training.epochs", "1").returncode == 0
    assert_user_mistake(train(data, tmp_path / "run", "--training.epochs", "1"), "there is a run already", "--resume")
    again = train(data, tmp_path / "run", "--training.epochs", "2", "--resume")
    assert_user_mistake(again, "other settings", "training.epochs 1 there, 2 here")
    (data / "train.txt").write_text("other text entirely\n" * 30)
    other = train(data, tmp_path / "run", "--training.epochs", "1", "--resume")
    assert_user_mistake(other, "fingerprint", "give --data the same files")


@pytest.mark.parametrize("rate", ["1e38", "1000"], ids=["infinite", "finite"])
def test_a_loss_that_explodes_is_told_with_its_step(rate: str, data: Path, tmp_path: Path) -> None:
    result = train(data, tmp_path / "run", "--training.learning-rate", rate, "--training.averaging", "0")
    assert result.returncode == USER_MISTAKE
    assert "the loss exploded or is no longer finite at epoch 1, window" in result.stderr
    assert f"--training.learning-rate (now {float(rate):g})" in result.stderr
    assert "nothing was saved yet" in result.stderr
    assert not (tmp_path / "run" / "checkpoints").exists()
    assert not (tmp_path / "run" / "model").exists()


def test_a_run_that_ended_before_its_first_checkpoint_begins_anew(data: Path, tmp_path: Path) -> None:
    options = ("--training.epochs", "3", "--training.patience", "0")
    assert train(data, tmp_path / "whole", *options).returncode == 0
    with started(data, tmp_path / "killed", "--training.epochs", "100000", "--training.patience", "0") as process:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert not (tmp_path / "killed" / "checkpoints").exists(), "not the case that is tested"
    shutil.copy(tmp_path / "whole" / "config.toml", tmp_path / "killed")
    result = wordmint("train", "--resume", "--out", tmp_path / "killed", environment=ONE_THREAD)
    assert result.returncode == 0, result.stderr
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_a_run_that_is_over_says_so(data: Path, tmp_path: Path) -> None:
    assert train(data, tmp_path / "run", "--training.epochs", "1").returncode == 0
    again = wordmint("train", "--resume", "--out", tmp_path / "run", environment=ONE_THREAD)
    assert again.returncode == 0, again.stderr
    assert "this run is over already" in again.stderr


def test_fewer_words_than_streams(tmp_path: Path) -> None:
    data = write_corpus(tmp_path / "few", train="two words", valid="one")
    result = train(data, tmp_path / "run", "--training.epochs", "1", "--training.streams", "100")
    assert result.returncode == 0, result.stderr


def test_what_training_needs(tmp_path: Path) -> None:
    no_valid = write_corpus(tmp_path / "half", train="some text")
    assert_user_mistake(train(no_valid, tmp_path / "run"), "training needs train and valid; there is no valid")
    assert_user_mistake(wordmint("train", "--preset", "demo-hclm-cash"), "did you mean demo-hclm-cache?")
    if not torch.cuda.is_available():
        whole = write_corpus(tmp_path / "whole", train="some text", valid="more")
        assert_user_mistake(wordmint("train", "--corpus", whole, "--device", "cuda"), "PyTorch finds no GPU here")


def test_tensorboard_gets_the_same_figures(data: Path, tmp_path: Path) -> None:
    result = train(data, tmp_path / "run", "--training.epochs", "2", "--tensorboard")
    assert result.returncode == 0, result.stderr
    assert list((tmp_path / "run" / "tensorboard").glob("events.out.*"))


# ---- damaged checkpoints -----------------------------------------------------------------------------------------


@pytest.fixture
def checkpoints(tmp_path: Path) -> tuple[Path, Step, State]:
    """Two checkpoints, the newer one at window 20."""
    torch.manual_seed(0)
    model = build(CONFIGS["hclm-cache"], ALPHABET_SIZE).train()
    step, state = Step(model, TrainingConfig(streams=2)), model.start(2)
    for number, window in enumerate(laid_out(model, made_text(20, seed=1), 2, 5), start=1):
        state = step(window, state)
        save_checkpoint(tmp_path / "saved", step, state, Position(window=number * 10), "data")
    return tmp_path / "saved", step, state


def newest(folder: Path) -> Path:
    return max(folder.iterdir())


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: cut(path / TENSORS), "not what was written"),
        (lambda path: flip_a_bit(path / TENSORS), "not what was written"),
        (lambda path: (path / TENSORS).unlink(), "cannot be read"),
        (lambda path: cut(path / DESCRIPTION), "missing or damaged"),
        (lambda path: (path / DESCRIPTION).unlink(), "missing or damaged"),
        (lambda path: (path / DESCRIPTION).write_text("[]"), "missing or damaged"),
    ],
    ids=["cut", "bit", "gone", "description cut", "description gone", "description of another kind"],
)
def test_the_one_before_a_damaged_checkpoint_is_used_and_that_is_said(
    damage, said: str, checkpoints: tuple[Path, Step, State]
) -> None:
    folder, step, state = checkpoints
    damage(newest(folder))
    _, position, passed = restore_checkpoint(folder, step, state, "data")
    assert position.window == 10
    assert len(passed) == 1
    assert said in passed[0] and "00000-00000020" in passed[0]


def test_no_whole_checkpoint_is_left(checkpoints: tuple[Path, Step, State]) -> None:
    folder, step, state = checkpoints
    for path in folder.iterdir():
        cut(path / TENSORS)
    with pytest.raises(UserError, match="no checkpoint can be resumed"):
        restore_checkpoint(folder, step, state, "data")


@pytest.mark.parametrize("change", [{"position": {}}, {"nats": 0.0}, {"average_updates": 99}], ids=str)
def test_an_edited_description_is_damage(change: dict[str, object], checkpoints: tuple[Path, Step, State]) -> None:
    folder, step, state = checkpoints
    edit(newest(folder) / DESCRIPTION, **change)
    _, position, passed = restore_checkpoint(folder, step, state, "data")
    assert position.window == 10
    assert "its checksum differs" in passed[0]
    assert len(list(folder.iterdir())) == 1, "the damaged one would count as one of the last two"


def test_checkpoints_of_another_format_or_of_other_data(checkpoints: tuple[Path, Step, State]) -> None:
    folder, step, state = checkpoints
    with pytest.raises(UserError, match="fingerprint data…, those given other…"):
        restore_checkpoint(folder, step, state, "other")
    edit(newest(folder) / DESCRIPTION, format=99)
    with pytest.raises(UserError, match="written in format 99, this wordmint reads 1"):
        restore_checkpoint(folder, step, state, "data")


def test_checkpoints_of_another_model(checkpoints: tuple[Path, Step, State]) -> None:
    folder, _, _ = checkpoints
    model = build(CONFIGS["hclm-cache-2-layers"], ALPHABET_SIZE)
    with pytest.raises(UserError, match="belongs to another model"):
        restore_checkpoint(folder, Step(model, TrainingConfig()), model.start(2), "data")


@contextmanager
def files_of_at_most(num_bytes: int) -> Iterator[None]:
    """As on a full disk, writing fails; Python ignores the signal that comes with it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_while_the_model_is_kept(data: Path, tmp_path: Path) -> None:
    """The limit on files lets the settings through, and no weights."""
    limited = "import os, resource, sys; resource.setrlimit(1, (9000, 9000)); os.execv(sys.argv[1], sys.argv[1:])"
    prefix = (sys.executable, "-c", limited)
    wordmint("train", "--corpus", data, "--out", tmp_path / "first", *SMALL, "--training.epochs", "1")  # prepares
    arguments = ("train", "--corpus", data, "--out", tmp_path / "run", *SMALL, "--training.epochs", "1")
    result = wordmint(*arguments, prefix=prefix, environment=ONE_THREAD)
    assert result.returncode == USER_MISTAKE, result.stderr
    assert "could not be written" in result.stderr.splitlines()[-1]
    assert not list((tmp_path / "run").glob(".*"))


def test_a_full_disk_leaves_the_checkpoint_before_valid(checkpoints: tuple[Path, Step, State]) -> None:
    folder, step, state = checkpoints
    names = sorted(path.name for path in folder.iterdir())
    with files_of_at_most(1000), pytest.raises(UserError, match=r"could not be written.*--resume"):
        save_checkpoint(folder, step, state, Position(window=30), "data")
    assert sorted(path.name for path in folder.iterdir()) == names
    _, position, passed = restore_checkpoint(folder, step, state, "data")
    assert (position.window, passed) == (20, [])
