"""Fetching corpora, against a real server on this machine that misbehaves as real ones do."""

from __future__ import annotations

import hashlib
import io
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from wordmint.corpora.download import STAGING, fetch_corpus, fetch_files
from wordmint.corpora.mwc import Release, mwc
from wordmint.corpora.public_homes import HOMES, MWC, PTB, ArchiveMirror, FileMirror, PublicFile, PublicHome
from wordmint.corpora.resume import BYTES_PER_CHUNK, Patience
from wordmint.errors import UserError
from wordmint.text.documents import Encoding

IMPATIENT = Patience(tries=3, pause_seconds=0.0)
TEXT = b"".join(b"line %d of a text that is long enough to be cut\n" % number for number in range(10_000))
CUT = 3 * BYTES_PER_CHUNK
assert len(TEXT) > 2 * CUT


@dataclass
class Site:
    """What the server has, how it misbehaves on each path, and what it was asked and sent."""

    address: str = ""
    pages: dict[str, bytes] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    cut_once: set[str] = field(default_factory=set)  # says how long the answer is, sends the first CUT bytes of it
    hang_once: set[str] = field(default_factory=set)  # sends the first CUT bytes, then nothing until `let_go`
    no_ranges: set[str] = field(default_factory=set)
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range
    sent: list[int] = field(default_factory=list)  # bytes of the answer to each
    let_go: threading.Event = field(default_factory=threading.Event)

    def home(self, *mirrors: FileMirror | ArchiveMirror, **text: bytes) -> PublicHome:
        """A corpus of one file for each text; `a_txt=b"…"` is a.txt."""
        files = [PublicFile(name.replace("_", "."), sha256(content)) for name, content in text.items()]
        return PublicHome(
            "little", tuple(files), mirrors, 1 << 20, 1 << 20, "http://page.example", "anything goes", "Nobody 1999"
        )

    def mirror(self, name: str = "one") -> FileMirror:
        return FileMirror(f"{self.address}/{name}/{{path}}")


class Handler(BaseHTTPRequestHandler):
    """Answers GET as the site says."""

    site: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        site, asked_range = self.site, self.headers["Range"]
        site.asked.append((self.path, asked_range))
        site.sent.append(0)
        status, page = site.statuses.get(self.path), site.pages.get(self.path)
        if status or page is None:
            self.send_error(status or 404)
            return
        start = int(asked_range[len("bytes=") : -1]) if asked_range and self.path not in site.no_ranges else 0
        if start >= len(page):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(page)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(page) - 1}/{len(page)}")
        self.send_header("Content-Length", str(len(page) - start))
        self.end_headers()
        self._send_body(page[start:])

    def _send_body(self, body: bytes) -> None:
        site = self.site
        is_hanging, is_cut = self.path in site.hang_once, self.path in site.cut_once
        if is_hanging or is_cut:
            body = body[:CUT]
            self.close_connection = True
        site.hang_once.discard(self.path)
        site.cut_once.discard(self.path)
        site.sent[-1] = len(body)
        self.wfile.write(body)
        self.wfile.flush()
        if is_hanging:
            assert site.let_go.wait(timeout=60)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are silent."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    site = Site()
    handler = type("HandlerOfThisSite", (Handler,), {"site": site})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        site.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        site.let_go.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "little"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # pyright: ignore[reportCallIssue, reportArgumentType]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def everything_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_come_and_are_not_fetched_again(site: Site, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.pages |= {"/one/a.txt": TEXT, "/one/b.txt": b"short"}
    home = site.home(site.mirror(), a_txt=TEXT, b_txt=b"short")
    assert fetch_files(home, folder, IMPATIENT) == {}
    assert everything_in(folder) == {"a.txt": TEXT, "b.txt": b"short"}
    assert not (folder / STAGING).exists()
    assert "fetching little: a.txt, 0.1 of 0.5 MB" in capsys.readouterr().err

    (folder / "b.txt").write_bytes(b"damaged")
    fetch_files(home, folder, IMPATIENT)
    assert site.asked == [("/one/a.txt", None), ("/one/b.txt", None), ("/one/b.txt", None)]
    assert (folder / "b.txt").read_bytes() == b"short"

    site.asked.clear()
    fetch_files(home, folder, IMPATIENT)
    assert site.asked == []


