"""What a fork server and its two sides say to each other: a kind, a length, and bytes.

By plain `read` and `write` alone, for these are what a jail lets through.
"""

from __future__ import annotations

import os
import struct
from enum import IntEnum

HEADER = struct.Struct("!BI")
QUESTION = struct.Struct("!I8s")
"""Before a message to or from a candidate's process: its length, and a mark that an answer has from its question.

Nobody can know the mark of a question that was not yet asked: there is no answering in advance.
"""
NO_QUESTION = bytes(8)
"""The mark of what a process says of itself as it starts."""
MAX_MESSAGE = 1 << 20
"""Bytes of the longest message to or from a candidate's process."""

_CHUNK = 1 << 16


class FrameKind(IntEnum):
    """Each frame to the server is answered by one from it."""

    SET_UP = 0
    OPEN = 1
    MESSAGE = 2
    END = 3
    READY = 4
    ENDED = 5
    ERROR = 6


class Hangup(Exception):
    """The other side has closed its end."""


class _Stream:
    """Reads ahead, and writes at once: a message is mostly one call."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._ahead = bytearray()

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes. Raises Hangup where the other side has closed its end before."""
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
        """Raises Hangup where nobody reads any more."""
        try:
            written = os.write(self.descriptor, data)
            left = memoryview(data)[written:]
            while left:
                left = left[os.write(self.descriptor, left) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Hangup from error


class Frames(_Stream):
    """One of the two ends between a handle and its server; each trusts the other."""

    def receive(self) -> tuple[FrameKind, bytes]:
        """The next frame. Raises Hangup."""
        kind, length = HEADER.unpack(self.read(HEADER.size))
        return FrameKind(kind), self.read(length)

    def send(self, kind: FrameKind, body: bytes = b"") -> None:
        """Raises Hangup."""
        self.write(HEADER.pack(kind, len(body)) + body)


class MessageChannel(_Stream):
    """A candidate's end: it is asked, and answers each message by one."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._mark = NO_QUESTION

    def receive(self) -> bytes | None:
        """The next message; None where nobody asks any more."""
        try:
            length, self._mark = QUESTION.unpack(self.read(QUESTION.size))
            return self.read(length)
        except Hangup:
            return None

    def send(self, message: bytes) -> None:
        """Raises Hangup where nobody reads any more."""
        self.write(QUESTION.pack(len(message), self._mark) + message)
