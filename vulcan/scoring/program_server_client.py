"""Client of the fork server, which runs each free-Python candidate in a locked-down process of its own."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal, NoReturn

from vulcan.closing import Closing
from vulcan.errors import UserError
from vulcan.foreign_code import one_line
from vulcan.scoring.job import Limits
from vulcan.scoring.program_wire import MAX_MESSAGE, FrameKind, Frames, Hangup
from vulcan.scoring.sandbox.environment import spawn
from vulcan.scoring.sandbox.layers import ALL, Layers
from vulcan.scoring.sandbox.lockdown import Defences
from vulcan.scoring.sandbox.processes import kill_descendants

End = Literal["timeout", "memory", "crashed", "ended"]
_LIMITS = Limits()


@dataclass(eq=False)  # not frozen: `contextlib` sets an error's traceback
class ProgramEnded(Exception):
    """The end of a candidate's process.

    `status` is `timeout`, `memory` or `crashed` if the candidate caused it, and `ended` if it was requested;
    `message` gives the reason on one line. `seconds` of processor time were used.
    """

    status: End
    message: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return self.message


class ServerLost(Exception):
    """The loss of the server itself, by no fault of a candidate."""


class ForkServer(Closing):
    """A warm, single-threaded process that forks a locked-down one for each candidate.

    `runner` is `module:function`. The module is imported once, in the server; the function is called in each child with
    a `MessageChannel`, after the child has dropped every privilege: it can open no file, import nothing from disk,
    start no process and communicate only through that channel.

    `start`, `interrupt` and `close` need an ordinary process. Everything else uses only `read` and `write`, and so
    works in a sandboxed evaluator that started the server before it was locked down. Use a server and its children
    from one thread; any thread may call `interrupt`. On Linux a server dies with the *thread* that starts it.
    """

    def __init__(
        self,
        runner: str,
        limits: Limits = _LIMITS,
        *,
        allow_unsandboxed: bool = False,
        layers: Layers = ALL,
    ) -> None:
        """Create a client; nothing is started. `limits` bounds the start, and each child's memory and processor time.

        With `allow_unsandboxed`, a host that cannot sandbox free Python is no error. `layers` is for tests only.
        """
        self.runner = runner
        self.limits = limits
        self.allow_unsandboxed = allow_unsandboxed
        self.layers = layers
        self.directory = os.getcwd()
        self._process: subprocess.Popen[bytes] | None = None
        self._frames = Frames(-1)
        self._defences = Defences()
        self._current: ForkedChild | None = None
        self.used = 0.0  # seconds of processor time, of all children that have ended
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The process id of the server, which is also its group id; None while it is not running."""
        return self._process.pid if self._process else None

    def start(self) -> Defences:
        """Start the server if it is not running, and wait until a first child has shown which defences hold.

        Raises UserError if the runner does not load, or if the host's defences do not suffice for free Python.
        """
        if self._process is not None:
            return self._defences
        self._process, mine = spawn("vulcan.scoring.program_server", self.directory, self.layers, process_group=0)
        self._frames = Frames(mine.detach())
        set_up = {"runner": self.runner, "limits": asdict(self.limits), "layers": self.layers.to_json()}
        watchdog = threading.Timer(self.limits.setup_seconds, self.interrupt)
        watchdog.daemon = True
        watchdog.start()
        try:
            kind, body = self._exchange(FrameKind.SET_UP, json.dumps(set_up).encode())
        except ServerLost:
            self._refuse(self._final_error())
        finally:
            watchdog.cancel()
        if kind is not FrameKind.READY:
            self._refuse(body.decode(errors="replace"))
        self._defences = Defences.from_json(json.loads(body))
        self._require_defences()
        return self._defences

    def open(self, seconds: float, processor: float | None = None, limit: float | None = None) -> ForkedChild:
        """Open a locked-down process for one candidate, to be killed `seconds` of wall clock from now.

        It has `processor` seconds of processor time, rounded up; by default those of a child's limits. `limit` is what
        its end by time names: all the processor time that was granted, of which some may be used already. Starts the
        server if it is not running. Raises ServerLost, ValueError while another child is open, and UserError as `start`
        does.
        """
        if self._current is not None:
            raise ValueError("a fork server has one child at a time: end the one that is open first")
        self.start()
        seconds_left = self.limits.cpu_seconds if processor is None else max(1, math.ceil(processor))
        opening = {"seconds": seconds, "processor": seconds_left, "limit": limit or seconds_left}
        kind, body = self._exchange(FrameKind.OPEN, json.dumps(opening).encode())
        if kind is FrameKind.ERROR:
            raise ServerLost(body.decode(errors="replace"))
        self._current = ForkedChild(self, _ended(body) if kind is FrameKind.ENDED else None)
        return self._current

    def interrupt(self) -> None:
        """Kill the server and all its descendants."""
        with self._lock:
            if self._process is not None and self._process.returncode is None:
                kill_descendants(self._process.pid)
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the server and all its descendants, and wait for its end. The next `start` starts another."""
        if self._process is None:
            return
        self.interrupt()
        with self._lock:
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        os.close(self._frames.descriptor)
        self._process, self._current = None, None

    def _exchange(self, kind: FrameKind, body: bytes) -> tuple[FrameKind, bytes]:
        """Send a frame to the server and return its reply. Raises ServerLost."""
        try:
            self._frames.send(kind, body)
            return self._frames.receive()
        except Hangup as error:
            raise ServerLost("the fork server is gone") from error

    def _final_error(self) -> str:
        assert self._process is not None and self._process.stderr is not None
        self.interrupt()
        lines = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it was not ready after {self.limits.setup_seconds:g} s, or was killed"

    def _refuse(self, trouble: str) -> NoReturn:
        self.close()
        raise UserError(f"fork server for {self.runner!r}: {one_line(trouble)}")

    def _require_defences(self) -> None:
        missing = self._defences.missing_for_free_programs
        if missing and not self.allow_unsandboxed and not self.layers.off:
            self.close()
            raise UserError(
                f"free Python is not run here, for this host lacks: {', '.join(missing)} (`vulcan doctor` says more); "
                "--allow-unsandboxed runs it all the same, with your rights"
            )


class ForkedChild(Closing):
    """A candidate's process, to be ended by `end` in any case."""

    def __init__(self, server: ForkServer, ended: ProgramEnded | None) -> None:
        self._server = server
        self._ended = ended

    def ask(self, message: bytes) -> bytes:
        """Send a message and return the reply.

        Raises ProgramEnded if the child ends instead, ServerLost, and ValueError for too long a message.
        """
        if len(message) > MAX_MESSAGE:
            raise ValueError(f"{len(message)} bytes, and a message has at most {MAX_MESSAGE}")
        if self._ended is not None:
            raise self._ended
        kind, body = self._server._exchange(FrameKind.MESSAGE, message)
        if kind is FrameKind.ENDED:
            self._ended = _ended(body)
            raise self._ended
        return body

    def end(self) -> ProgramEnded:
        """Kill the child and all its descendants, and return how it ended. May be called again. Raises ServerLost."""
        if self._ended is None:
            _, body = self._server._exchange(FrameKind.END, b"")
            self._ended = _ended(body)
        if self._server._current is self:
            self._server._current = None
            self._server.used += self._ended.seconds
        return self._ended

    def close(self) -> None:
        with suppress(ServerLost):
            self.end()


def _ended(body: bytes) -> ProgramEnded:
    return ProgramEnded(**json.loads(body))
