"""Models from a Hub: a server on this machine that speaks as much of its protocol as `huggingface_hub` asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.command import assert_user_mistake, wordmint
from tests.test_use import TEXT, made
from wordmint.errors import UserError
from wordmint.model.config import HCLMConfig
from wordmint.model.language_model import LanguageModel

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub(folder: Path, name: str) -> Iterator[str]:
    """Serves a folder as the repository of that name; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, with_body: bool) -> None:
            prefix = f"/{name}/resolve/main/"
            prefix = prefix if self.path.startswith(prefix) else f"/{name}/resolve/{COMMIT}/"
            file = folder / self.path.removeprefix(prefix)
            if not self.path.startswith(prefix) or not file.is_file():
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound" if self.path.startswith(prefix) else "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = file.read_bytes()
            self.send_response(200)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if with_body:
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made(HCLMConfig(units=16, slots=4)).language_model.save_pretrained(tmp_path / "m")
    return tmp_path / "m"


def test_a_model_comes_from_a_hub(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    with hub(folder, "somebody/small") as address:
        environment = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        fetched = wordmint("score", "somebody/small", tmp_path / "t.txt", environment=environment)
        assert_user_mistake(
            wordmint("score", "somebody/else", tmp_path / "t.txt", environment=environment), "somebody/else"
        )
    assert fetched.returncode == 0, fetched.stderr
    assert fetched.stdout == wordmint("score", folder, tmp_path / "t.txt").stdout
    offline = {**environment, "HF_HUB_OFFLINE": "1"}
    assert wordmint("score", "somebody/small", tmp_path / "t.txt", environment=offline).stdout == fetched.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda config: config["architecture"].update(units=100_000_000), "config.json wants"),
        (lambda config: config["architecture"].update(layers=2), "missing"),
        (lambda config: config.update(num_words_seen=10**12), "words_seen"),
        (lambda config: config.update(format=99), "format 99"),
        (lambda config: config["architecture"].update(kind="gru"), "gru"),
        (lambda config: config.update(alphabet=["b", "a"]), "no whole Wordmint model"),
    ],
)
def test_a_config_that_does_not_fit_is_not_believed(change, said: str, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    change(config)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=said):
        LanguageModel.load(folder)
