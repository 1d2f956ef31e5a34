"""score, complete, generate, rescore, compress as a user meets them: real processes, real files."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.command import HANGS_SECONDS, WORDMINT, assert_user_mistake, wordmint
from tests.test_use import made
from wordmint.model.config import HCLMConfig
from wordmint.use.state import TextState

TEXT = 'abc "de" abc fa\n\n  ab\tabc NA\n'


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "m"
    made(HCLMConfig(units=16, slots=4)).language_model.save_pretrained(folder)
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "t.txt").write_text(TEXT)
    return tmp_path / "t.txt"


def rows_of(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table), delimiter="\t"))


def test_score_prints_a_row_a_word(model: Path, text: Path) -> None:
    result = wordmint("score", model, text)
    assert result.returncode == 0, result.stderr
    rows = rows_of(result.stdout)
    assert [row["word"] for row in rows] == ["abc", '"de"', "abc", "fa", "\\n", "\\n", "ab", "abc", "NA", "\\n"]
    assert [row["line"] for row in rows] == [*"1111123333"]
    assert [row["first"] for row in rows] == [*"1101101010"]
    for row in rows:
        assert TEXT[int(row["start"]) : int(row["end"])] == row["word"].replace("\\n", "\n")
        assert float(row["bits_per_character"]) > 0
        assert 0 <= float(row["p_copied"]) <= 1
    assert [row["slot"] for row in rows][:3] == ["-1", "-1", "0"]
    said = json.loads(wordmint("evaluate", model, text, "--json").stdout)
    bits = said["models"][0]["bits"] if "models" in said else said["bits"]
    assert sum(float(row["surprisal"]) for row in rows) == pytest.approx(bits, rel=1e-4)


def test_score_as_json_and_parquet_says_the_same(model: Path, text: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(row) for row in wordmint("score", model, text, "--format", "jsonl").stdout.splitlines()]
    assert wordmint("score", model, text, "--format", "parquet", "-o", tmp_path / "t.parquet").returncode == 0
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == rows
    assert rows[1]["word"] == '"de"'
    assert not list(tmp_path.glob(".*"))


def test_characters_sum_to_their_words(model: Path, text: Path) -> None:
    words = rows_of(wordmint("score", model, text).stdout)
    characters = rows_of(wordmint("score", model, text, "--characters").stdout)
    ends = [i for i, row in enumerate(characters) if row["character"] == " "]
    assert len(ends) == len(words)
    begin = 0
    for end, word in zip(ends, words, strict=True):
        own = characters[begin : end + 1]
        assert sum(float(row["surprisal"]) for row in own) == pytest.approx(float(word["surprisal"]), rel=1e-3)
        assert own[0]["start"] == word["start"]
        begin = end + 1


def test_documents_carry_on_or_begin_anew(model: Path, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / f"{name}.txt").write_text("fa abc")
    carried, reset = (
        rows_of(wordmint("score", model, tmp_path / "docs", *more).stdout) for more in ([], ["--reset-documents"])
    )
    assert [row["document"] for row in carried] == ["a.txt"] * 3 + ["b.txt"] * 3
    assert [(row["start"], row["end"]) for row in carried] == [("0", "2"), ("3", "6"), ("6", "6")] * 2
    assert [(row["start"], row["end"]) for row in reset] == [("0", "2"), ("3", "6"), ("6", "6")] * 2
    assert carried[3]["slot"] == "0"
    assert reset[3]["slot"] == "-1"
    assert [row["surprisal"] for row in reset[:3]] == [row["surprisal"] for row in reset[3:]]
    assert [row["first"] for row in reset] == ["1"] * 6


def test_a_state_goes_from_call_to_call(model: Path, tmp_path: Path) -> None:
    (tmp_path / "whole").write_text("abc fa abc\nde abc\n")
    (tmp_path / "one").write_text("abc fa abc\nde ")
    (tmp_path / "two").write_text("abc\n")
    whole = rows_of(wordmint("score", model, tmp_path / "whole").stdout)
    state = tmp_path / "s.state"
    first = wordmint("score", model, tmp_path / "one", "--save-state", state)
    assert first.returncode == 0, first.stderr
    assert isinstance(TextState.load(state), TextState)
    second = rows_of(wordmint("score", model, tmp_path / "two", "--state", state).stdout)
    assert second[0]["slot"] == whole[5]["slot"]


def test_bases(model: Path, text: Path) -> None:
    values = [
        float(rows_of(wordmint("score", model, text, "--base", base).stdout)[0]["surprisal"])
        for base in ("2", "e", "10")
    ]
    assert values[0] == pytest.approx(values[1] / 0.693147, rel=1e-4)
    assert values[0] == pytest.approx(values[2] / 0.301030, rel=1e-4)


def test_head_ends_it_quietly(model: Path, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("abc de fa\n" * 20_000)
    command = f"{' '.join(WORDMINT)} score {model} {tmp_path / 'long'} | head -n 3"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=HANGS_SECONDS)
    assert len(result.stdout.splitlines()) == 3
    assert all(line.startswith("scoring with ") for line in result.stderr.splitlines())  # a slow machine's progress


def test_complete(model: Path) -> None:
    result = wordmint("complete", model, "abc fa ab", "-n", "3", "--json")
    said = json.loads(result.stdout)
    assert all(one["word"].startswith("ab") for one in said["completions"])
    assert len(said["completions"]) == 3
    assert "abc" in wordmint("complete", model, "abc fa abc ab").stdout


def test_complete_in_a_conversation(model: Path, tmp_path: Path) -> None:
    state = tmp_path / "s.state"
    result = wordmint("complete", model, "--interactive", "--save-state", state, stdin=b"abcde fa ab\n1\n\n")
    assert result.returncode == 0, result.stderr
    after = TextState.load(state)
    assert after.last_word.startswith("ab")
    assert after.pending == ""


def test_generate_is_the_same_for_a_seed(model: Path) -> None:
    one, same, other = (wordmint("generate", model, "abc de", "--seed", seed, "-w", "9").stdout for seed in "113")
    assert one == same != other
    assert one.startswith("abc de")
    rows = json.loads(wordmint("generate", model, "-n", "2", "-w", "4", "--json").stdout)
    assert [len(row["words"]) for row in rows] == [4, 4]
    assert "copied" in rows[0]["words"][0]


def test_compress_and_back(model: Path, text: Path, tmp_path: Path) -> None:
    assert wordmint("compress", model, text).returncode == 0
    packed = tmp_path / "t.txt.wmint"
    text.unlink()
    assert wordmint("decompress", model, packed).returncode == 0
    assert text.read_text() == TEXT
    packed.write_bytes(packed.read_bytes()[:-2])
    text.unlink()
    assert_user_mistake(wordmint("decompress", model, packed), "damaged or cut short")
    assert not text.exists()


def test_rescore(model: Path, tmp_path: Path) -> None:
    rows = [
        {
            "id": str(n),
            "hypotheses": [{"text": t, "score": s} for t, s in (("abc de", 0), ("fa", 0))],
            "reference": "fa",
        }
        for n in range(3)
    ]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out.jsonl"
    result = wordmint(
        "rescore", model, tmp_path / "l.jsonl", "-o", out, "--tune", tmp_path / "l.jsonl",
        "--references", _references(tmp_path),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "word errors: 200.00% before" in result.stderr
    assert len(out.read_text().splitlines()) == 3
    assert wordmint("rescore", model, tmp_path / "l.jsonl").stdout.splitlines()[0].startswith("0 ")


def _references(folder: Path) -> Path:
    (folder / "refs").write_text("0 fa\n1 fa\n2 fa\n")
    return folder / "refs"


# ---- mistakes -----------------------------------------------------------------------------------------------------


def test_mistakes_are_one_sentence(model: Path, text: Path, tmp_path: Path) -> None:
    def mistake(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return wordmint(*arguments)

    (tmp_path / "latin").write_bytes(b"caf\xe9 abc\n")
    (tmp_path / "bad.state").write_bytes(b"x")
    (tmp_path / "list").write_text("u1 -1 a\n")
    assert_user_mistake(mistake("score", model), "name a file")
    assert_user_mistake(mistake("score", model, tmp_path / "none"), "no such file")
    assert_user_mistake(mistake("score", tmp_path, text), "no model here")
    assert_user_mistake(mistake("score", model, text, "--state", tmp_path / "bad.state"), "bad.state: no state")
    assert_user_mistake(mistake("score", model, text, "-o", tmp_path / "no" / "out"), "cannot be written")
    assert_user_mistake(mistake("score", model, text, "--slots", "20000"), "10,000")
    assert_user_mistake(mistake("complete", model, "a", "-n", "0"), "at least 1")
    assert_user_mistake(mistake("generate", model, "--temperature", "-1"), "temperature")
    assert_user_mistake(mistake("compress", model, tmp_path / "none"), "cannot be read")
    assert_user_mistake(mistake("decompress", model, text), ".wmint")
    assert_user_mistake(mistake("rescore", model, tmp_path / "list"), "list:1: not")


def test_a_word_without_end_is_refused_soon(model: Path, tmp_path: Path) -> None:
    (tmp_path / "long").write_text("abc " + "x" * 10_000_000)
    for command, *more in (("score", "-o", tmp_path / "out"), ("evaluate",), ("compress",)):
        assert_user_mistake(wordmint(command, model, tmp_path / "long", *more), "a word of", "100,000")
    assert [path.name for path in tmp_path.iterdir()] == ["long"]
    (tmp_path / "long").write_text("abc " + "x" * 50_000)
    assert len(rows_of(wordmint("score", model, tmp_path / "long").stdout)) == 3


@pytest.mark.parametrize("text", ["", " \t  ", "\n\n"])
def test_texts_without_words(model: Path, text: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(text)
    result = wordmint("score", model, tmp_path / "t")
    assert result.returncode == 0, result.stderr
    assert all(row["word"] == "\\n" for row in rows_of(result.stdout))


def test_odd_places_to_read_from_and_write_to(model: Path, text: Path, tmp_path: Path) -> None:
    assert_user_mistake(wordmint("score", model, text, "-o", tmp_path), "a folder")
    assert_user_mistake(wordmint("generate", model, "x", "--device", "foo"), "foo")
    assert_user_mistake(wordmint("complete", model, "-", stdin=b"abc \xff"), "not UTF-8 at byte 4")
    assert "abc" in wordmint("complete", model, "-", stdin=b"abc de ab").stdout
    (tmp_path / "real.tsv").write_text("old")
    (tmp_path / "link.tsv").symlink_to(tmp_path / "real.tsv")
    assert wordmint("score", model, text, "-o", tmp_path / "link.tsv").returncode == 0
    assert (tmp_path / "link.tsv").is_symlink()
    assert len(rows_of((tmp_path / "real.tsv").read_text())) == 10
    assert wordmint("score", model, text, "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_a_pending_word_ends_before_a_file(model: Path, tmp_path: Path) -> None:
    lm = made(HCLMConfig(units=16, slots=4))
    lm.read("abc ab", lm.start())[1].save(tmp_path / "s.state")
    (tmp_path / "t").write_text("cd ef\n")
    for more in ([], ["--reset-documents"], ["--characters"]):
        result = wordmint("score", model, tmp_path / "t", "--state", tmp_path / "s.state", *more)
        assert result.returncode == 0, result.stderr
        rows = rows_of(result.stdout)
        assert rows[0]["word"] == "cd"
        assert rows[0]["start"] == "0"


def test_bad_bytes_leave_nothing_behind(model: Path, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"abc\n" * 10 + b"caf\xe9 abc\n")
    result = wordmint("score", model, tmp_path / "latin", "-o", tmp_path / "out.tsv")
    assert_user_mistake(result, "latin:11: not utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latin"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(model: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert_user_mistake(wordmint("score", model, text, "-o", tmp_path / "closed" / "out"), "cannot be written")
