"""`wordmint corpus stats` as a user meets it: the real command in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.command import STATS, WORDMINT, assert_user_mistake, statistics, wordmint, write_corpus
from wordmint.corpora.source import SPLITS

# Lines come 30 times, as characters with fewer than 25 occurrences would be dummies: here d, o and g alone are.
CATS_AND_DOGS = {"train": "the cat sat\n" * 30, "valid": "the dog sat\n" * 5, "test": "a cat\n"}
COUNTED_BY_HAND = {
    "train": {
        "character_types": 8,
        "word_types": 4,
        "oov_rate": None,
        "tokens": 120,
        "characters": 360,
        "dummies": 0,
    },
    "valid": {
        "character_types": 8,
        "word_types": 4,
        "oov_rate": 5 / 20,
        "tokens": 20,
        "characters": 60,
        "dummies": 15,
    },
    "test": {
        "character_types": 5,
        "word_types": 3,
        "oov_rate": 1 / 3,
        "tokens": 3,
        "characters": 6,
        "dummies": 0,
    },
}


@pytest.fixture(autouse=True)
def buffered_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it: a pipe or disk that fails is first noticed when the command ends."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "pets", **CATS_AND_DOGS)


@pytest.fixture
def cats(tmp_path: Path) -> Path:
    """A corpus of which there is nothing to warn."""
    return write_corpus(tmp_path / "cats", **{split: "the cat sat\n" * 30 + f"a {split}\n" * 30 for split in SPLITS})


def in_a_terminal(columns: int, *arguments: str | Path) -> str:
    """What a user sees in a terminal of that width."""
    here, there = os.openpty()
    termios.tcsetwinsize(there, (24, columns))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [*WORDMINT, *map(str, arguments)]
    shown = b""
    with subprocess.Popen(
        command, stdout=there, stderr=subprocess.PIPE, env=environment | {"TERM": "xterm"}
    ) as process:
        os.close(there)
        with suppress(OSError):  # Linux says with an error that nobody writes any more
            while part := os.read(here, 1 << 16):
                shown += part
    os.close(here)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).replace("\r\n", "\n")


def rows(table: str) -> dict[str, list[str]]:
    """The table's lines by their first two words, and the numbers after them."""
    cells = [line.split("  ") for line in table.splitlines()]
    stripped = [[cell.strip() for cell in line if cell.strip()] for line in cells]
    return {line[0]: line[1:] for line in stripped if line}


def loaded_modules(*arguments: str | Path) -> set[str]:
    """The modules that Python imports for a command."""
    command = [sys.executable, "-X", "importtime", "-m", "wordmint", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[-1].strip() for line in lines}


