"""HTTP downloads that go on where they stopped: after a cut in the same run, after a kill in a later one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

BYTES_PER_CHUNK = 1 << 16
TRY_AGAIN = {408, 429, 500, 502, 503, 504}


class FetchError(Exception):
    """Why an address did not give what it was asked for."""


class Unreachable(FetchError):
    """Its server is not there or does not stay; asking it for more files is in vain."""


class _TryAgain(Exception):
    """A mishap that may pass."""


@dataclass(frozen=True)
class Patience:
    """How long, and how often, a server is waited for."""

    tries: int = 4
    pause_seconds: float = 1.0
    timeout_seconds: float = 30.0


USUAL_PATIENCE = Patience()


@dataclass(frozen=True)
class ResumingDownloader:
    """A downloader for pooch: what came so far lies in `part`, and only the rest is asked for."""

    part: Path
    max_bytes: int
    patience: Patience
    report: Callable[[str, int, int | None], None]

    def __call__(self, url: str, output_file: str, _pooch: object = None) -> None:
        Path(output_file).unlink(missing_ok=True)  # pooch's empty placeholder: a kill would leave it behind
        self._download(url)
        self.part.replace(output_file)

    def _download(self, url: str) -> None:
        import requests
        import urllib3

        for tries_left in reversed(range(self.patience.tries)):
            try:
                return self._go_on(url)
            except (requests.RequestException, urllib3.exceptions.HTTPError, _TryAgain) as error:
                if not tries_left:
                    raise Unreachable(_reason(error)) from None
                time.sleep(self.patience.pause_seconds)
        return None

    def _go_on(self, url: str) -> None:
        import requests

        self.report(f"asking {urlsplit(url).hostname} for {self.part.stem}", 0, None)
        num_there = self.part.stat().st_size if self.part.exists() else 0
        # unencoded, or the lengths would be those of a packed answer
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={num_there}-"} if num_there else {})
        with requests.get(url, headers=headers, stream=True, timeout=self.patience.timeout_seconds) as response:
            if response.status_code == 416:
                return self._settle(num_there, _total_of_range(response.headers))
            start = _start(response.status_code, response.reason, response.headers, num_there)
            length = response.headers.get("Content-Length")
            num_bytes = start + int(length) if length else None
            self._check_size(num_bytes or 0)
            chunks = response.raw.stream(BYTES_PER_CHUNK, decode_content=False)
            num_there = self._write(chunks, start, num_bytes)
        if num_bytes is not None and num_there < num_bytes:
            raise _TryAgain(f"cut off after {num_there:,} of {num_bytes:,} bytes")
        return None

    def _settle(self, num_there: int, num_bytes: int | None) -> None:
        """There is nothing after the part: it is whole, or it is of another file and goes."""
        if num_there != num_bytes:
            self.part.unlink()
            raise _TryAgain("it has fewer bytes than came before")

    def _write(self, chunks: Iterator[bytes], start: int, num_bytes: int | None) -> int:
        num_there = start
        with self.part.open("ab" if start else "wb") as file:
            for chunk in chunks:
                file.write(chunk)
                file.flush()  # a kill loses nothing that came
                num_there += len(chunk)
                self._check_size(num_there)
                self.report(self.part.stem, num_there, num_bytes)
        return num_there

    def _check_size(self, num_bytes: int) -> None:
        if num_bytes > self.max_bytes:
            self.part.unlink(missing_ok=True)
            raise FetchError(f"more than the {self.max_bytes:,} bytes that are sensible")


def _start(status: int, phrase: str, headers: Mapping[str, str], num_there: int) -> int:
    """Which byte of the file an answer begins with."""
    if status == 200:
        return 0  # also where a part is there: some servers know no ranges
    if status == 206 and (match := re.match(r"bytes (\d+)-", headers.get("Content-Range", ""))):
        if int(match[1]) == num_there:
            return num_there
        raise FetchError(f"bytes from {match[1]} on instead of {num_there}")
    raise (_TryAgain if status in TRY_AGAIN else FetchError)(f"{status} {phrase}")


def _total_of_range(headers: Mapping[str, str]) -> int | None:
    match = re.match(r"bytes \*/(\d+)$", headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _reason(error: Exception) -> str:
    """In a few words, as the libraries' own messages run over lines."""
    import requests
    import urllib3

    match error:
        case _TryAgain():
            return str(error)
        case requests.Timeout() | urllib3.exceptions.TimeoutError():
            return "no answer in time"
        case requests.exceptions.SSLError():
            return "its certificate is not trusted"
        case requests.exceptions.ProxyError():
            return "the proxy gives no connection"
        case requests.ConnectionError():
            return "no connection"
        case urllib3.exceptions.ProtocolError():
            return "cut off"
    return type(error).__name__
