"""A model server on loopback that answers with the recorded replies of a language model, each after a while."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class RecordedServer:
    """Speaks the chat-completions API. `most_open` is how many calls were open at the same time."""

    def __init__(self, replies: Sequence[str], seconds: float) -> None:
        self._replies = itertools.cycle(replies)
        self._seconds = seconds
        self._lock = threading.Lock()
        self._open = self.most_open = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                body = server._answer()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Listener(ThreadingHTTPServer):
            request_queue_size = 128  # calls come at once

        self._server = Listener(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _answer(self) -> bytes:
        with self._lock:
            self._open += 1
            self.most_open = max(self.most_open, self._open)
            text = next(self._replies)
        time.sleep(self._seconds)
        with self._lock:
            self._open -= 1
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3000, "completion_tokens": 300, "total_tokens": 3300}
        reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "recorded", "choices": [choice]}
        return json.dumps({**reply, "usage": usage}).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
