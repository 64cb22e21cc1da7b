"""An HTTP server with one file, which can be told to misbehave."""

from __future__ import annotations

import re
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CONTENT = bytes((i * i + i // 251) % 256 for i in range(300_000))


@dataclass
class Seen:
    """A request that came: its target, and its Range."""

    target: str
    range: str | None


@dataclass
class FileServer:
    """Serves `content` at /file.bin with ranges.

    `cuts`: after how many bytes of the body to break the connection, one after another, then no more. `failures`:
    statuses to answer with first. `redirects`: what other paths lead to. `no_ranges`: always the whole file.
    `sends_length`: whether the answer says how long it is.
    """

    content: bytes = CONTENT
    cuts: list[int] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    no_ranges: bool = False
    wrong_start: bool = False
    encoding: str | None = None
    sends_length: bool = True
    seen: list[Seen] = field(default_factory=list)

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
        headers = handler.headers
        self.seen.append(Seen(handler.path, headers.get("Range")))
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
        content, total = self.content, len(self.content)
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        start = 0
        if asked and not self.no_ranges:
            start = int(asked[1])
            if start >= total:
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{total}")
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            handler.send_response(206)
            shown = start - 1 if self.wrong_start else start
            handler.send_header("Content-Range", f"bytes {shown}-{total - 1}/{total}")
        else:
            handler.send_response(200)
        if self.encoding is not None:
            handler.send_header("Content-Encoding", self.encoding)
        if self.sends_length:
            handler.send_header("Content-Length", str(total - start))
        else:
            handler.send_header("Connection", "close")
            handler.close_connection = True
        handler.end_headers()
        body = content[start:]
        if self.cuts:
            handler.wfile.write(body[: self.cuts.pop(0)])
            handler.wfile.flush()
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.wfile.write(body)