class TestOutput:
    def test_the_table(self, pets: Path) -> None:
        result = wordmint("corpus", "stats", pets)
        assert result.returncode == 0, result.stderr
        table = rows(result.stdout)
        assert table["Train"] == ["Valid", "Test"]
        assert table["Character types"] == ["8", "8", "5"]
        assert table["Word types"] == ["4", "4", "3"]
        assert table["OOV rate"] == ["–", "25.00%", "33.33%"]
        assert table["Tokens"] == ["120", "20", "3"]
        assert table["Characters"] == ["360", "60", "6"]
        assert "Growth and burstiness need 1,000 words; train is too short" in result.stdout

    def test_growth_and_burstiness(self, tmp_path: Path) -> None:
        text = "".join(f"word{number} and word{number % 7}\n" for number in range(1000))
        table = rows(wordmint("corpus", "stats", write_corpus(tmp_path / "long", train=text)).stdout)
        assert table["Growth"][0].startswith("word types ≈ ")
        assert table["Burstiness"][0].startswith("0.9% of the words new to train come again")

    @pytest.mark.parametrize("columns", [80, 60])
    def test_several_corpora_in_a_narrow_terminal(self, tmp_path: Path, columns: int) -> None:
        names = ("wikipedia-de", "wikipedia-cs")
        for name in names:
            write_corpus(
                tmp_path / "all" / name, train="the cat sat\n" * 50_000, valid="the dog\n" * 20_000, test="a\n" * 10_000
            )
        shown = in_a_terminal(columns, "corpus", "stats", tmp_path / "all").split("Growth")[0]
        assert max(len(line.rstrip()) for line in shown.splitlines()) <= columns
        for name in names:
            numbers = [line.split()[1:] for line in shown.splitlines() if line.split()[:1] == [name]]
            assert len(numbers) > 1  # tables, one below the other
            together = " ".join(number for row in numbers for number in row)
            assert together == "8 8 2 4 3 2 33.33% 50.00% 200,000 60,000 20,000 600,000 160,000 20,000"

    def test_a_wide_terminal_has_one_table(self, pets: Path, cats: Path) -> None:
        shown = in_a_terminal(160, "corpus", "stats", pets, cats).split("Growth")[0]
        assert [line.split()[0] for line in shown.splitlines() if line.startswith((" pets", " cats"))] == [
            "pets",
            "cats",
        ]

    def test_one_corpus_in_a_very_narrow_terminal(self, pets: Path) -> None:
        table = rows(in_a_terminal(30, "corpus", "stats", pets))
        assert table["Characters"] == ["360", "60", "6"]

    def test_a_long_name_is_whole(self, tmp_path: Path) -> None:
        names = [letter * 100 for letter in "ab"]
        for name in names:
            write_corpus(tmp_path / "all" / name, **CATS_AND_DOGS)
        for corpora in (tmp_path / "all", tmp_path / "all" / names[0]):
            assert names[0] in in_a_terminal(80, "corpus", "stats", corpora)

    def test_json(self, pets: Path) -> None:
        found = statistics(pets)
        assert found["name"] == "pets"
        assert found["splits"] == COUNTED_BY_HAND

    def test_several_corpora_get_a_row_each(self, pets: Path, tmp_path: Path) -> None:
        birds = write_corpus(tmp_path / "birds", train="one bird sang\n" * 40, valid="one\n" * 40, test="one\n" * 40)
        result = wordmint("corpus", "stats", pets, birds)
        table = rows(result.stdout.split("Growth")[0])
        assert " ".join(table["pets"]) == "8 8 5 4 4 3 25.00% 33.33% 120 20 3 360 60 6"
        assert " ".join(table["birds"]) == "12 4 4 4 2 2 0.00% 0.00% 160 80 80 560 160 160"
        assert [one["name"] for one in statistics(pets, birds)] == ["pets", "birds"]

    def test_a_folder_of_corpora_gets_a_row_each(self, tmp_path: Path) -> None:
        for language in ("cs", "fi"):
            write_corpus(tmp_path / "wiki" / language, **CATS_AND_DOGS)
        assert [one["name"] for one in statistics(tmp_path / "wiki")] == ["cs", "fi"]

    def test_the_second_time_nothing_is_prepared(self, pets: Path, wordmint_home: Path) -> None:
        first = wordmint("corpus", "stats", pets, "--json")
        before = {path: path.stat().st_mtime_ns for path in wordmint_home.rglob("*")}
        second = wordmint("corpus", "stats", pets, "--json")
        assert {path: path.stat().st_mtime_ns for path in wordmint_home.rglob("*")} == before != {}
        assert (second.stdout, second.stderr) == (first.stdout, first.stderr)

    def test_an_encoding_without_the_tables_characters(self, pets: Path) -> None:
        result = wordmint("corpus", "stats", pets, environment={"PYTHONIOENCODING": "ascii"})
        assert result.returncode == 0, result.stderr
        (oov_rate,) = (line for line in result.stdout.splitlines() if "OOV rate" in line)
        assert oov_rate.replace("|", " ").split() == ["OOV", "rate", r"\u2013", "25.00%", "33.33%"]

    @pytest.mark.parametrize("arguments", [(), ("--json",), ("--help",)])
    def test_a_reader_that_is_gone(self, cats: Path, arguments: tuple[str, ...]) -> None:
        reader, writer = os.pipe()
        os.close(reader)  # before the command starts, so that its first byte finds nobody
        try:
            result = subprocess.run([*STATS, str(cats), *arguments], stdout=writer, stderr=subprocess.PIPE)
        finally:
            os.close(writer)
        assert result.stderr == b""
        assert result.returncode in (0, 1)  # rich leaves with 1, and says nothing either

    def test_head(self, pets: Path) -> None:
        command = ["sh", "-c", '"$@" | head -1', "sh", *STATS, str(pets)]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.stdout.split() == ["pets"]
        assert "Traceback" not in result.stderr

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here to stand for a full disk")
    @pytest.mark.parametrize("arguments", [(), ("--json",)])
    def test_a_full_disk_behind_the_output(self, cats: Path, arguments: tuple[str, ...]) -> None:
        with Path("/dev/full").open("w") as full:
            result = subprocess.run([*STATS, str(cats), *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
        assert result.returncode == 2
        assert result.stderr.splitlines() == ["wordmint: the output: No space left on device"]

    @pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
    def test_streams_that_are_closed(self, tmp_path: Path, closed: str) -> None:
        folder = write_corpus(tmp_path / "half", train=CATS_AND_DOGS["train"])  # warned of: it has no other split
        command = ["sh", "-c", f'"$@" {closed}', "sh", *STATS, str(folder), "--json"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0
        assert (json.loads(result.stdout)["name"] == "half") if ">&-" not in closed.split() else result.stdout == ""
        assert result.stderr.startswith("wordmint: warning") if "2>&-" not in closed else result.stderr == ""


class TestHelp:
    @pytest.mark.parametrize("arguments", [("--help",), ("corpus", "--help"), ("corpus", "stats", "--help"), ()])
    def test_help(self, arguments: tuple[str, ...]) -> None:
        result = wordmint(*arguments)
        assert result.returncode == 0
        assert result.stdout.startswith("Usage: wordmint")
        assert result.stderr == ""

    def test_help_names_the_options(self) -> None:
        text = wordmint("corpus", "stats", "--help").stdout
        for option in ("--data", "--encoding", "--errors", "--segmentation", "--json"):
            assert option in text

    def test_nothing_heavy_is_imported(self, pets: Path) -> None:
        for arguments in (("--help",), ("corpus", "stats", pets)):
            modules = loaded_modules(*arguments)
            assert "cyclopts" in modules
            assert modules.isdisjoint({"torch", "matplotlib", "scipy"})
        assert "numpy" not in loaded_modules("--help")


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("corpus", "stats", "no-such-corpus"), ("no-such-corpus", "neither a corpus", "nor a file or folder")),
            (("corpus", "stats", "demo", "--colour"), ("--colour",)),
            (("corpus", "stats", "demo", "--data"), ("--data",)),
            (("corpus", "stats", "demo", "--errors", "ignore"), ("ignore", "strict", "replace")),
            (("corpus", "stats", "demo", "--encoding", "klingon"), ("klingon", "utf-8")),
            (("corpus", "stats", "demo", "--segmentation", "bytes"), ("bytes", "whitespace")),
            (("corpus", "stats", "ptb", "--data", "no/such/folder"), ("no/such/folder", "name a folder that exists")),
            (("corpus", "stats", "ptb"), ("ptb", "wordmint corpus fetch ptb", "--data")),
            (("corpus", "stats", "x" * 300), ("File name too long",)),
            (("corpus", "melt"), ("melt", "stats")),
            (("melt",), ("melt", "corpus")),
        ],
        ids=lambda value: " ".join(value)[:40],
    )
    def test_a_sentence(self, arguments: tuple[str, ...], said: tuple[str, ...]) -> None:
        assert_user_mistake(wordmint(*arguments), *said)

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert_user_mistake(wordmint("corpus", "stats", tmp_path / "empty"), "empty: no train, valid or test")

    def test_a_split_without_files(self, tmp_path: Path) -> None:
        (tmp_path / "hollow" / "train").mkdir(parents=True)
        assert_user_mistake(wordmint("corpus", "stats", tmp_path / "hollow"), "hollow/train: the folder holds no files")

    def test_an_empty_file(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "blank", train="a b\n", valid="")
        assert_user_mistake(wordmint("corpus", "stats", folder), "blank: the valid split holds no words")

    def test_a_named_corpus_whose_files_are_not_there(self, pets: Path) -> None:
        assert_user_mistake(wordmint("corpus", "stats", "ptb", "--data", pets), str(pets), "ptb.{train,valid,test}.txt")

    def test_two_files_for_one_split(self, pets: Path) -> None:
        (pets / "train.jsonl").write_text('{"text": "a"}\n')
        assert_user_mistake(wordmint("corpus", "stats", pets), "train.jsonl and train.txt", "leave one")

    def test_json_lines_that_are_none(self, tmp_path: Path) -> None:
        (tmp_path / "train.jsonl").write_text('{"text": "a"}\n{"text": b}\n')
        result = wordmint("corpus", "stats", tmp_path / "train.jsonl")
        assert_user_mistake(result, "train.jsonl:2: not JSON at column 10")


