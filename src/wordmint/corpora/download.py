"""`wordmint corpus fetch`: mirror after mirror, until each file of a corpus is there and what it should be.

What is under way lies in `.fetch` within the corpus's folder, so that the folder never holds half a file: parts that a
later run goes on with, an archive until it is unpacked. It goes when all is there.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from wordmint.corpora.archives import DAMAGE, Readable, find_in_folders, find_members
from wordmint.corpora.public_homes import HOMES, ArchiveMirror, FileMirror, PublicFile, PublicHome
from wordmint.corpora.resume import USUAL_PATIENCE, FetchError, Patience, ResumingDownloader, Unreachable
from wordmint.errors import UserError
from wordmint.progress import fetching_progress

STAGING = ".fetch"
BYTES_PER_READ = 1 << 20
NUM_NAMES_SHOWN = 3


def fetch_corpus(corpus: str, folder: Path) -> None:
    """Bring a corpus into a folder and print the terms it comes under."""
    home = next((home for home in HOMES if home.corpus == corpus), None)
    if home is None:
        names = ", ".join(home.corpus for home in HOMES)
        raise UserError(f"{corpus!r} has no public home that is known; {names} can be fetched")
    unvouched = fetch_files(home, folder)
    print(f"{corpus} is in {folder}\n\nLicence: {home.licence}.\nCite: {home.citation}.")
    for url, sha256 in unvouched.items():
        print(f"\nNo checksum was ever published for {url}; note the sha256 of what came:\n{sha256}")


def fetch_files(home: PublicHome, folder: Path, patience: Patience = USUAL_PATIENCE) -> dict[str, str]:
    """Bring the files that are not there; returns the sha256 of each archive that no published checksum vouches for."""
    wanted = _missing(home.files, folder)
    if not wanted:
        print(f"{home.corpus}: every file was there already", file=sys.stderr)
        return {}
    _require_pooch()
    with _staging(folder) as staging, fetching_progress(home.corpus) as report:
        errand = _Errand(home, folder, staging, patience, report)
        errand.run(wanted)
        missing = _missing(wanted, folder)
        if missing and (missing == wanted or not home.may_lack_files):
            raise _nothing_worked(home, errand.problems)
        shutil.rmtree(staging)  # parts that another mirror made needless
    if missing:
        print(f"wordmint: warning: {home.corpus} came without {_some(missing)}", file=sys.stderr)
    return errand.unvouched


@dataclass(frozen=True)
class _Errand:
    """One run to the mirrors of a corpus, and what is to be said of it."""

    home: PublicHome
    folder: Path
    staging: Path
    patience: Patience
    report: Callable[[str, int, int | None], None]
    problems: list[str] = field(default_factory=list)
    unvouched: dict[str, str] = field(default_factory=dict)

    def run(self, wanted: Sequence[PublicFile]) -> None:
        for mirror in self.home.mirrors:
            missing = _missing(wanted, self.folder)
            if not missing:
                return
            if isinstance(mirror, ArchiveMirror):
                self._take_archive(mirror, missing)
            else:
                self._take_files(mirror, missing)

    def _take_files(self, mirror: FileMirror, wanted: Sequence[PublicFile]) -> None:
        for file in wanted:
            url = mirror.url.format(path=file.path)
            try:
                fetched = self._retrieve(url, file.sha256, self.home.max_file_bytes)
                _put(fetched, self.folder / file.path)
            except FetchError as error:
                self.problems.append(f"{url} ({error})")
                if isinstance(error, Unreachable):
                    return

    def _take_archive(self, mirror: ArchiveMirror, wanted: Sequence[PublicFile]) -> None:
        try:
            archive = self._retrieve(mirror.url, mirror.sha256, self.home.max_archive_bytes)
            if not mirror.sha256 and not all(file.sha256 for file in wanted):
                self.unvouched[mirror.url] = _sha256(archive)
            try:
                self._unpack(archive, {mirror.inside + file.path: file for file in wanted})
            except FetchError:
                archive.unlink()  # but not when interrupted: the next run unpacks what came
                raise
            archive.unlink()
        except FetchError as error:
            self.problems.append(f"{mirror.url} ({error})")

    def _unpack(self, archive: Path, wanted: dict[str, PublicFile]) -> None:
        """Put each wanted member in its place; those not found are an error, but those found stay."""
        self.report(f"unpacking {archive.name}", 0, None)
        left = dict(wanted)
        try:
            if self.home.folders:  # before the wanted ones, which alone tell a later run that something is missing
                for path, content in find_in_folders(archive, self.home.folders):
                    self._keep(content, PublicFile(path))
            for name, content in find_members(archive, wanted):
                file = left.pop(name)
                self._keep(content, file)
        except DAMAGE:
            raise FetchError("no zip or tar, or a damaged one") from None
        if left:
            raise FetchError(f"without {_some(list(left.values()))}")

    def _keep(self, content: Readable, file: PublicFile) -> None:
        half = self.staging / "unpacking"
        try:
            with half.open("wb") as output:
                num_left = self.home.max_file_bytes
                while chunk := content.read(BYTES_PER_READ):
                    num_left -= len(chunk)
                    if num_left < 0:
                        raise FetchError(f"{file.path} in it has more bytes than is sensible")
                    output.write(chunk)
            if file.sha256 not in (None, _sha256(half)):
                raise FetchError(f"{file.path} in it has a wrong checksum")
            _put(half, self.folder / file.path)
        finally:
            half.unlink(missing_ok=True)

    def _retrieve(self, url: str, sha256: str | None, max_bytes: int) -> Path:
        import pooch

        name = url.rsplit("/", maxsplit=1)[-1]
        part = self.staging / f"{name}.part"
        # Any: pooch's type for a downloader names the arguments in another way than its documentation
        downloader: Any = ResumingDownloader(part, max_bytes, self.patience, self.report)
        retrieve = partial(pooch.retrieve, url, sha256, name, self.staging, downloader=downloader)
        if part.exists():
            with suppress(ValueError):  # pooch's word for a wrong checksum: the part was of another file
                return Path(retrieve())
        try:
            return Path(retrieve())
        except ValueError:
            raise FetchError("a wrong checksum") from None


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """A folder for what is under way; what goes wrong with the disk becomes a sentence."""
    staging = folder / STAGING
    is_new = not folder.exists()
    try:
        staging.mkdir(parents=True, exist_ok=True)
        yield staging
    except OSError as error:
        raise UserError(_disk_problem(folder, error)) from None
    finally:
        with suppress(OSError):  # a folder that holds something stays
            staging.rmdir()
            if is_new:
                folder.rmdir()


def _disk_problem(folder: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"{folder}: the disk is full; free some space and run the same command again, it goes on from here"
    return f"{error.filename or folder}: cannot be written ({error.strerror or error}); name another folder with --out"


def _nothing_worked(home: PublicHome, problems: Sequence[str]) -> UserError:
    return UserError(
        f"{home.corpus} could not be fetched: tried {'; '.join(problems)}; try again later, or get the files by other "
        f"means ({home.page} may help) and say where they are with --data DIR"
    )


def _missing(files: Sequence[PublicFile], folder: Path) -> list[PublicFile]:
    return [file for file in files if not _is_there(folder / file.path, file.sha256)]


def _is_there(path: Path, sha256: str | None) -> bool:
    return path.is_file() and sha256 in (None, _sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _put(half: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    half.replace(target)


def _some(files: Sequence[PublicFile]) -> str:
    names = [file.path for file in files[:NUM_NAMES_SHOWN]]
    more = [f"{len(files) - NUM_NAMES_SHOWN} more"] if len(files) > NUM_NAMES_SHOWN else []
    return " and ".join(names + more)


def _require_pooch() -> None:
    try:
        import pooch
    except ImportError:
        raise UserError("fetching needs pooch: `pip install 'wordmint[download]'`") from None
    pooch.get_logger().setLevel("WARNING")  # the progress says it already
