"""Rows into a file or to standard output, as TSV, JSON lines or parquet; a file appears whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from wordmint.errors import UserError

Row = tuple[Any, ...]  # a named tuple
Write = Callable[[Sequence[Row]], None]


@contextmanager
def written_whole(path: Path | None) -> Iterator[BinaryIO]:
    """A file that takes its name once it is complete; without a path, standard output."""
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if not path.name or path.is_dir():
        raise UserError(f"{path}: a folder; name the file to be written")
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()  # what a link points to is replaced, not the link
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        if error.filename not in (None, str(unfinished), str(path)):
            raise
        raise UserError(f"{path}: cannot be written ({error.strerror or error}); nothing was kept") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _tsv(rows: Iterable[Sequence[Any]]) -> bytes:
    """Tabs between columns; a field with a quote in it is quoted, so that R and pandas read it as it is."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _json_lines(rows: Iterable[Row], columns: Sequence[str]) -> bytes:
    lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    return "".join(lines).encode("utf-8", "backslashreplace")


@contextmanager
def _parquet_writer(file: BinaryIO, row_type: type) -> Iterator[Write]:
    """Columns by their types."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise UserError("--format parquet needs `pip install 'wordmint[tables]'`") from None
    kinds = {"str": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_()}
    hints = row_type.__annotations__
    schema = pyarrow.schema([(name, kinds[getattr(hint, "__forward_arg__", hint)]) for name, hint in hints.items()])
    with parquet.ParquetWriter(file, schema) as writer:

        def write(rows: Sequence[Row]) -> None:
            columns = list(zip(*rows, strict=True)) or [()] * len(hints)
            writer.write_table(pyarrow.table(list(map(list, columns)), schema=schema))

        yield write


@contextmanager
def row_writer(format: str, file: BinaryIO, row_type: type) -> Iterator[Write]:
    """The writer of a format: tsv, jsonl or parquet."""
    match format:
        case "parquet":
            with _parquet_writer(file, row_type) as write:
                yield write
        case "jsonl":
            yield lambda rows: _put(file, _json_lines(rows, list(row_type.__annotations__)))
        case _:
            _put(file, _tsv([list(row_type.__annotations__)]))
            yield lambda rows: _put(file, _tsv(rows))


def _put(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _plain(value: Any) -> Any:
    """Six digits are enough; a line end is written \\n; true is 1."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "\\n" if value == "\n" else value