class TestWarnings:
    def test_a_missing_split(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "half", train="a b\n" * 30, test="a c\n")
        result = wordmint("corpus", "stats", folder, "--json")
        assert result.returncode == 0
        assert "wordmint: warning: half has no valid split\n" in result.stderr
        splits = statistics(folder)["splits"]
        assert splits["valid"] is None
        assert splits["test"]["oov_rate"] == 1 / 3
        assert rows(wordmint("corpus", "stats", folder).stdout)["Tokens"] == ["90", "–", "3"]

    def test_without_train_nothing_is_out_of_vocabulary(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "late", valid="a b\n" * 30, test="a c\n")
        found = statistics(folder)
        assert found["splits"]["train"] is None
        assert found["splits"]["test"]["oov_rate"] is None
        assert found["measured_on"] == "valid"

    def test_many_dummies(self, pets: Path, cats: Path) -> None:
        result = wordmint("corpus", "stats", pets)
        warning = (
            "wordmint: warning: pets: the dummy stands for many characters (25.0% in valid), "
            "which were too rare or could not be read"
        )
        assert result.stderr.splitlines() == [warning]
        assert wordmint("corpus", "stats", cats).stderr == ""

    def test_a_shared_document(self, tmp_path: Path) -> None:
        write_corpus(tmp_path / "leak" / "train", one="a b c\n", two="d e f\n")
        write_corpus(tmp_path / "leak" / "test", copied="d e f\n", own="g\n" * 30)
        result = wordmint("corpus", "stats", tmp_path / "leak")
        assert result.returncode == 0
        warning = "wordmint: warning: leak: train/two.txt and test/copied.txt are the same text"
        assert [line for line in result.stderr.splitlines() if "same text" in line] == [warning]


