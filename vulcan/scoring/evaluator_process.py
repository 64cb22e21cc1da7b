"""The parent's handle of a sandboxed evaluator process: starting, requests, timeouts and restarts."""

from __future__ import annotations

import json
import logging
import os
import secrets
import selectors
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any, NoReturn

from vulcan.errors import UserError
from vulcan.foreign_code import one_line
from vulcan.scoring.job import Job, JobRequest, Outcome, Setup, Status, WorkerLost
from vulcan.scoring.sandbox.environment import spawn
from vulcan.scoring.sandbox.exit_causes import classify_exit, describe, is_external, kernel_kills, may_be_external
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.lockdown import Defences
from vulcan.scoring.sandbox.processes import kill_descendants
from vulcan.scoring.wire import HEADER, MAX_REPLY, MalformedMessage, decode, encode, outcome_of

_CHUNK = 1 << 16
_ERRORS_KEPT = 4096


class ChildDied(Exception):
    """The death of the child, or the closing of its end of the socket."""


class ChildTimeout(Exception):
    """A child's failure to reply in time."""


class ChildProcess:
    """A running child: its process group, its socket, and the tail of its standard error.

    Use it from one thread; any thread may call `interrupt`. On Linux the child dies with the *thread* that starts it.
    """

    def __init__(self, directory: str, layers: Layers = ALL) -> None:
        """Start a child. Raises UserError if `directory`, its working directory, does not exist."""
        self._lock = threading.Lock()
        self._received = bytearray()
        self._errors = b""
        self._kills_before = kernel_kills()
        self._process, self._socket = spawn(
            "vulcan.scoring.evaluator_child", directory, layers,
            start_new_session=Layer.SESSION in layers, close_fds=Layer.DESCRIPTORS in layers,
        )  # fmt: skip
        self._errors_pipe: IO[bytes] = self._process.stderr  # type: ignore[assignment]  # it is PIPE
        os.set_blocking(self._errors_pipe.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._selector.register(self._errors_pipe, selectors.EVENT_READ)
        self.clock = 1.0  # seconds of wall clock a job has for each of its limit

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def errors(self) -> str:
        """The tail of the child's standard error."""
        return self._errors.decode(errors="replace")

    @property
    def host_ran_out_of_memory(self) -> bool:
        """True if the kernel's OOM killer has killed any process since this child was started."""
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
        """Return the child's next message. Raises ChildDied, ChildTimeout and MalformedMessage."""
        while (body := self._next_body()) is None:
            if self._socket in self._wait(deadline - time.monotonic()):
                self._received += self._read_socket()
        return decode(body)

    def is_idle(self) -> bool:
        """Check whether the child is alive and has sent nothing unsolicited."""
        return not self._received and self._socket not in self._ready(0)

    def interrupt(self) -> None:
        """Kill the child, its group and all its descendants. The thread that uses it gets ChildDied."""
        with self._lock:
            if self._process.returncode is None:
                kill_descendants(self._process.pid)
                # not reaped yet, so the id is still this group's; macOS denies killing zombies
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(self._process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the group, reap the child and close its descriptors. Return its `Popen.returncode`."""
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
        if length > MAX_REPLY:
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
        """Read from standard error; False once the child has closed its end."""
        chunk = os.read(self._errors_pipe.fileno(), _CHUNK)
        self._errors = (self._errors + chunk)[-_ERRORS_KEPT:]
        return bool(chunk)


logger = logging.getLogger(__name__)

_FOREVER = 3600.0
"""Time limit of a job in seconds where a test has disabled the wall-clock layer."""


class JailedEvaluator:
    """A worker that scores one candidate at a time in a child, started on demand and restarted when lost.

    Use it from one thread, and keep that thread alive: on Linux a child dies with the thread that started it. Any
    thread may call `interrupt`.
    """

    def __init__(self, setup: Setup, layers: Layers = ALL) -> None:
        """Create an evaluator without a child yet. `layers` is for tests only."""
        self.setup = setup
        self._layers = layers
        self._child: ChildProcess | None = None
        self._defences: Defences | None = None  # of a child that is ready
        self._jobs = 0
        self._busy_seconds = 0.0
        self._interrupted = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The process id of the child, which is also its group id; None while there is no child."""
        return self._child.pid if self._child else None

    def start(self) -> Defences:
        """Start the child if there is none, and wait until it is ready.

        Raises UserError if its set-up fails, WorkerLost if it is killed before it is ready, and CancelledError if it
        was interrupted.
        """
        if self._child is not None and self._defences is not None:
            return self._defences
        if self._child is not None:
            self._end()  # its set-up was not completed
        with self._lock:
            if self._interrupted:
                raise CancelledError
            self._child = ChildProcess(self.setup.directory, self._layers)
        self._jobs, self._busy_seconds = 0, 0.0
        self._defences = self._set_up(self._child)
        return self._defences

    def run(self, job: Job) -> Outcome:
        """Score the job's candidate and return its outcome, whatever the candidate does.

        Raises ValueError for a job that does not fit the set-up, UserError if the child cannot be restarted,
        WorkerLost if it dies of a cause that no candidate can bring about, and CancelledError if it was interrupted.
        """
        return self.serve(self.setup.request(job))

    def serve(self, request: JobRequest) -> Outcome:
        """Score as `run` does, for a job already in terms of the set-up."""
        outcome, sure = self._try(request)
        if not sure:
            logger.info("job %d is run again in a new process, for it ended so: %s", request.job, outcome.message)
            outcome, _ = self._try(request)
        return outcome

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome]:
        return [self.serve(request) for request in requests]

    def interrupt(self) -> None:
        """Kill the child for good: no other is started."""
        with self._lock:
            self._interrupted = True
            if self._child is not None:
                self._child.interrupt()

    def close(self) -> None:
        """Kill the child and wait for its end. The next job starts another, unless this was interrupted."""
        if self._child is not None:
            with suppress(CancelledError):
                self._end()

    def _try(self, request: JobRequest) -> tuple[Outcome, bool]:
        """Run a job once. Return its outcome, and whether it is certain that this job caused it.

        The cause may otherwise be an earlier job of the same child, or something outside.
        """
        child = self._idle_child(request)
        is_first = self._jobs == 0
        self._jobs += 1
        ticket = secrets.token_hex(8)
        began = time.monotonic()
        seconds = child.clock * request.limit
        deadline = began + (seconds if Layer.WALL_CLOCK in self._layers else _FOREVER)
        message = {"ticket": ticket, **asdict(request)}
        names = tuple(self.setup.instances[number].name for number in request.instances)

        def bad(status: Status, why: str) -> Outcome:
            return Outcome(request.job, status, (), why, time.monotonic() - began)

        try:
            child.send(message, deadline)
            outcome = outcome_of(child.receive(deadline), ticket, request, names, time.monotonic() - began)
        except ChildTimeout:
            self._end()
            return bad("timeout", f"took more than {seconds:g} s"), True
        except MalformedMessage as error:
            self._end()
            return bad("crashed", f"its process sent a malformed reply: {error}"), is_first
        except ChildDied:
            return_code = self._end()
            if is_first and is_external(return_code):
                raise WorkerLost(f"{describe(return_code)}, as where a trace is cut off while it is read") from None
            outcome = bad(*classify_exit(return_code, child.errors, child.host_ran_out_of_memory, self.setup.limits))
            return outcome, is_first and not may_be_external(return_code)
        if outcome.status == "memory":
            ran_out = child.host_ran_out_of_memory  # any other process may have caused it
            self._end()  # the address space is fragmented
            return outcome, is_first and not ran_out
        self._busy_seconds += outcome.seconds
        return outcome, True

    def _idle_child(self, request: JobRequest) -> ChildProcess:
        """Return an idle child whose remaining limits suffice for this job."""
        limits = self.setup.limits
        if self._child is not None and not (
            self._jobs < limits.jobs_per_child
            and self._busy_seconds + request.limit <= limits.cpu_seconds
            and self._child.is_idle()
        ):
            self._end()
        self.start()
        assert self._child is not None
        return self._child

    def _set_up(self, child: ChildProcess) -> Defences:
        deadline = time.monotonic() + self.setup.limits.setup_seconds
        try:
            child.send(json.loads(self.setup.to_json()) | {"layers": self._layers.to_json()}, deadline)
            reply = child.receive(deadline)
        except ChildTimeout:
            self._refuse(f"was not ready after {self.setup.limits.setup_seconds:g} s")
        except MalformedMessage as error:
            self._refuse(f"sent a malformed message: {error}")
        except ChildDied:
            return_code = self._end()
            if may_be_external(return_code):
                raise WorkerLost(f"{describe(return_code)} before it was ready") from None
            last_line = one_line((child.errors.strip().splitlines() or ["it printed nothing"])[-1])
            self._refuse(f"did not get ready, {describe(return_code)}: {last_line}")
        match reply:
            case {"defences": dict(defences), "clock": float(clock)}:
                child.clock = clock
                return Defences.from_json(defences)
            case {"error": str(text)}:
                self._end()
                raise UserError(text)
        self._refuse("sent neither a report nor an error")

    def _refuse(self, trouble: str) -> NoReturn:
        if self._child is not None:
            self._end()
        raise UserError(f"task {self.setup.task!r}: its evaluator {trouble}")

    def _end(self) -> int:
        """End the child and return its return code. Raises CancelledError if it was interrupted."""
        assert self._child is not None
        return_code = self._child.end()
        with self._lock:
            self._child = self._defences = None
            interrupted = self._interrupted
        if interrupted:
            raise CancelledError
        return return_code
