"""Fetching ends with the right file in place or with one clear line, whatever the server and the disk do."""

from __future__ import annotations

import hashlib
import json
import re
import resource
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from vulcan.errors import UserError
from vulcan_traces.catalogue import TraceFile, fetch
from vulcan_traces.command import app

CONTENT = bytes((i * i + i // 251) % 256 for i in range(300_000))
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


@dataclass
class FileServer:
    """Serves `content` at /file.bin, and keeps the targets that were asked for in `seen`.

    `cuts`: after how many bytes of the body to break the connection, one after another, then no more. `failures`:
    statuses to answer with first. `redirects`: what other paths lead to. `sends_length`: whether the answer says how
    long it is.
    """

    content: bytes = CONTENT
    cuts: list[int] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    encoding: str | None = None
    sends_length: bool = True
    seen: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.base}/file.bin"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.seen.append(handler.path)
        path = re.sub(r"^http://[^/]*", "", handler.path)  # as a proxy is asked
        if path in self.redirects:
            handler.send_response(302)
            handler.send_header("Location", self.redirects[path])
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        elif self.failures or path != "/file.bin":
            handler.send_response(self.failures.pop(0) if self.failures else 404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
        else:
            self._send(handler)

    def _send(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if self.encoding is not None:
            handler.send_header("Content-Encoding", self.encoding)
        if self.sends_length:
            handler.send_header("Content-Length", str(len(self.content)))
        else:
            handler.send_header("Connection", "close")
            handler.close_connection = True
        handler.end_headers()
        if self.cuts:
            handler.wfile.write(self.content[: self.cuts.pop(0)])
            handler.wfile.flush()
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.wfile.write(self.content)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with FileServer() as running:
        yield running


def wanted(server: FileServer) -> TraceFile:
    return TraceFile("mine/one", "be-u32", server.url, bytes=len(CONTENT), checksum=SHA256)


def get(file: TraceFile, folder: Path) -> Path:
    return fetch(file, folder, pause=0.001).path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "mine").iterdir())


def test_a_file_is_fetched_and_verified(server: FileServer, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    found = fetch(wanted(server), tmp_path, progress=lambda done, total: told.append((done, total)))
    assert found.path == tmp_path / "mine" / "file.bin"
    assert found.path.read_bytes() == CONTENT
    assert (found.verified, found.was_there) == (True, False)
    assert names(tmp_path) == ["file.bin"]
    assert told[-1] == (len(CONTENT), len(CONTENT))


def test_what_is_there_is_verified_and_not_fetched_again(server: FileServer, tmp_path: Path) -> None:
    fetch(wanted(server), tmp_path)
    assert fetch(wanted(server), tmp_path).was_there
    assert len(server.seen) == 1
    path = tmp_path / "mine" / "file.bin"
    path.write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(UserError, match="exists and is not mine/one: sha256:"):
        fetch(wanted(server), tmp_path)
    path.write_bytes(b"short")
    with pytest.raises(UserError, match="5 bytes, expected 300,000 bytes"):
        fetch(wanted(server), tmp_path)
    assert path.read_bytes() == b"short"


def test_a_download_that_breaks_off_is_begun_anew_a_few_times(server: FileServer, tmp_path: Path) -> None:
    server.cuts = [100_000, 0, 1, 99_999]
    assert get(wanted(server), tmp_path).read_bytes() == CONTENT
    assert names(tmp_path) == ["file.bin"]


@pytest.mark.parametrize(
    ("behaviour", "catalogued", "told", "asked"),
    [
        pytest.param({"cuts": [10] * 5}, {}, "cannot be fetched: peer closed connection", 5, id="breaks off"),
        pytest.param(
            {"content": CONTENT[:-1] + b"?"},
            {},
            f"does not match the catalogue: .*, expected {SHA256}",
            1,
            id="changed",
        ),
        pytest.param(
            {}, {"bytes": 299_999}, "has 300,000 bytes and the catalogue says 299,999: it has changed", 1, id="longer"
        ),
        pytest.param(  # a cut looks like the end: the catalogue's length tells
            {"sends_length": False, "cuts": [1000]}, {}, "1,000 bytes, expected 300,000 bytes", 1, id="no length"
        ),
        *(
            pytest.param({"failures": [status] * 9}, {}, f"the server answers {status}", 1, id=str(status))
            for status in (403, 404, 410)
        ),
        pytest.param({"failures": [503] * 9}, {}, "the server answers 503 Service Unavailable$", 5, id="503"),
        pytest.param({}, {"url": "http://127.0.0.1:1/file.bin"}, "cannot be fetched: .*(refused|failed)", 0, id="none"),
        pytest.param({"encoding": "gzip"}, {}, "content encoding that was not requested", 1, id="encoded"),
    ],
)
def test_what_goes_wrong_is_told_in_a_line_and_nothing_is_kept(
    server: FileServer, tmp_path: Path, behaviour: dict[str, Any], catalogued: dict[str, Any], told: str, asked: int
) -> None:
    vars(server).update(behaviour)
    with pytest.raises(UserError, match=told):
        get(replace(wanted(server), **catalogued), tmp_path)
    assert len(server.seen) == asked
    assert names(tmp_path) == []


def test_redirects_are_followed(server: FileServer, tmp_path: Path) -> None:
    server.redirects = {"/old": "/older", "/older": "/file.bin"}
    file = replace(wanted(server), url=f"{server.base}/old")
    assert get(file, tmp_path).read_bytes() == CONTENT
    assert server.seen == ["/old", "/older", "/file.bin"]


def test_trouble_of_the_server_is_waited_for(server: FileServer, tmp_path: Path) -> None:
    server.failures = [503, 429, 500]
    assert get(wanted(server), tmp_path).read_bytes() == CONTENT


def test_proxies_of_the_environment_are_used(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.base)
    file = replace(wanted(server), url="http://traces.invalid/file.bin")
    assert get(file, tmp_path).read_bytes() == CONTENT
    assert server.seen[0] == "http://traces.invalid/file.bin"


def catalogue(server: FileServer, folder: Path) -> Path:
    path = folder / "mine.toml"
    path.write_text(
        f"""
[[set]]
name = "mine"
title = "of my own"
kind = "block"
source = "{server.base}/"
licence = "unknown"

[[set.file]]
name = "mine/one"
url = "{server.url}"
format = "be-u32"
checksum = "{SHA256}"
"""
    )
    return path


def test_a_full_disk_is_one_line(server: FileServer, tmp_path: Path) -> None:
    """A limit on the length of files stands for the full disk: the same write fails in the same way."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"mine/one: .*mine cannot be written: File too large$"):
            get(wanted(server), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == []


def test_a_disk_that_is_too_small_is_told_before_anything_is_fetched(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small:
        free = 299_999

    monkeypatch.setattr("shutil.disk_usage", lambda path: Small)
    with pytest.raises(UserError, match=r"no room for it in .*mine: it has 300,000 bytes, 299,999 are free"):
        get(wanted(server), tmp_path)


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_prints_the_place_alone(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vulcan_traces.catalogue.catalogue.CATALOGUE", catalogue(server, tmp_path))
    where = ("-o", str(tmp_path))
    assert invoke("fetch", "mine/one", *where) == f"{tmp_path / 'mine' / 'file.bin'}\n"
    document = json.loads(invoke("fetch", "mine/one", *where, "--json"))
    assert document["was_there"]
    assert document["verified"]
    assert document["bytes"] == len(CONTENT)
    with pytest.raises(UserError, match="no trace 'mine/two' in the catalogue; did you mean 'mine/one'"):
        invoke("fetch", "mine/two", *where)


def test_the_list_names_every_set_and_trace() -> None:
    text, document = invoke("list"), json.loads(invoke("list", "--json"))
    assert len(document["sets"]) >= 20
    for each in document["sets"]:
        assert each["licence"] in text
        assert each["source"] in text
        assert all(file["name"] in text for file in each["files"])
