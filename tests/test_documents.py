"""Documents: where they come from, in which order, and where exactly a damaged one is damaged."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from tests.text_strategies import ODD_WORDS, texts
from wordmint.errors import UserError
from wordmint.text import documents
from wordmint.text.documents import BYTES_PER_PIECE, Document, Encoding, find_documents, read_pieces

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
FEW_BYTES = 5  # a piece in some tests, so that everything falls on a border
UTF8 = Encoding()


def read(path: Path, encoding: Encoding = UTF8) -> str:
    return "".join(read_pieces(path, encoding))


def names_and_texts(path: Path, encoding: Encoding = UTF8) -> list[tuple[str, str]]:
    return [(document.name, document.text) for document in find_documents(path, encoding)]


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_in_small_pieces(content: bytes, encoding: Encoding) -> str:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "BYTES_PER_PIECE", FEW_BYTES)
        return read(written(Path(folder) / "a.txt", content), encoding)


# Where documents come from.


def test_a_file_is_one_document(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "one\ntwo\n")
    assert names_and_texts(path) == [("a.txt", "one\ntwo\n")]


def test_a_folder_is_all_its_files_by_name_without_the_hidden(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "a.txt", "10.txt", "9.txt", ".hidden", ".git/x.txt", "a/.y.txt"):
        written(tmp_path / name, name)
    expected = ["10.txt", "9.txt", "a/b/c.txt", "a/z.txt", "a.txt", "b.txt"]
    assert names_and_texts(tmp_path) == [(name, name) for name in expected]


def test_a_folder_below_a_hidden_one_is_read(tmp_path: Path) -> None:
    written(tmp_path / ".cache" / "corpus" / "a.txt", "a")
    assert names_and_texts(tmp_path / ".cache" / "corpus") == [("a.txt", "a")]


def test_documents_are_read_again_and_again(tmp_path: Path) -> None:
    found = find_documents(written(tmp_path / "a.txt", "a"))
    assert [d.text for d in found] == [d.text for d in found] == ["a"]


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(tmp_path / "a", "\ufeffé\r\n").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert names_and_texts(Path("-")) == [("<stdin>", "é\r\n")]


def test_standard_input_that_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(tmp_path / "a", b"a\n\xff").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(UserError, match=r"^<stdin>:2: not utf-8 at byte 2; "):
            names_and_texts(Path("-"))


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match=r"^<stdin>: closed; give it some text"):
        names_and_texts(Path("-"))


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        find_documents(tmp_path / "nowhere")
    with pytest.raises(UserError, match="holds no files"):
        find_documents(tmp_path)
    with pytest.raises(UserError, match=r"gone\.txt: cannot be read \(No such file"):
        read(tmp_path / "gone.txt")


# JSON lines.


@given(st.lists(texts, max_size=5))
def test_json_lines_give_back_each_text(rows: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps({"text": text, "name": f"d{n}"}, ensure_ascii=n % 2 == 0) for n, text in enumerate(rows)]
        path = written(Path(folder) / "a.jsonl", "\n".join(lines))
        assert names_and_texts(path) == [(f"d{n}", text) for n, text in enumerate(rows)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.jsonl.gz", "a.jsonl.xz", "a.ndjson.zst", "A.JSONL.GZ"])
def test_json_lines_are_told_by_the_name(tmp_path: Path, name: str) -> None:
    content = b'{"text": "x"}\r\n\n  \n{"text": "y\\n", "id": 7}\n'
    path = written(tmp_path / name, COMPRESS.get(Path(name).suffix.lower(), bytes)(content))
    assert names_and_texts(path) == [(f"{path}:1", "x"), ("7", "y\n")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": "c", "id": "b", "name": "a"}, "a"),
        ({"title": "c", "id": 0}, "0"),
        ({"title": "c", "url": "d"}, "c"),
    ],
)
def test_the_name_of_a_row(tmp_path: Path, fields: dict[str, object], expected: str) -> None:
    path = written(tmp_path / "a.jsonl", json.dumps(fields | {"text": ""}))
    assert names_and_texts(path) == [(expected, "")]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('{"text": "x"', r":3: not JSON at column \d+ \("),
        ("text", r":3: not JSON at column 1 \("),
        ("[" * 100_000, r":3: not JSON"),
        ('{"text": "x", "id": ' + "9" * 5000 + "}", r":3: not JSON"),
        ('["text"]', ":3: no text"),
        ('{"txt": "x"}', ":3: no text"),
        ('{"text": null}', ":3: no text"),
        ('{"text": "a\\ud83d b"}', ":3: the text holds half of a surrogate pair"),
    ],
    ids=["cut", "not JSON", "deep", "a huge number", "a list", "another key", "null", "half a pair"],
)
def test_a_bad_row_is_named_by_its_line(tmp_path: Path, row: str, complaint: str) -> None:
    path = written(tmp_path / "a.jsonl", f'{{"text": "x"}}\n\n{row}\n{{"text": "x"}}\n')
    with pytest.raises(UserError, match=f"^{re.escape(str(path))}{complaint}"):
        names_and_texts(path)


def test_a_long_row_comes_in_pieces(tmp_path: Path) -> None:
    text = "".join(f"{number} é " for number in range(BYTES_PER_PIECE // 4))
    [document] = find_documents(written(tmp_path / "a.jsonl", json.dumps({"text": text})))
    pieces = list(document.pieces)
    assert max(map(len, pieces)) <= BYTES_PER_PIECE < len(text)
    assert "".join(pieces) == text


def test_a_whole_surrogate_pair_is_a_character(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", '{"text": "\\ud83d\\ude00"}')
    assert names_and_texts(path)[0][1] == "\U0001f600"


# Compressed files.


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("content", [b"", b"a\n", "é\n".encode() * 700_000], ids=["empty", "short", "long"])
def test_compressed_files_by_name(tmp_path: Path, suffix: str, content: bytes) -> None:
    assert read(written(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](content))) == content.decode()


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_parts_one_after_the_other_are_one_text(tmp_path: Path, suffix: str) -> None:
    content = COMPRESS[suffix](b"one\n") + COMPRESS[suffix](b"two\n")
    assert read(written(tmp_path / f"a.txt{suffix}", content)) == "one\ntwo\n"


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_suffix_in_capitals(tmp_path: Path, suffix: str) -> None:
    assert read(written(tmp_path / f"A.TXT{suffix.upper()}", COMPRESS[suffix](b"one\n"))) == "one\n"


def some_lines() -> bytes:
    return b"".join(b"line %d of some length\n" % number for number in range(2000))


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("kept", [0.01, 0.5, 0.99])
def test_a_truncated_file_is_no_text(tmp_path: Path, suffix: str, kept: float) -> None:
    whole = COMPRESS[suffix](some_lines())
    path = written(tmp_path / f"a.txt{suffix}", whole[: max(6, int(len(whole) * kept))])
    with pytest.raises(UserError, match=r"a\.txt\.\w+: damaged or cut short \(.+\); compress or fetch it again$"):
        read(path)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("at", [0, 1, 2, 3], ids=["magic", "early", "middle", "late"])
def test_a_corrupt_file_is_no_text(tmp_path: Path, suffix: str, at: int) -> None:
    damaged = bytearray(COMPRESS[suffix](some_lines()))
    where = at * (len(damaged) - 8) // 3
    for index in range(where, where + 4):
        damaged[index] ^= 0xFF
    with pytest.raises(UserError, match="damaged or cut short"):
        read(written(tmp_path / f"a.txt{suffix}", bytes(damaged)))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_plain_file_with_a_compressed_name(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UserError, match="damaged or cut short"):
        read(written(tmp_path / f"a.txt{suffix}", "not compressed at all\n"))


# Encodings.


def expected_complaint(content: bytes, encoding: str) -> tuple[int, int] | None:
    """The line and byte at which decoding everything at once stops, or nothing."""
    if encoding == "utf-16" and content[:2] not in (b"", b"\xff\xfe", b"\xfe\xff"):
        return 1, 0  # no byte order mark
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        # what the decoder has skipped before (a byte order mark) is not in its object
        byte = error.start + len(content) - len(error.object)
        return content[:byte].decode(encoding).count("\n") + 1, byte
    return None


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "ascii", "cp1252", "shift_jis")


@given(
    st.lists(st.one_of(texts.map(str.encode), st.binary(max_size=4)), max_size=6).map(b"".join),
    st.sampled_from(ENCODINGS),
)
@example(b"\xef\xbb\xbfa\n\xff", "utf-8-sig")
@example(b"\xfe\xff\x00a\x00\n\x00a\x00\n\x00a\xdc\x00\x00a", "utf-16")
@example(b"abcd\xe2\x82", "utf-8")
@example(b"abcde\xef\xbb\xbfa mark that is none", "utf-8")
@example(b"abc\xe2\x82d", "utf-8")
@example(b"a\x00\x00\xdc", "utf-16")  # no byte order mark, and damage besides
def test_the_line_and_byte_of_damage_are_exact(content: bytes, encoding: str) -> None:
    complaint = expected_complaint(content, encoding)
    if complaint is None:
        assert read_in_small_pieces(content, Encoding(encoding)) == content.decode(encoding).removeprefix("\ufeff")
        return
    line, byte = complaint
    with pytest.raises(UserError, match=rf"a\.txt:{line}: not {encoding} at byte {byte}[; ]"):
        read_in_small_pieces(content, Encoding(encoding))


@given(st.binary(max_size=30), st.sampled_from(ENCODINGS).filter(lambda encoding: encoding != "utf-16"))
def test_damage_can_be_replaced(content: bytes, encoding: str) -> None:
    expected = content.decode(encoding, "replace").removeprefix("\ufeff")
    assert read_in_small_pieces(content, Encoding(encoding, "replace")) == expected


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
@pytest.mark.parametrize("before", [-1, 0, 1, 2 * BYTES_PER_PIECE + 5])
def test_damage_near_the_border_of_real_pieces(tmp_path: Path, suffix: str, before: int) -> None:
    byte = BYTES_PER_PIECE + before
    content = "é\n".encode() * (byte // 3) + b"x" * (byte % 3) + b"\xe2\x82\n"
    path = written(tmp_path / f"a.txt{suffix}", COMPRESS.get(suffix, bytes)(content))
    where = re.escape(f"a.txt{suffix}:{byte // 3 + 1}: not utf-8 at byte {byte};")
    with pytest.raises(UserError, match=where):
        read(path)
    assert read(path, Encoding(errors="replace")) == "é\n" * (byte // 3) + "x" * (byte % 3) + "\ufffd\n"


def test_the_complaint_says_what_to_do(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", b"\xe9")
    with pytest.raises(UserError) as raised:
        read(path)
    assert str(raised.value) == (
        f"{path}:1: not utf-8 at byte 0; re-encode the file, name its encoding with --encoding, "
        "or pass --errors replace"
    )
    assert read(path, Encoding("latin-1")) == "é"


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_utf16_of_unknown_byte_order(tmp_path: Path, errors: Literal["strict", "replace"]) -> None:
    path = written(tmp_path / "a.txt", "abc".encode("utf-16-le"))
    with pytest.raises(UserError, match=r"a\.txt:1: not utf-16 at byte 0 \(.*BOM\); name the byte order too"):
        read(path, Encoding("utf-16", errors))


@pytest.mark.parametrize("name", ["klingon", "hex", "undefined", "punycode", "Punycode", "idna"])
def test_an_encoding_that_is_none(name: str) -> None:
    with pytest.raises(UserError, match=f"^no encoding is called '{name}'; try utf-8"):
        Encoding(name)


@pytest.mark.parametrize(
    ("content", "encoding", "expected"),
    [
        (b"", "utf-8", ""),
        (b"\xef\xbb\xbf", "utf-8", ""),
        (b"\xef\xbb\xbfa\xef\xbb\xbf", "utf-8", "a\ufeff"),
        ("\ufeffé\n".encode("utf-16-be"), "utf-16", "é\n"),
        ("é\n".encode("utf-16-le"), "utf-16-le", "é\n"),
        ("\ufeffé\n".encode("utf-16-le"), "utf-16-le", "é\n"),
        (b"a\r\nb\x00\x1a\x0c\xe2\x80\xa8", "utf-8", "a\r\nb\x00\x1a\x0c\u2028"),
    ],
    ids=["empty", "only a BOM", "BOM", "utf-16", "utf-16-le", "utf-16-le with BOM", "as it is"],
)
def test_characters_come_as_they_are_but_for_a_byte_order_mark(
    tmp_path: Path, content: bytes, encoding: str, expected: str
) -> None:
    assert read(written(tmp_path / "a.txt", content), Encoding(encoding)) == expected


@pytest.mark.parametrize("word", ODD_WORDS.values(), ids=ODD_WORDS)
def test_odd_words_come_as_they_are(word: str) -> None:
    assert read_in_small_pieces(word.encode(), UTF8) == word.removeprefix("\ufeff")


def test_a_document_is_its_pieces() -> None:
    assert Document("a", ["b", "", "c"]).text == "bc"


@pytest.mark.skipif(os.name != "posix", reason="names of bytes are POSIX's")
def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    written(tmp_path / os.fsdecode(b"caf\xe9.txt"), "a")
    assert names_and_texts(tmp_path) == [("caf\udce9.txt", "a")]
