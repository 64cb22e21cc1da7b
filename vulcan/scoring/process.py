"""One life of a child, as its parent sees it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

from vulcan.errors import UserError
from vulcan.scoring.deaths import kernel_kills
from vulcan.scoring.descendants import kill_descendants
from vulcan.scoring.environment import child_environment
from vulcan.scoring.layers import ALL, Layer, Layers
from vulcan.scoring.messages import HEADER, LARGEST_REPLY, MalformedMessage, decode, encode

_CHUNK = 1 << 16
_ERRORS_KEPT = 4096


class ChildDied(Exception):
    """The child is dead, or has closed its end, which comes to the same."""


class ChildTimeout(Exception):
    """The child has not answered in time."""


class ChildProcess:
    """A started child: a process group of its own, a socket to talk through, and the end of what it prints.

    One thread talks to it, any may call `interrupt`. On Linux it dies with the *thread* that starts it.
    """

    def __init__(self, directory: str, layers: Layers = ALL) -> None:
        """Raises UserError where `directory`, the child's working directory, does not exist."""
        self._lock = threading.Lock()
        self._received = bytearray()
        self._errors = b""
        self._kills_before = kernel_kills()
        self._socket, childs_end = socket.socketpair()
        try:
            self._process = _start(childs_end, directory, layers)
        except OSError as error:
            self._socket.close()
            raise UserError(f"cannot start a scoring process in {directory}: {error.strerror}") from error
        finally:
            childs_end.close()
        self._errors_pipe: IO[bytes] = self._process.stderr  # type: ignore[assignment]  # it is PIPE
        os.set_blocking(self._errors_pipe.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._selector.register(self._errors_pipe, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def errors(self) -> str:
        """The end of what the child has written to its standard error."""
        return self._errors.decode(errors="replace")

    @property
    def host_ran_out_of_memory(self) -> bool:
        """Whether the kernel has killed a process for want of memory since this child was started."""
        return kernel_kills() > self._kills_before

    def send(self, message: Mapping[str, Any], deadline: float) -> None:
        """Send a message before `deadline` (of `time.monotonic`). Raises ChildDied and ChildTimeout."""
        self._socket.settimeout(max(deadline - time.monotonic(), 1e-3))
        try:
            self._socket.sendall(encode(message))
        except TimeoutError as error:
            raise ChildTimeout from error
        except OSError as error:
            raise ChildDied from error

    def receive(self, deadline: float) -> dict[str, Any]:
        """The child's next message. Raises ChildDied, ChildTimeout and MalformedMessage."""
        while (body := self._next_body()) is None:
            if self._socket in self._wait(deadline - time.monotonic()):
                self._received += self._read_socket()
        return decode(body)

    def is_idle(self) -> bool:
        """Whether the child is alive and has said nothing that it was not asked for."""
        return not self._received and self._socket not in self._ready(0)

    def interrupt(self) -> None:
        """Kill the child, all its group, and whatever of its descendants has left that. Its keeper sees ChildDied."""
        with self._lock:
            if self._process.returncode is None:
                kill_descendants(self._process.pid)
                # not reaped yet, so the number still is this group's; macOS denies the killing of zombies
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the group, reap the child, close what led to it. Returns its return code, as of Popen."""
        self.interrupt()
        with self._lock:
            return_code = self._process.wait()
        with suppress(BlockingIOError):
            self._read_errors()
        self._selector.close()
        self._socket.close()
        self._errors_pipe.close()
        return return_code

    def _next_body(self) -> bytes | None:
        if len(self._received) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._received)
        if length > LARGEST_REPLY:
            raise MalformedMessage("longer than any reply may be")
        end = HEADER.size + length
        if len(self._received) < end:
            return None
        body = bytes(self._received[HEADER.size : end])
        del self._received[:end]
        return body

    def _wait(self, seconds: float) -> list[object]:
        if seconds <= 0:
            raise ChildTimeout
        ready = self._ready(seconds)
        if self._errors_pipe in ready and not self._read_errors():
            self._selector.unregister(self._errors_pipe)
        return ready

    def _ready(self, seconds: float) -> list[object]:
        return [key.fileobj for key, _ in self._selector.select(seconds)]

    def _read_socket(self) -> bytes:
        try:
            chunk = self._socket.recv(_CHUNK)
        except ConnectionResetError as error:
            raise ChildDied from error
        if not chunk:
            raise ChildDied
        return chunk

    def _read_errors(self) -> bool:
        """Whether there was something to read: there is not once the child has closed its end."""
        chunk = os.read(self._errors_pipe.fileno(), _CHUNK)
        self._errors = (self._errors + chunk)[-_ERRORS_KEPT:]
        return bool(chunk)


def _start(childs_end: socket.socket, directory: str, layers: Layers) -> subprocess.Popen[bytes]:
    descriptor = childs_end.fileno()
    environment = child_environment()
    childs_end.set_inheritable(True)
    if Layer.ENVIRONMENT not in layers:
        environment = {**os.environ, **environment}
    return subprocess.Popen(
        # -P: a file in the working directory must not stand in for a module
        [sys.executable, "-P", "-m", "vulcan.scoring.child", str(descriptor)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=directory,
        start_new_session=Layer.SESSION in layers,
        close_fds=Layer.DESCRIPTORS in layers,
        pass_fds=(descriptor,) if Layer.DESCRIPTORS in layers else (),
    )