class TestEncodings:
    TEXT = "wir mögen\ndas Café\n"

    def test_not_utf8_says_where(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "old", train="das\nwir mögen".encode("latin-1"))
        result = wordmint("corpus", "stats", folder)
        assert_user_mistake(result, "old/train.txt:2: not utf-8 at byte 9;", "--encoding", "--errors replace")

    def test_replaced_bytes_are_one_character_each(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "old", train=(self.TEXT * 30).encode("latin-1"))
        found = statistics(folder, "--errors", "replace")["splits"]["train"]
        assert found["characters"] == 30 * len(self.TEXT)
        assert found["character_types"] == len(set(self.TEXT)) - 1  # ö and é are the same dummy

    def test_another_encoding(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "old", train=(self.TEXT * 30).encode("latin-1"))
        found = statistics(folder, "--encoding", "latin-1")["splits"]["train"]
        assert found["characters"] == 30 * len(self.TEXT)
        assert found["character_types"] == len(set(self.TEXT))

    def test_another_encoding_is_another_corpus(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "old", train=(self.TEXT * 30).encode())
        utf8, latin1 = (statistics(folder, "--encoding", name)["splits"]["train"] for name in ("utf-8", "latin-1"))
        assert latin1["characters"] == utf8["characters"] + 60

    def test_a_file_name_that_is_not_utf8(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "old" / "train", one="a b\n")
        (folder / "one.txt").rename(folder / os.fsdecode(b"\xe4.txt"))
        assert statistics(tmp_path / "old")["splits"]["train"]["tokens"] == 3


class TestStandardInput:
    TEXT = CATS_AND_DOGS["train"].encode()

    @staticmethod
    def assert_is_train_alone(found: Any, name: str) -> None:
        assert found["name"] == name
        assert found["splits"] == {"train": COUNTED_BY_HAND["train"], "valid": None, "test": None}

    def test_a_dash(self) -> None:
        self.assert_is_train_alone(statistics("-", stdin=self.TEXT), "stdin")

    def test_a_dash_beside_others(self, pets: Path) -> None:
        found = statistics(pets, "-", stdin=self.TEXT)
        assert [one["name"] for one in found] == ["pets", "stdin"]

    def test_nothing_comes(self) -> None:
        assert_user_mistake(wordmint("corpus", "stats", "-"), "stdin: the train split holds no words")

    @pytest.mark.parametrize("kind", ["dash", "pipe"])
    def test_damage_is_said_of_what_was_given(self, tmp_path: Path, kind: str) -> None:
        damaged, pipe = b"fine\n\xff\n", tmp_path / "pipe"
        if kind == "pipe":
            os.mkfifo(pipe)
            Thread(target=pipe.write_bytes, args=(damaged,), daemon=True).start()
        result = wordmint("corpus", "stats", "-" if kind == "dash" else pipe, stdin=damaged)
        assert_user_mistake(result, f"wordmint: {'<stdin>' if kind == 'dash' else pipe}:2: not utf-8 at byte 5;")

    def test_it_is_closed(self) -> None:
        command = ["sh", "-c", '"$@" <&-', "sh", *STATS, "-"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert_user_mistake(result, "<stdin>: closed; give it some text")

    def test_a_pipe(self, tmp_path: Path) -> None:
        """What a shell makes of `wordmint corpus stats <(zcat …)`."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        Thread(target=pipe.write_bytes, args=(self.TEXT,), daemon=True).start()
        self.assert_is_train_alone(statistics(pipe), "pipe")

    def test_a_single_file(self, pets: Path) -> None:
        self.assert_is_train_alone(statistics(pets / "train.txt"), "train.txt")


def test_the_version() -> None:
    result = subprocess.run([*WORDMINT, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "0.1.0"