def test_a_cut_answer_is_resumed(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = TEXT
    site.cut_once.add("/one/a.txt")
    fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert site.asked == [("/one/a.txt", None), ("/one/a.txt", f"bytes={CUT}-")]
    assert site.sent == [CUT, len(TEXT) - CUT]


def test_a_server_that_knows_no_ranges_is_asked_for_all(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = TEXT
    site.cut_once.add("/one/a.txt")
    site.no_ranges.add("/one/a.txt")
    fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert site.asked[1] == ("/one/a.txt", f"bytes={CUT}-")
    assert site.sent == [CUT, len(TEXT)]


FETCH_IN_A_PROCESS = """
import sys
from pathlib import Path
from wordmint.corpora.download import fetch_files
from wordmint.corpora.public_homes import FileMirror, PublicFile, PublicHome
address, sha256, folder = sys.argv[1:]
files, mirrors = (PublicFile("a.txt", sha256),), (FileMirror(address + "/one/{path}"),)
fetch_files(PublicHome("little", files, mirrors, 1 << 20, 1 << 20, "page", "licence", "citation"), Path(folder))
"""


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_download_is_resumed_by_the_next_run(site: Site, folder: Path, blow: signal.Signals) -> None:
    site.pages["/one/a.txt"] = TEXT
    site.hang_once.add("/one/a.txt")
    command = [sys.executable, "-c", FETCH_IN_A_PROCESS, site.address, sha256(TEXT), str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "fetching little: asking 127.0.0.1 for a.txt\n"
        assert process.stderr.readline().startswith("fetching little: a.txt, 0.1 ")  # the first bytes are on disk
        process.send_signal(blow)
        assert process.wait(timeout=60) != 0
    [(name, part)] = everything_in(folder).items()
    assert name == f"{STAGING}/a.txt.part"
    assert 0 < len(part) <= CUT and TEXT.startswith(part)

    fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert site.asked[1] == ("/one/a.txt", f"bytes={len(part)}-")
    assert site.sent[1] == len(TEXT) - len(part)


def leave_part(folder: Path, content: bytes) -> None:
    (folder / STAGING).mkdir(parents=True)
    (folder / STAGING / "a.txt.part").write_bytes(content)


def test_a_part_that_is_whole_already_is_taken(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = TEXT
    leave_part(folder, TEXT)
    fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert site.sent == [0]


@pytest.mark.parametrize("part", [b"of another file", TEXT + b"and more"], ids=["shorter", "longer"])
def test_a_part_of_another_file_costs_no_mirror(site: Site, folder: Path, part: bytes) -> None:
    site.pages["/one/a.txt"] = TEXT
    leave_part(folder, part)
    fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert site.asked == [("/one/a.txt", f"bytes={len(part)}-"), ("/one/a.txt", None)]


def test_a_part_that_is_too_long_is_seen_without_a_checksum(site: Site, folder: Path) -> None:
    site.pages["/a.txt"] = zipped({"b.txt": TEXT})
    leave_part(folder, site.pages["/a.txt"] + b"and more")
    fetch_files(site.home(ArchiveMirror(f"{site.address}/a.txt"), b_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"b.txt": TEXT}
    assert [asked_range for _, asked_range in site.asked][1:] == [None]


def test_after_a_wrong_checksum_the_next_mirror_is_asked(site: Site, folder: Path) -> None:
    site.pages |= {"/one/a.txt": b"something else", "/two/a.txt": TEXT}
    fetch_files(site.home(site.mirror(), site.mirror("two"), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert site.asked == [("/one/a.txt", None), ("/two/a.txt", None)]  # what was wrong is not gone on with


def test_mirrors_complete_each_other(site: Site, folder: Path) -> None:
    site.pages |= {"/one/b.txt": b"B", "/two/a.txt": b"A"}
    fetch_files(site.home(site.mirror(), site.mirror("two"), a_txt=b"A", b_txt=b"B"), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": b"A", "b.txt": b"B"}
    assert [path for path, _ in site.asked] == ["/one/a.txt", "/one/b.txt", "/two/a.txt"]


def test_wrong_everywhere_leaves_nothing(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = b"something else"
    site.statuses["/three/a.txt"] = 503
    gone = FileMirror("http://127.0.0.1:1/{path}")
    home = site.home(site.mirror(), site.mirror("two"), site.mirror("three"), gone, a_txt=TEXT)
    with pytest.raises(UserError) as caught:
        fetch_files(home, folder, IMPATIENT)
    assert str(caught.value) == (
        f"little could not be fetched: tried {site.address}/one/a.txt (a wrong checksum); "
        f"{site.address}/two/a.txt (404 Not Found); {site.address}/three/a.txt (503 Service Unavailable); "
        "http://127.0.0.1:1/a.txt (no connection); try again later, or get the files by other means "
        "(http://page.example may help) and say where they are with --data DIR"
    )
    assert not folder.exists()
    tries = [path for path, _ in site.asked]
    assert tries == ["/one/a.txt", "/two/a.txt", *["/three/a.txt"] * 3]  # only what may pass is tried again


def test_an_answer_without_end_is_refused(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = TEXT
    home = replace(site.home(site.mirror(), a_txt=TEXT), max_file_bytes=len(TEXT) - 1)
    with pytest.raises(UserError, match=r"more than the .* bytes that are sensible"):
        fetch_files(home, folder, IMPATIENT)
    assert not folder.exists()
    assert site.asked == [("/one/a.txt", None)]


def test_a_silent_server_is_not_waited_for_long(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = TEXT
    site.hang_once.add("/one/a.txt")
    patience = Patience(tries=50, pause_seconds=0.0, timeout_seconds=0.2)  # tries to spare for a slow machine
    fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, patience)
    assert everything_in(folder) == {"a.txt": TEXT}
    assert len(site.asked) > 1
    assert not site.let_go.is_set()


def test_a_full_disk_is_said_in_a_sentence(site: Site, folder: Path) -> None:
    site.pages["/one/a.txt"] = TEXT
    (folder / STAGING).mkdir(parents=True)
    (folder / STAGING / "a.txt.part").symlink_to("/dev/full")
    with pytest.raises(UserError, match="the disk is full; free some space and run the same command again"):
        fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)


def test_a_file_in_the_way_is_said_in_a_sentence(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file.*cannot be written"):
        fetch_files(site.home(site.mirror(), a_txt=TEXT), tmp_path / "file", IMPATIENT)


ARCHIVES = {"a.zip": zipped, "a.tgz": tarred, "a.tar": lambda members: tarred(members, "w")}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_give_the_named_members_only(site: Site, folder: Path, name: str) -> None:
    evil = {
        "../../evil.txt": b"evil",
        "../little/a.txt": b"evil",
        "/tmp/little/a.txt": b"evil",
        "other/a.txt": b"not this one",
        "README": b"not asked for",
    }
    site.pages[f"/{name}"] = ARCHIVES[name]({**evil, "./little/a.txt": TEXT, "little/b.txt": b"B"})
    archive = ArchiveMirror(f"{site.address}/{name}", inside="little/")
    assert fetch_files(site.home(archive, a_txt=TEXT, b_txt=b"B"), folder, IMPATIENT) == {}
    assert everything_in(folder.parent) == {"little/a.txt": TEXT, "little/b.txt": b"B"}


def test_a_link_in_a_tar_is_no_file(site: Site, folder: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        link = tarfile.TarInfo("a.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    site.pages["/a.tgz"] = file.getvalue()
    with pytest.raises(UserError, match=r"a\.tgz \(without a\.txt\)"):
        fetch_files(site.home(ArchiveMirror(f"{site.address}/a.tgz"), a_txt=TEXT), folder, IMPATIENT)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<html>Sorry</html>", "no zip or tar, or a damaged one"),
        (tarred({"a.txt": TEXT})[:-300], "no zip or tar, or a damaged one"),
        (zipped({"a.txt": TEXT}).replace(b"PK\x03\x04", b"PK\x03\x05"), "no zip or tar, or a damaged one"),
        (zipped({"a.txt": b"something else"}), "a.txt in it has a wrong checksum"),
        (zipped({"a.txt": bytes(2 << 20)}), "a.txt in it has more bytes than is sensible"),
    ],
    ids=["a page", "cut", "damaged", "wrong", "bomb"],
)
def test_a_bad_archive_is_no_dead_end(site: Site, folder: Path, content: bytes, problem: str) -> None:
    site.pages |= {"/bad/a.zip": content, "/good/a.zip": zipped({"a.txt": TEXT})}
    bad, good = ArchiveMirror(f"{site.address}/bad/a.zip"), ArchiveMirror(f"{site.address}/good/a.zip")
    with pytest.raises(UserError) as caught:
        fetch_files(site.home(bad, a_txt=TEXT), folder, IMPATIENT)
    assert f"{bad.url} ({problem})" in str(caught.value)
    assert not folder.exists()
    fetch_files(site.home(bad, good, a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}


def test_an_archive_is_checked_as_a_whole(site: Site, folder: Path) -> None:
    site.pages |= {"/a.zip": zipped({"a.txt": TEXT, "new": b""}), "/one/a.txt": TEXT}
    archive = ArchiveMirror(f"{site.address}/a.zip", sha256=sha256(zipped({"a.txt": TEXT})))
    with pytest.raises(UserError, match="a wrong checksum"):
        fetch_files(site.home(archive, a_txt=TEXT), folder, IMPATIENT)
    fetch_files(site.home(archive, site.mirror(), a_txt=TEXT), folder, IMPATIENT)
    assert everything_in(folder) == {"a.txt": TEXT}


@pytest.mark.parametrize("is_nested", [False, True], ids=["zip", "tar in zip"])
def test_mwc_lands_where_its_reader_looks(site: Site, folder: Path, is_nested: bool) -> None:
    members = {f"mwc/{file.path}": f"text of {file.path}\n".encode() for file in MWC.files}
    members["mwc/wiki_en/raw/wiki_en.tr.raw.unk"] = b"another format"
    members |= {"mwc/wiki_en/va/Q42": b"an article\n", "mwc/wiki_en/va/../../../../../evil": b"evil"}
    content = zipped({"Datasets/mwc.tar.gz": tarred(members)} if is_nested else members)
    site.pages["/mwc.zip"] = content
    home = replace(MWC, mirrors=(ArchiveMirror(f"{site.address}/mwc.zip"),))
    assert fetch_files(home, folder, IMPATIENT) == {f"{site.address}/mwc.zip": sha256(content)}
    assert len(MWC.files) == 42
    assert set(everything_in(folder)) == {*(file.path for file in MWC.files), "wiki_en/va/Q42"}
    for release, kind in ((Release.SMALL, "ptb_format"), (Release.LARGE, "ptb_format_large")):
        sources = mwc(folder, Encoding(), release=release)
        assert len(sources) == 7
        [document] = sources[0].splits["valid"]
        assert document.text == f"text of wiki_en/{kind}/wiki_en.va.raw.unk\n"
    (source,) = mwc(folder, Encoding(), ("en",), Release.ARTICLES)
    [article] = source.splits["valid"]
    assert (article.name, article.text) == ("Q42", "an article\n")


def test_mwc_may_come_without_some_files(site: Site, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = {file.path: b"text" for file in MWC.files if "large" not in file.path}
    site.pages["/mwc.zip"] = zipped(members)
    home = replace(MWC, mirrors=(ArchiveMirror(f"{site.address}/mwc.zip"),))
    assert fetch_files(home, folder, IMPATIENT) == {f"{site.address}/mwc.zip": sha256(site.pages["/mwc.zip"])}
    assert everything_in(folder) == members
    assert "mwc came without wiki_en/ptb_format_large/wiki_en.tr.raw.unk and" in capsys.readouterr().err
    site.pages.clear()
    with pytest.raises(UserError, match="404 Not Found"):  # nothing came this time
        fetch_files(home, folder, IMPATIENT)
    assert everything_in(folder) == members


@pytest.mark.needs_data("ptb")
def test_terms_are_printed_and_checksums_are_those_of_the_real_files(
    shared_data: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    for file in PTB.files:
        (folder / file.path).symlink_to(shared_data / file.path)
    fetch_corpus("ptb", folder)  # were a checksum wrong, it would be fetched
    out = capsys.readouterr().out
    assert f"ptb is in {folder}" in out
    assert "Linguistic Data Consortium" in out and "do not redistribute" in out and "Mikolov" in out


def test_without_pooch_the_extra_is_named(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(UserError, match=r"pip install 'wordmint\[download\]'"):
        fetch_files(site.home(site.mirror(), a_txt=TEXT), folder, IMPATIENT)


def test_homes_are_complete() -> None:
    for home in HOMES:
        assert home.licence and home.citation and home.mirrors
        assert len({file.path for file in home.files}) == len(home.files) >= 3
        assert all(file.sha256 is None or len(file.sha256) == 64 for file in home.files)
        assert home.may_lack_files or all(file.sha256 for file in home.files)


def test_the_command_line_fetches_the_whole_of_a_part(tmp_path: Path) -> None:
    for file in MWC.files:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).write_text("here already")
    command = [sys.executable, "-m", "wordmint", "corpus", "fetch", "mwc-en", "--out", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.startswith(f"mwc is in {tmp_path}\n")


def test_the_command_line_knows_the_corpora() -> None:
    command = [sys.executable, "-m", "wordmint", "corpus", "fetch", "nosuch"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr == "wordmint: 'nosuch' has no public home that is known; ptb, wikitext-2, mwc can be fetched\n"
    assert ended.stdout == ""
