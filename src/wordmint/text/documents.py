"""Documents: named texts, read in pieces so that a file of any size needs little memory."""

from __future__ import annotations

import codecs
import gzip
import json
import lzma
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from wordmint.errors import UserError

BYTES_PER_PIECE = 1 << 20
BYTES_PER_ZSTANDARD_READ = 1 << 12  # small, as one byte may stand for 30,000
COMPRESSED = (".gz", ".xz", ".zst")
JSON_LINES = (".jsonl", ".ndjson")
NO_TEXT = ("undefined", "punycode", "idna")  # Python calls them encodings, but of no text or of names of hosts


@dataclass(frozen=True)
class Encoding:
    """How bytes become characters; `errors="replace"` turns what cannot be read into U+FFFD."""

    name: str = "utf-8"
    errors: Literal["strict", "replace"] = "strict"

    def __post_init__(self) -> None:
        try:
            "".encode(self.name)
            is_of_text = codecs.lookup(self.name).name not in NO_TEXT
        except (LookupError, UnicodeError):
            is_of_text = False
        if not is_of_text:
            raise UserError(f"no encoding is called {self.name!r}; try utf-8, latin-1 or utf-16") from None


@dataclass(frozen=True)
class Document:
    """A text with its own name; its pieces may be cut anywhere and are read once."""

    name: str
    pieces: Iterable[str]

    @property
    def text(self) -> str:
        """The whole text at once."""
        return "".join(self.pieces)


@dataclass(frozen=True)
class Documents:
    """Documents to be read again and again: each file is one, each row of a JSON-lines file is one."""

    files: tuple[tuple[str, Path], ...]
    encoding: Encoding = Encoding()

    def __iter__(self) -> Iterator[Document]:
        for name, path in self.files:
            if _plain_suffix(path) in JSON_LINES:
                yield from _json_documents(path, self.encoding)
            else:
                yield Document(name, read_pieces(path, self.encoding))

    @property
    def num_bytes(self) -> int:
        """Bytes on disk, for progress."""
        return sum(path.stat().st_size for _, path in self.files)


def find_documents(path: Path, encoding: Encoding = Encoding()) -> Documents:
    """The documents of a file or of all files in a folder, in the order of their names; "-" is standard input."""
    if str(path) == "-":
        return Documents((("<stdin>", path),), encoding)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
        if not files:
            raise UserError(f"{path}: the folder holds no files")
        return Documents(tuple((p.relative_to(path).as_posix(), p) for p in files), encoding)
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    return Documents(((path.name, path),), encoding)


def read_pieces(path: Path, encoding: Encoding = Encoding()) -> Iterator[str]:
    """The characters of a file, a piece at a time; a byte order mark at the start is no character."""
    bytes_before, lines_before, at_start = 0, 0, True
    decoder = codecs.getincrementaldecoder(encoding.name)(encoding.errors)
    for chunk in _read_bytes(path):
        state = decoder.getstate()
        try:
            piece = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            raise _unreadable(path, encoding, error, chunk, (bytes_before, lines_before, state)) from None
        if at_start and piece:
            piece, at_start = piece.removeprefix("\ufeff"), False
        bytes_before += len(chunk)
        lines_before += piece.count("\n")
        if piece:
            yield piece


def _unreadable(
    path: Path, encoding: Encoding, error: UnicodeError, chunk: bytes, before: tuple[int, int, tuple[bytes, int]]
) -> UserError:
    """Where a chunk cannot be decoded; `before` is how many bytes and lines came, and the decoder's state then."""
    num_bytes, num_lines, state = before
    try:
        if isinstance(error, UnicodeDecodeError):
            # what the decoder skipped is not in `error.object`; negative where the chunk before holds the beginning
            num_good = len(chunk) - len(error.object) + error.start
            line = num_lines + _count_lines(chunk[: max(num_good, 0)], encoding, state) + 1
            return UserError(
                f"{_shown(path)}:{line}: not {encoding.name} at byte {num_bytes + num_good}; re-encode the file, "
                "name its encoding with --encoding, or pass --errors replace"
            )
    except UnicodeError as no_mark:
        error = no_mark
    # UTF-16 or UTF-32 without a byte order mark
    return UserError(
        f"{_shown(path)}:1: not {encoding.name} at byte 0 ({error}); name the byte order too, as in utf-16-le"
    )


