"""A real HTTP server on loopback that speaks the chat-completions API and misbehaves on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request as it arrived; `number` counts from 0, header names are in lower case."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass
class Exchange:
    """An exchange with a client: the request and the open connection."""

    request: Received
    closing: threading.Event
    handler: BaseHTTPRequestHandler = field(repr=False)

    def head(self, status: int, length: int, kind: str = "application/json", **headers: str) -> None:
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", kind)
        self.handler.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.flush()

    def send(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.handler.wfile.flush()

    def hang_up(self) -> None:
        self.handler.close_connection = True


Behaviour = Callable[[Exchange], None]

MAX_STALL = 15.0
"""Seconds after which a stalling server hangs up, so that a client without a limit fails its test."""


def completion(
    text: str | None,
    *,
    finish: str = "stop",
    usage: tuple[int, int] | None = (100, 20),
    model: str = "served-model",
) -> bytes:
    """Return the body of a successful answer; `usage` is tokens in and out."""
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return json.dumps(body).encode()


def answer(text: str | None, **how: Any) -> Behaviour:
    """Return a successful answer, as `completion` takes it."""
    return raw(completion(text, **how))


def raw(body: bytes, *, status: int = 200, kind: str = "application/json", **headers: str) -> Behaviour:
    """Any body at all; `Retry_After="7"` sends a header."""

    def behave(exchange: Exchange) -> None:
        exchange.head(status, len(body), kind, **headers)
        exchange.send(body)

    return behave


def message(*, finish: str = "stop", **fields: Any) -> Behaviour:
    """Return an answer whose message has these fields, such as `reasoning_content`."""
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return raw(
        json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}).encode()
    )


def stream(*pieces: str, cut: bool = False) -> Behaviour:
    """Return an answer in server-sent events, a piece of the text in each; with `cut` it breaks off."""
    deltas: list[Any] = [{"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces]
    deltas += [] if cut else [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    chunks = [{"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [delta]} for delta in deltas]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    chunks += [] if cut else [{"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": usage}]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ([] if cut else ["data: [DONE]\n\n"])
    return raw("".join(lines).encode(), kind="text/event-stream")


def fail(status: int, message: str, *, code: str | None = None, **headers: str) -> Behaviour:
    """Return an error in the API's own form."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    return raw(json.dumps({"error": error}).encode(), status=status, **headers)


def stall(exchange: Exchange) -> None:
    """Takes the request and never answers."""
    exchange.closing.wait(MAX_STALL)
    exchange.hang_up()


def stall_after_headers(exchange: Exchange) -> None:
    """Announces an answer and never sends it."""
    exchange.head(200, 1000)
    exchange.closing.wait(MAX_STALL)
    exchange.hang_up()


def drip(exchange: Exchange) -> None:
    """Sends a byte every now and then without end, which keeps an idle time-out from ever firing."""
    exchange.head(200, 1_000_000)
    for _ in range(round(MAX_STALL / 0.05)):
        if exchange.closing.wait(0.05):
            break
        exchange.send(b" ")
    exchange.hang_up()


def cut_off(exchange: Exchange) -> None:
    """Closes the connection in the middle of the body."""
    body = completion("half of this is lost")
    exchange.head(200, len(body))
    exchange.send(body[: len(body) // 2])
    exchange.hang_up()


def hang_up(exchange: Exchange) -> None:
    """Closes the connection without a word."""
    exchange.hang_up()


class ChatServer:
    """Answers each chat completion with the next behaviour of the script; the last one repeats.

    A script may also be a function from the request to a behaviour. `requests` holds what arrived, in order.
    `/v1/models` lists `models`, where they are given.
    """

    def __init__(
        self, script: Sequence[Behaviour] | Callable[[Received], Behaviour], models: Sequence[str] | None = None
    ) -> None:
        self.models = models
        self._script = script
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.requests: list[Received] = []
        self._server = _Listener(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Base address of the API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[Received, Behaviour]:
        with self._lock:
            request = Received(len(self.requests), path, headers, body)
            self.requests.append(request)
        if callable(self._script):
            return request, self._script(request)
        return request, self._script[min(request.number, len(self._script) - 1)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each body waits 40 ms for the head's acknowledgement

            def handle(self) -> None:
                with suppress(ConnectionError):  # a client that was killed
                    super().handle()

            def do_GET(self) -> None:
                if server.models is None:
                    self.send_error(404)
                    return
                served = {"object": "list", "data": [{"id": name, "object": "model"} for name in server.models]}
                body = json.dumps(served).encode()
                exchange = Exchange(Received(-1, self.path, {}, {}), server._closing, self)
                exchange.head(200, len(body))
                exchange.send(body)

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                sent = self.rfile.read(length)
                if len(sent) < length:  # it was killed while it asked
                    self.close_connection = True
                    return
                body = json.loads(sent)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request, behave = server._next(self.path, headers, body)
                try:
                    behave(Exchange(request, server._closing, self))
                except ConnectionError:
                    self.close_connection = True  # the client went away, as it should from some behaviours

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
