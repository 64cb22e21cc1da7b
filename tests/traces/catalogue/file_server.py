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
