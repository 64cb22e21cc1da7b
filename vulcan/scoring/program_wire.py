"""Wire format of the fork server, towards its client and its children: a kind or mark, a length, and bytes.

Uses plain `read` and `write` alone, which the sandbox allows.
"""

from __future__ import annotations

import os
import struct
from enum import IntEnum

HEADER = struct.Struct("!BI")
QUESTION = struct.Struct("!I8s")
"""Header of a message to or from a candidate's process: its length, and a mark that the reply must repeat.

The mark is random, so that a candidate cannot reply to a request before it was made.
"""
NO_QUESTION = bytes(8)
"""The mark of the unsolicited report that a process sends as it starts."""
MAX_MESSAGE = 1 << 20
"""Maximum size in bytes of a message to or from a candidate's process."""

_CHUNK = 1 << 16


class FrameKind(IntEnum):
    """Kind of a frame; the server replies to each frame with one."""

    SET_UP = 0
    OPEN = 1
    MESSAGE = 2
    END = 3
    READY = 4
    ENDED = 5
    ERROR = 6


class Hangup(Exception):
    """The closing of the other end by the peer."""


class Stream:
    """A descriptor with buffered reads and unbuffered writes: most messages take one system call."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._ahead = bytearray()

    def read(self, count: int) -> bytes:
        """Read exactly `count` bytes. Raises Hangup if the peer closes its end first."""
        while len(self._ahead) < count:
            try:
                chunk = os.read(self.descriptor, max(_CHUNK, count - len(self._ahead)))
            except ConnectionResetError as error:
                raise Hangup from error
            if not chunk:
                raise Hangup
            self._ahead += chunk
        data = bytes(self._ahead[:count])
        del self._ahead[:count]
        return data

    def write(self, data: bytes) -> None:
        """Write all of `data`. Raises Hangup if the peer has closed its end."""
        try:
            written = os.write(self.descriptor, data)
            left = memoryview(data)[written:]
            while left:
                left = left[os.write(self.descriptor, left) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Hangup from error


class Frames(Stream):
    """Either end of the connection between a client and its server, which trust each other."""

    def receive(self) -> tuple[FrameKind, bytes]:
        """Return the next frame. Raises Hangup."""
        kind, length = HEADER.unpack(self.read(HEADER.size))
        return FrameKind(kind), self.read(length)

    def send(self, kind: FrameKind, body: bytes = b"") -> None:
        """Send a frame. Raises Hangup."""
        self.write(HEADER.pack(kind, len(body)) + body)


class MessageChannel(Stream):
    """A candidate's end of its socket, which replies to each message with exactly one."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._mark = NO_QUESTION

    def receive(self) -> bytes | None:
        """Return the next message; None once the peer has closed its end."""
        try:
            length, self._mark = QUESTION.unpack(self.read(QUESTION.size))
            return self.read(length)
        except Hangup:
            return None

    def send(self, message: bytes) -> None:
        """Send the reply to the last message received. Raises Hangup if the peer has closed its end."""
        self.write(QUESTION.pack(len(message), self._mark) + message)
