"""Failures and text that are real, through the real command: full disks, interruptions, strange characters, huge words.

Nothing here waits for a clock: a command that must still be at work reads a pipe into which nobody writes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import BinaryIO

import pytest

from tests.command import HANGS_SECONDS, STATS, WORDMINT, assert_user_mistake, statistics, wordmint, write_corpus

INTERRUPTED = 130
TERMINATED = 143
MEBIBYTE = 1 << 20
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))  # Python itself ignores SIGXFSZ
os.execv(sys.argv[2], sys.argv[2:])
"""
# A small process starts the command, as a child's peak memory is at least that of the process that forked it.
MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print("peak_kibibytes", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
# Where a background job's parent ignores Ctrl-C, so would the command.
INTERRUPTIBLE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
MOUNTED = """
mount -t tmpfs -o "$1" tmpfs "$2" || exit 99
shift 2; "$@"; code=$?
if [ -d "$WORDMINT_HOME/prepared" ]; then ls -A "$WORDMINT_HOME/prepared" >&2; fi
exit $code
"""
NO_MOUNT = 99


def many_types(num_types: int) -> str:
    """Text in which each word is another: its arrays on disk are several times as large as itself."""
    return "".join(f"word{number:08d}\n" for number in range(num_types))


def kept(home: Path) -> list[str]:
    """All that lies among the prepared corpora."""
    return sorted(path.name for path in (home / "prepared").iterdir()) if (home / "prepared").exists() else []


class TestFullDisk:
    # The words of the text take 0.8 MB, their spellings 5.2 MB: the disk fills in the one file or in the other.
    @pytest.mark.parametrize("limit_bytes", [MEBIBYTE // 4, 2 * MEBIBYTE])
    def test_files_may_not_grow(self, tmp_path: Path, wordmint_home: Path, limit_bytes: int) -> None:
        folder = write_corpus(tmp_path / "large", train=many_types(100_000))
        prefix = (sys.executable, "-c", LIMITED, str(limit_bytes))
        result = wordmint("corpus", "stats", folder, prefix=prefix)
        assert_user_mistake(result, "preparing large failed (File too large)", "nothing was kept", "WORDMINT_HOME")
        assert kept(wordmint_home) == []

    def test_afterwards_it_works(self, tmp_path: Path, wordmint_home: Path) -> None:
        folder = write_corpus(tmp_path / "large", train=many_types(100_000))
        wordmint("corpus", "stats", folder, prefix=(sys.executable, "-c", LIMITED, str(MEBIBYTE)))
        assert statistics(folder)["splits"]["train"]["tokens"] == 200_000
        assert len(kept(wordmint_home)) == 1

    @pytest.mark.parametrize("size", ["256k", "2m"])
    def test_a_small_disk(self, tmp_path: Path, wordmint_home: Path, size: str) -> None:
        folder = write_corpus(tmp_path / "large", train=many_types(100_000))
        result = on_a_disk(f"size={size}", wordmint_home, folder)
        assert_user_mistake(result, "preparing large failed (No space left on device)", "free some space")

    def test_a_disk_that_is_large_enough(self, tmp_path: Path, wordmint_home: Path) -> None:
        """The same way of mounting fails nothing by itself, and what is kept would be seen."""
        folder = write_corpus(tmp_path / "large", train=many_types(100_000))
        result = on_a_disk("size=20m", wordmint_home, folder)
        assert result.returncode == 0
        assert result.stderr.splitlines()[-1].startswith("large-")

    def test_a_disk_that_cannot_be_written(self, tmp_path: Path, wordmint_home: Path) -> None:
        folder = write_corpus(tmp_path / "small", train="a b\n")
        result = on_a_disk("ro", wordmint_home, folder)
        assert_user_mistake(result, "preparing small failed (Read-only file system)", "set WORDMINT_HOME")

    def test_standard_input_that_does_not_fit(self, tmp_path: Path) -> None:
        """The disk for temporary files is full, here as no file on it may grow further."""
        prefix = (sys.executable, "-c", LIMITED, str(MEBIBYTE))
        text, environment = b"word " * MEBIBYTE, {"TMPDIR": str(tmp_path)}
        result = wordmint("corpus", "stats", "-", prefix=prefix, stdin=text, environment=environment)
        assert_user_mistake(result, f"<stdin>: cannot be kept in {tmp_path} (File too large)", "set TMPDIR")
        assert list(tmp_path.iterdir()) == []


def on_a_disk(options: str, home: Path, corpus: Path) -> subprocess.CompletedProcess[str]:
    """`wordmint corpus stats` with its home on a disk of its own, which it alone sees; stderr ends in what is kept."""
    if not shutil.which("unshare"):
        pytest.skip("no `unshare` here to mount a disk for one command")
    home.mkdir()
    prefix = ("unshare", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh", options, str(home))
    result = wordmint("corpus", "stats", corpus, prefix=prefix)
    if result.returncode in (1, NO_MOUNT) and "wordmint:" not in result.stderr:
        pytest.skip(f"no disk may be mounted here: {result.stderr.strip()}")
    return result


class TestHome:
    def test_a_file_in_its_place(self, tmp_path: Path, wordmint_home: Path) -> None:
        wordmint_home.write_text("not a folder")
        folder = write_corpus(tmp_path / "small", train="a b\n")
        assert_user_mistake(wordmint("corpus", "stats", folder), "Not a directory", "set WORDMINT_HOME")

    @pytest.mark.skipif(
        os.geteuid() == 0, reason="root may write everywhere; a disk mounted read-only is tried instead"
    )
    def test_a_folder_that_may_not_be_written(self, tmp_path: Path, wordmint_home: Path) -> None:
        wordmint_home.mkdir(mode=0o500)
        folder = write_corpus(tmp_path / "small", train="a b\n")
        assert_user_mistake(wordmint("corpus", "stats", folder), "Permission denied", "set WORDMINT_HOME")

    def test_a_damaged_corpus_is_prepared_again(self, tmp_path: Path, wordmint_home: Path) -> None:
        folder = write_corpus(tmp_path / "small", train="a b\n" * 30)
        whole = statistics(folder)
        (prepared,) = (wordmint_home / "prepared").iterdir()
        for damaged, text in (("train.words.i32", b"\0\0"), ("meta.json", b'{"format"'), ("meta.json", b"[]")):
            (prepared / damaged).write_bytes(text)
            assert statistics(folder) == whole


def open_for_writing(pipe: Path, process: subprocess.Popen[str]) -> int:
    """A pipe's end, as soon as the process reads at the other."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO  # nobody reads yet
            sleep(0.01)
    raise AssertionError("the command ended too early")


@contextmanager
def at_work(folder: Path, home: Path) -> Iterator[tuple[subprocess.Popen[str], BinaryIO]]:
    """The command on a corpus in which it has read train and waits for a valid split: that pipe is yielded too."""
    write_corpus(folder, train=many_types(10_000))
    os.mkfifo(folder / "valid.txt")
    command = [sys.executable, "-c", INTERRUPTIBLE, *STATS, str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            before = kept(home)
            os.close(open_for_writing(folder / "valid.txt", process))  # the first reading, for the fingerprint, ends
            while kept(home) == before and process.poll() is None:
                sleep(0.01)
            writer = open_for_writing(folder / "valid.txt", process)  # the second comes after train, and waits
            with os.fdopen(writer, "wb") as pipe:
                yield process, pipe
        finally:
            process.kill()


def signalled(process: subprocess.Popen[str], pipe: BinaryIO, number: signal.Signals) -> tuple[str, str]:
    """What the command says when a signal comes while it reads.

    Python sees a signal that comes just before a read only after it; so the read is let go, with the signal sent.
    """
    process.send_signal(number)
    pipe.close()
    return process.communicate(timeout=HANGS_SECONDS)


class TestInterruption:
    def test_control_c(self, tmp_path: Path, wordmint_home: Path) -> None:
        with at_work(tmp_path / "waiting", wordmint_home) as (process, pipe):
            assert len(kept(wordmint_home)) == 1  # it is writing
            output, errors = signalled(process, pipe, signal.SIGINT)
        assert process.returncode == INTERRUPTED
        assert output == ""
        assert errors.split("\n") == ["", "wordmint: interrupted; nothing half-written was kept", ""]
        assert kept(wordmint_home) == []

    def test_sigterm(self, tmp_path: Path, wordmint_home: Path) -> None:
        with at_work(tmp_path / "waiting", wordmint_home) as (process, pipe):
            assert len(kept(wordmint_home)) == 1
            output, errors = signalled(process, pipe, signal.SIGTERM)
        assert (process.returncode, output, errors) == (TERMINATED, "", "")
        assert kept(wordmint_home) == []

    def test_control_c_while_modules_are_imported(self, tmp_path: Path) -> None:
        (tmp_path / "cyclopts.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
        command = [sys.executable, "-c", INTERRUPTIBLE, *WORDMINT]
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert (result.returncode, result.stdout, result.stderr) == (INTERRUPTED, "", "")

    def test_what_a_killed_process_left_is_removed(self, tmp_path: Path, wordmint_home: Path) -> None:
        folder = tmp_path / "waiting"
        with at_work(folder, wordmint_home) as (process, _):
            process.kill()
        (left,) = kept(wordmint_home)
        assert left.endswith(".partial")
        (folder / "valid.txt").unlink()
        (folder / "valid.txt").write_text("a b\n")
        assert statistics(folder)["splits"]["valid"]["tokens"] == 3
        (prepared,) = kept(wordmint_home)
        assert prepared.startswith("waiting-")

    def test_what_another_process_is_writing_stays(self, tmp_path: Path, wordmint_home: Path) -> None:
        with at_work(tmp_path / "waiting", wordmint_home):
            (partial,) = kept(wordmint_home)
            statistics(write_corpus(tmp_path / "other", train="a b\n"))
            assert partial in kept(wordmint_home)


class TestSizes:
    @staticmethod
    def measured(folder: Path) -> tuple[dict[str, int], int]:
        """The statistics of train and the peak memory of the command, in bytes."""
        result = wordmint("corpus", "stats", folder, "--json", prefix=(sys.executable, "-c", MEASURED))
        assert result.returncode == 0, result.stderr
        name, peak_kibibytes = result.stderr.splitlines()[-1].split()
        assert name == "peak_kibibytes"
        return json.loads(result.stdout)["splits"]["train"], int(peak_kibibytes) * 1024

    def test_a_word_of_ten_million_characters(self, tmp_path: Path) -> None:
        folder = write_corpus(tmp_path / "long", train="ab" * 5_000_000)
        train, peak_bytes = self.measured(folder)
        assert train["word_types"] == train["tokens"] == 2  # the word and the line end it is given
        assert train["characters"] == 10_000_001
        assert peak_bytes < 1e9

    def test_a_line_of_fifty_megabytes(self, tmp_path: Path) -> None:
        line = "a-word another_word something.longer and/a/very/very/long/one " * (50_000_000 // 62)
        train, peak_bytes = self.measured(write_corpus(tmp_path / "long", train=line))
        assert train["tokens"] == 4 * (50_000_000 // 62) + 1
        assert train["characters"] == len(line)  # the last space falls away, the line end comes
        assert train["word_types"] == 5
        assert peak_bytes < 1e9


FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


@pytest.mark.parametrize(
    ("line", "words", "normalised"),
    [
        ("a\0b \x01\x02 c\n", ["a\0b", "\x01\x02", "c"], "a\0b \x01\x02 c\n"),
        ("a b\r\n", ["a", "b"], "a b\n"),
        ("a\t\x0b\x0c b \n", ["a", "b"], "a b\n"),
        ("a\N{LINE SEPARATOR}b\n", ["a", "b"], "a b\n"),
        ("a\N{NO-BREAK SPACE}b\N{NEXT LINE}c\n", ["a", "b", "c"], "a b c\n"),
        ("שלום עולם\n", ["שלום", "עולם"], "שלום עולם\n"),
        ("\N{RIGHT-TO-LEFT MARK}שלום ok\n", ["\N{RIGHT-TO-LEFT MARK}שלום", "ok"], "\N{RIGHT-TO-LEFT MARK}שלום ok\n"),
        (f"{FAMILY} ok\n", [FAMILY, "ok"], f"{FAMILY} ok\n"),
        ("e\N{COMBINING ACUTE ACCENT} é\n", ["e\N{COMBINING ACUTE ACCENT}", "é"], "e\N{COMBINING ACUTE ACCENT} é\n"),
        ("a \ufeff\n", ["a", "\ufeff"], "a \ufeff\n"),  # a byte order mark that is not at the start
    ],
    ids=["control", "crlf", "tabs", "U+2028", "nbsp", "hebrew", "rtl mark", "emoji", "combining", "inner BOM"],
)
@pytest.mark.parametrize("byte_order_mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_odd_characters(tmp_path: Path, byte_order_mark: str, line: str, words: list[str], normalised: str) -> None:
    folder = write_corpus(tmp_path / "odd", train=byte_order_mark + line * 30)
    train = statistics(folder)["splits"]["train"]
    assert train["tokens"] == 30 * (len(words) + 1)
    assert train["word_types"] == len(set(words)) + 1
    assert train["characters"] == 30 * len(normalised)
    assert train["character_types"] == len(set(normalised))