def _count_lines(part: bytes, encoding: Encoding, state: tuple[bytes, int]) -> int:
    decoder = codecs.getincrementaldecoder(encoding.name)()
    decoder.setstate(state)
    return decoder.decode(part).count("\n")


def _read_bytes(path: Path) -> Iterator[bytes]:
    """The file's bytes in chunks, decompressed by its name, with an empty chunk at the end."""
    try:
        yield from _zstandard_chunks(path) if path.suffix.lower() == ".zst" else _chunks(path)
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise UserError(f"{path}: damaged or cut short ({error}); compress or fetch it again") from None
    except OSError as error:
        raise UserError(f"{_shown(path)}: cannot be read ({error.strerror or error})") from None
    yield b""


def _chunks(path: Path) -> Iterator[bytes]:
    with _open_binary(path) as file:
        while chunk := file.read(BYTES_PER_PIECE):
            yield chunk


def _open_binary(path: Path) -> gzip.GzipFile | lzma.LZMAFile | BinaryIO:
    if str(path) == "-":
        return standard_input()
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
        case _:
            return path.open("rb")


def standard_input() -> BinaryIO:
    """The bytes of standard input, where it was not closed."""
    if sys.stdin is None:  # what Python makes of `<&-`
        raise UserError("<stdin>: closed; give it some text, or name a file or a folder instead of -")
    return sys.stdin.buffer


def _zstandard_chunks(path: Path) -> Iterator[bytes]:
    """Decompressed through `decompressobj`, as the library's file object takes a cut file for a whole one."""
    try:
        import zstandard
    except ImportError:
        raise UserError(f"{path}: reading .zst needs `pip install 'wordmint[zstd]'`") from None
    frame = None
    with path.open("rb") as file:
        while compressed := file.read(BYTES_PER_ZSTANDARD_READ):
            while compressed:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                try:
                    yield frame.decompress(compressed)
                except zstandard.ZstdError as error:
                    raise EOFError(error) from None
                compressed = frame.unused_data
                if frame.eof:
                    frame = None
    if frame is not None:
        raise EOFError("its last frame is not complete")


def _json_documents(path: Path, encoding: Encoding) -> Iterator[Document]:
    """One document a row: its "text", and as its name the first of "name", "id" and "title" that is there."""
    for number, row in enumerate(_lines(read_pieces(path, encoding)), start=1):
        if row.strip():
            yield _json_document(row, f"{path}:{number}")


def _json_document(row: str, where: str) -> Document:
    try:
        fields = json.loads(row)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{where}: not JSON at column {error.colno} ({error.msg}); one object a line is needed"
        ) from None
    except (ValueError, RecursionError):
        raise UserError(f"{where}: not JSON that can be read (a number too long or brackets too deep)") from None
    text = fields.get("text") if isinstance(fields, dict) else None
    if not isinstance(text, str):
        raise UserError(f'{where}: no text; each line is an object like {{"name": "…", "text": "…"}}')
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UserError(
            f"{where}: the text holds half of a surrogate pair (\\ud800–\\udfff); write the character whole"
        )
    name = next((str(fields[key]) for key in ("name", "id", "title") if key in fields), where)
    return Document(name, _pieces_of(text))


def _pieces_of(text: str) -> Iterator[str]:
    """A long text in pieces: its words as one list would take many times its size."""
    return (text[begin : begin + BYTES_PER_PIECE] for begin in range(0, len(text), BYTES_PER_PIECE))


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    parts: list[str] = []
    for piece in pieces:
        first, *others = piece.split("\n")
        parts.append(first)
        for other in others:
            yield "".join(parts)
            parts = [other]
    yield "".join(parts)


def _plain_suffix(path: Path) -> str:
    path = Path(path.name.lower())
    return Path(path.stem).suffix if path.suffix in COMPRESSED else path.suffix


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _shown(path: Path) -> str:
    return "<stdin>" if str(path) == "-" else str(path)
