"""The transport of the MCP server: messages on standard input and output, each malformed one answered by its error.

The library's own transport drops what it cannot read, so that a client waits for a reply for good.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any, cast

from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

MAX_MESSAGE = 16 << 20
"""Bytes of a message; a reply of a model has a thousandth."""


async def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve one client on standard input and output until it disconnects.

    Standard input is the null device meanwhile, so that no child reads messages.
    """
    descriptor, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        messages = _Messages(descriptor)
        async with stdio_server(stdin=cast(Any, messages)) as (read, write):
            messages.replies = write
            inner = server._lowlevel_server
            await inner.run(read, write, inner.create_initialization_options())
    finally:
        os.dup2(descriptor, 0)


class _Messages:
    """The well-formed messages from a descriptor, a line each; the others are answered."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.replies: Any = None

    async def __aiter__(self) -> AsyncIterator[str]:
        lines: asyncio.Queue[bytes] = asyncio.Queue(1)
        loop = asyncio.get_running_loop()

        def read() -> None:
            for line in _lines(self._descriptor):
                waiting = lines.put(line)
                try:
                    asyncio.run_coroutine_threadsafe(waiting, loop).result()
                except (CancelledError, RuntimeError):  # the loop has ended: the server is interrupted
                    waiting.close()
                    return

        # a thread that nobody waits for: it may be reading when the server is interrupted
        threading.Thread(target=read, name="standard input", daemon=True).start()
        while line := await lines.get():
            if (error := refusal(line)) is not None:
                await self.replies.send(SessionMessage(error))
            elif line.strip():
                yield line.decode("utf-8")


def _lines(descriptor: int) -> Iterator[bytes]:
    """Yield the lines from a descriptor, of one that is too long a byte more than may be; an empty one at the end."""
    line = bytearray()
    while block := os.read(descriptor, 1 << 16):
        *ended, rest = block.split(b"\n")
        for part in ended:
            line += part
            yield bytes(line[: MAX_MESSAGE + 1]) + b"\n"
            line.clear()
        line += rest
        del line[MAX_MESSAGE + 1 :]
    if line:
        yield bytes(line)
    yield b""


def refusal(line: bytes) -> JSONRPCError | None:
    """Return the error that answers a malformed message; None for a well-formed or an empty one."""
    if len(line.rstrip(b"\n")) > MAX_MESSAGE:
        return _error(None, INVALID_REQUEST, f"a message has at most {MAX_MESSAGE:,} bytes")
    if not line.strip():
        return None
    try:
        plain = json.loads(line)
        json.dumps(plain, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return _error(plain, PARSE_ERROR, "a text has half a surrogate pair, which is no character")
    except (ValueError, RecursionError) as error:
        return _error(None, PARSE_ERROR, f"the message is no JSON: {str(error)[:200]}")
    if isinstance(plain, list):
        return _error(None, INVALID_REQUEST, "a batch, which the protocol no longer has: send its messages one by one")
    if not isinstance(plain, dict):
        return _error(None, INVALID_REQUEST, "the message is no object")
    if "method" in plain and "id" in plain and _identity(plain) is None:
        return _error(None, INVALID_REQUEST, "an id is a text or a whole number")
    if "method" in plain and not isinstance(plain.get("params", {}), dict):
        return _error(plain, INVALID_PARAMS, "params must be an object")
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return _error(plain, PARSE_ERROR, "the message is no JSON that can be read")
        return _error(plain, INVALID_REQUEST, 'the message needs "jsonrpc": "2.0", a method, and an id where it asks')
    return None


def _error(message: object, code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=_identity(message), error=ErrorData(code=code, message=text))


def _identity(message: object) -> int | str | None:
    """Return the id of a message; None where it has none that an answer can carry."""
    found = message.get("id") if isinstance(message, Mapping) else None
    if isinstance(found, str):
        return found if found.isprintable() else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
