"""Files out of zip and tar archives, whatever their makers thought: a member's name is compared, never followed."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, runtime_checkable

TAR_SUFFIXES = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
# What reading one may raise; RuntimeError where a zip wants a password or is packed in a way Python does not know.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, RuntimeError)


@runtime_checkable
class Readable(Protocol):
    """A member's bytes; zipfile and tarfile each have a class of their own for them."""

    def read(self, size: int, /) -> bytes: ...


def find_members(archive: Path, wanted: Iterable[str]) -> Iterator[tuple[str, Readable]]:
    """Each wanted path that a member's path ends with, and that member's bytes, to be read before the next."""
    left = set(wanted)
    with closing(_members(archive)) as members:
        for name, content in members:
            found = next((path for path in left if _ends_with(name, path)), None)
            if found:
                left.remove(found)
                yield found, content
            if not left:
                return


def find_in_folders(archive: Path, folders: Iterable[str]) -> Iterator[tuple[str, Readable]]:
    """Each member that lies directly in one of the folders: its path from there on, and its bytes."""
    with closing(_members(archive)) as members:
        for name, content in members:
            file = PurePosixPath(name).name
            found = next((f"{folder}/{file}" for folder in folders if _ends_with(name, f"{folder}/{file}")), None)
            if found:
                yield found, content


def _members(archive: Path) -> Generator[tuple[str, Readable]]:
    if not zipfile.is_zipfile(archive):
        with archive.open("rb") as file:
            yield from _tar_members(file)
        return
    with zipfile.ZipFile(archive) as archive_file:
        for info in archive_file.infolist():
            if not info.is_dir():
                with archive_file.open(info) as content:
                    yield from _with_inner(info.filename, content)


def _tar_members(file: Readable) -> Iterator[tuple[str, Readable]]:
    only_read: Any = file  # as a stream, which is all that a member of a zip allows
    with tarfile.open(fileobj=only_read, mode="r|*") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None  # no links, no devices
            if content:
                yield from _with_inner(member.name, content)


def _with_inner(name: str, content: Readable) -> Iterator[tuple[str, Readable]]:
    """A member, or, where it is a tar itself, its members."""
    if name.endswith(TAR_SUFFIXES):
        yield from _tar_members(content)
    else:
        yield name, content


def _ends_with(name: str, path: str) -> bool:
    parts, wanted = PurePosixPath(name).parts, PurePosixPath(path).parts
    is_odd = name.startswith("/") or ".." in parts
    return not is_odd and parts[-len(wanted) :] == wanted
