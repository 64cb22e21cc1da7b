"""The parent's handle of a jailed child that scores candidates.

One life of a child, as its parent sees it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import IO, Any, NoReturn

from vulcan.errors import UserError
from vulcan.scoring.executor import WorkerLost
from vulcan.scoring.foreign_code import one_line
from vulcan.scoring.job import Job, JobRequest, Outcome, Setup, Status
from vulcan.scoring.sandbox.environment import child_environment
from vulcan.scoring.sandbox.exit_causes import classify_exit, describe, is_external, kernel_kills, may_be_external
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.lockdown import Defences
from vulcan.scoring.sandbox.processes import kill_descendants
from vulcan.scoring.wire import HEADER, MAX_REPLY, MalformedMessage, decode, encode, outcome_of

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
        [sys.executable, "-P", "-m", "vulcan.scoring.evaluator_child", str(descriptor)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=directory,
        start_new_session=Layer.SESSION in layers,
        close_fds=Layer.DESCRIPTORS in layers,
        pass_fds=(descriptor,) if Layer.DESCRIPTORS in layers else (),
    )


logger = logging.getLogger(__name__)

_FOREVER = 3600.0
"""Seconds that a job may take where a test has taken the wall clock away."""


class JailedEvaluator:
    """Scores one candidate at a time in a child that is started when needed, and anew whenever it is lost.

    Use it from one thread, and keep that thread: on Linux a child dies with the thread that started it. Any
    thread may call `interrupt`.
    """

    def __init__(self, setup: Setup, layers: Layers = ALL) -> None:
        """`layers` is for tests alone."""
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
        """The process id of the child, which is its group's too; None while there is no child."""
        return self._child.pid if self._child else None

    def start(self) -> Defences:
        """Start the child if there is none, and wait until it is ready.

        Raises UserError where its set-up fails, WorkerLost where it is killed before it is ready, CancelledError
        where it was interrupted.
        """
        if self._child is not None and self._defences is not None:
            return self._defences
        if self._child is not None:
            self._end()  # its set-up was left half-way
        with self._lock:
            if self._interrupted:
                raise CancelledError
            self._child = ChildProcess(self.setup.directory, self._layers)
        self._jobs, self._busy_seconds = 0, 0.0
        self._defences = self._set_up(self._child)
        return self._defences

    def run(self, job: Job) -> Outcome:
        """Score the job's candidate. Whatever the candidate does, the result is an outcome.

        Raises ValueError for a job that does not fit the set-up, UserError where the child cannot be started
        again, WorkerLost where it dies of what no candidate can do, CancelledError where it was interrupted.
        """
        return self.serve(self.setup.request(job))

    def serve(self, request: JobRequest) -> Outcome:
        """`run`, for a job that is already in terms of the set-up."""
        outcome, sure = self._try(request)
        if not sure:
            logger.info("job %d is run again in a new process, for it ended so: %s", request.job, outcome.message)
            outcome, _ = self._try(request)
        return outcome

    def interrupt(self) -> None:
        """Kill the child, and start no other."""
        with self._lock:
            self._interrupted = True
            if self._child is not None:
                self._child.interrupt()

    def close(self) -> None:
        """Kill the child and wait for its end. The next job starts another, unless it was interrupted."""
        if self._child is not None:
            with suppress(CancelledError):
                self._end()

    def _try(self, request: JobRequest) -> tuple[Outcome, bool]:
        """The outcome, and whether the job is to blame for it, not an earlier one or somebody outside."""
        child = self._idle_child(request)
        is_first = self._jobs == 0
        self._jobs += 1
        ticket = secrets.token_hex(8)
        began = time.monotonic()
        deadline = began + (request.limit if Layer.WALL_CLOCK in self._layers else _FOREVER)
        message = {
            "ticket": ticket,
            "source": request.source,
            "instances": request.instances,
            "probe": request.probe,
            "limit": request.limit,
        }
        names = tuple(self.setup.instances[number].name for number in request.instances)

        def bad(status: Status, why: str) -> Outcome:
            return Outcome(request.job, status, (), why, time.monotonic() - began)

        try:
            child.send(message, deadline)
            outcome = outcome_of(child.receive(deadline), ticket, request, names, time.monotonic() - began)
        except ChildTimeout:
            self._end()
            return bad("timeout", f"took more than {request.limit:g} s"), True
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
            ran_out = child.host_ran_out_of_memory  # which may be the doing of any other process
            self._end()  # the address space is in pieces
            return outcome, is_first and not ran_out
        self._busy_seconds += outcome.seconds
        return outcome, True

    def _idle_child(self, request: JobRequest) -> ChildProcess:
        """A child with enough left of its limits for this job."""
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
            case {"defences": dict(defences)}:
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
        """Be rid of the child. Returns its return code; raises CancelledError where it was interrupted."""
        assert self._child is not None
        return_code = self._child.end()
        with self._lock:
            self._child = self._defences = None
            interrupted = self._interrupted
        if interrupted:
            raise CancelledError
        return return_code
