"""The fork server, `python -m vulcan.scoring.program_server DESCRIPTOR`.

Started by `vulcan.scoring.program_server_client`, it imports what candidates need, isolates itself from the host as far
as possible, and forks a template, which forks a child for each candidate. Messages between client and children pass
through the server and never through the template: nothing that a candidate was sent, or has sent, is in the memory that
the next one starts from. Neither runs a candidate's code; the server reads only the header of a child's message, whose
content is for the client.

The process of one free-Python candidate: fork, confinement, messages, supervision and kill.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn

from vulcan.foreign_code import ForeignCall
from vulcan.scoring.job import Limits
from vulcan.scoring.program_wire import MAX_MESSAGE, NO_QUESTION, QUESTION, FrameKind, Frames, Hangup, MessageChannel
from vulcan.scoring.sandbox import linux
from vulcan.scoring.sandbox.exit_causes import HOST_RAN_OUT, describe, kernel_kills, out_of_memory
from vulcan.scoring.sandbox.layers import Layer, Layers
from vulcan.scoring.sandbox.linux import ProcessNamespaces
from vulcan.scoring.sandbox.lockdown import Isolation, Notes, address_space_allowed, confine, die_with_parent, isolate
from vulcan.scoring.sandbox.processes import kill_descendants

CHANNEL = 3
"""The only descriptor of a child apart from 0, 1 and 2, which point to the null device."""
OUT_OF_MEMORY, FAILED = 77, 78
"""Exit codes of a child whose runner raised an error."""

_CHUNK = 1 << 16
_ORDER = struct.Struct("=cI")
"""To the template: fork a child for a socket, with so many seconds of processor time; or end it."""
_END = struct.Struct("=id")
"""How a child ended, from the template: exit code as of `subprocess.Popen`, and seconds of processor time."""


@dataclass(frozen=True, slots=True)
class Host:
    """The state for every child. `control` is the server's connection to the client, `orders` that to the template."""

    control: int
    orders: socket.socket
    runner: Callable[[MessageChannel], object]
    limits: Limits
    layers: Layers
    isolation: Isolation
    notes: tuple[str, ...]
    address_space: int | None
    process_namespaces: ProcessNamespaces | None


class Child:
    """A candidate's process, seen from the server."""

    def __init__(self, host: Host, seconds: float, processor: int, limit: float) -> None:
        """Have the process forked. Its first message, unsolicited, reports its defences."""
        self._host = host
        self._processor = processor
        self._limit = limit
        self._kills_before = kernel_kills()
        self._deadline = time.monotonic() + seconds if Layer.WALL_CLOCK in host.layers else None
        self._inbox = bytearray()
        self._outbox = b""
        self._mark = NO_QUESTION
        self._report: bytes | None = None
        self._socket, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(host.orders, [_ORDER.pack(b"f", processor)], [theirs.fileno()])
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._poll.register(host.control, select.POLLIN)
        self._poll_is_idle = True

    def answer(self, message: bytes | None) -> bytes | None:
        """Send a message and return the reply; None if the child ends instead. A message of None sends nothing.

        Raises Hangup if the client goes away meanwhile.
        """
        if self._report is None and message is not None:
            self._mark = os.urandom(len(NO_QUESTION))
            self._outbox = QUESTION.pack(len(message), self._mark) + message
            if self._violated_protocol():
                self.end("crashed", "its process spoke before it was asked")
            else:
                self._write()
        while self._report is None:
            if not self._outbox and (answer := self._complete_message()) is not None:
                return answer
            self._wait()
        return None

    def end(self, status: str, message: str) -> None:
        """Kill the child and its descendants and record how it ended: with this status, or its own earlier end.

        An empty `message` with status `crashed` is replaced by the verdict on its exit code.
        """
        if self._report is not None:
            return
        self._host.orders.send(_ORDER.pack(b"e", 0))
        exit_code, cpu_seconds = _END.unpack(self._host.orders.recv(_END.size))
        self._socket.close()
        if status == "crashed" and not message:
            status, message = self._verdict(exit_code, cpu_seconds)
        self._report = json.dumps({"status": status, "message": message, "seconds": cpu_seconds}).encode()

    def report(self) -> bytes:
        """Return how it ended: the fields of `vulcan.scoring.program_server_client.ProgramEnded`, as JSON."""
        assert self._report is not None
        return self._report

    def _verdict(self, exit_code: int, cpu_seconds: float) -> tuple[str, str]:
        if exit_code == OUT_OF_MEMORY:
            return "memory", out_of_memory(self._host.limits)
        if exit_code == -signal.SIGKILL and kernel_kills() > self._kills_before:
            return "memory", HOST_RAN_OUT
        if exit_code == -signal.SIGXCPU or (exit_code == -signal.SIGKILL and cpu_seconds >= self._processor):
            return "timeout", f"took more than {self._limit:g} s of processor time"
        if exit_code == -signal.SIGKILL:
            return "crashed", "its process closed its channel, or was killed by SIGKILL"
        return "crashed", describe(exit_code)

    def _wait(self) -> None:
        """Wait until something has been written or read, or the deadline has passed."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self.end("timeout", f"took too long by the clock, for a limit of {self._limit:g} s")
            return
        left = None if self._deadline is None else (self._deadline - time.monotonic()) * 1000
        for descriptor, events in self._poll.poll(left):
            if descriptor == self._host.control:
                # the client waits for the reply, so the only thing to read is the end of file
                self.end("ended", "told to end")
                raise Hangup
            if self._report is None and events & ~select.POLLOUT:
                self._read()
            if self._report is None and events & select.POLLOUT:
                self._write()

    def _write(self) -> None:
        """Write as much as possible; poll for writability only while something is left."""
        try:
            written = self._socket.send(self._outbox)
        except BlockingIOError:
            written = 0
        except (BrokenPipeError, ConnectionResetError):
            self.end("crashed", "")
            return
        was_all = written == len(self._outbox)
        self._outbox = self._outbox[written:]
        if was_all != self._poll_is_idle:
            self._poll.modify(self._socket, select.POLLIN if was_all else select.POLLIN | select.POLLOUT)
            self._poll_is_idle = was_all

    def _read(self) -> None:
        try:
            chunk = self._socket.recv(_CHUNK)
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            self.end("crashed", "")
            return
        self._inbox += chunk
        if Layer.MESSAGES not in self._host.layers:
            return
        if len(self._inbox) < QUESTION.size:
            return
        length, mark = QUESTION.unpack_from(self._inbox)
        if mark != self._mark:
            self.end("crashed", "its process answered what it was not asked")
        elif length > MAX_MESSAGE:
            self.end("crashed", f"its process answered with more than {MAX_MESSAGE} bytes")

    def _complete_message(self) -> bytes | None:
        if len(self._inbox) < QUESTION.size:
            return None
        end = QUESTION.size + QUESTION.unpack_from(self._inbox)[0]
        if len(self._inbox) < end:
            return None
        message = bytes(self._inbox[QUESTION.size : end])
        del self._inbox[:end]
        if self._inbox and Layer.MESSAGES in self._host.layers:
            self.end("crashed", "its process answered more than it was asked")
            return None
        return message

    def _violated_protocol(self) -> bool:
        """Check whether it has sent anything since its last reply; a dead child is noticed later."""
        if Layer.MESSAGES not in self._host.layers:
            return False
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except (BlockingIOError, ConnectionResetError):
            return False


class ProgramTemplate:
    """The process that candidates' processes are forked from, one at a time. It sees none of their messages."""

    def __init__(self, host: Host, orders: socket.socket) -> None:
        self._host = host
        self._orders = orders
        self._pid: int | None = None

    def serve(self) -> None:
        """Carry out the server's orders until it hangs up: to fork a child for a socket, or to end it."""
        while True:
            order, descriptors, _, _ = socket.recv_fds(self._orders, _ORDER.size, 1)
            if descriptors:
                limits = replace(self._host.limits, cpu_seconds=_ORDER.unpack(order)[1])
                self._fork(replace(self._host, limits=limits), socket.socket(fileno=descriptors[0]))
            elif order:
                self._orders.send(self._end())
            else:
                return

    def _fork(self, host: Host, channel: socket.socket) -> None:
        namespaces = host.process_namespaces
        if namespaces is not None:
            namespaces.for_next_child()
        with channel:
            self._pid = os.fork()
            if self._pid == 0:
                _be_the_child(host, channel)
        if namespaces is not None:
            namespaces.restore()

    def _end(self) -> bytes:
        assert self._pid is not None
        if Layer.SESSION in self._host.layers:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        os.kill(self._pid, signal.SIGKILL)  # as process 1 of its namespace, it takes all others in it with it
        _, status, used = os.wait4(self._pid, 0)
        self._kill_remaining()
        return _END.pack(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)

    def _kill_remaining(self) -> None:
        """Kill and reap leftovers; without process namespaces, processes that left the child's group too.

        Such orphans have been adopted by the template.
        """
        if self._host.process_namespaces is None:
            kill_descendants(os.getpid())
        with suppress(ChildProcessError):
            while os.waitpid(-1, 0 if self._host.process_namespaces is None else os.WNOHANG)[0]:
                pass


def _be_the_child(host: Host, channel_socket: socket.socket) -> NoReturn:
    """Run the candidate in the forked child; never returns, and lets no error reach the server's code."""
    code = FAILED
    try:
        channel = MessageChannel(_keep_only(channel_socket, host))
        channel.send(_confined(host))
        with (attempt := ForeignCall()):
            host.runner(channel)
        code = 0 if attempt.error is None else OUT_OF_MEMORY if isinstance(attempt.error, MemoryError) else FAILED
    finally:
        os._exit(code)


def _keep_only(channel_socket: socket.socket, host: Host) -> int:
    """Close every descriptor but the channel, and point 0, 1 and 2 at the null device."""
    if Layer.DESCRIPTORS not in host.layers:
        return channel_socket.fileno()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    if channel_socket.fileno() != CHANNEL:
        os.dup2(channel_socket.fileno(), CHANNEL, inheritable=False)
    os.closerange(CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
    return CHANNEL


def _confined(host: Host) -> bytes:
    layers = host.layers
    if Layer.SESSION in layers:
        os.setsid()
    parent_death_signal = Layer.PARENT_DEATH in layers and die_with_parent()
    notes = Notes(list(host.notes))
    defences = confine(
        host.limits,
        host.isolation,
        notes,
        address_space=host.address_space,
        parent_death_signal=parent_death_signal,
        layers=layers,
        compiling=False,
    )
    return json.dumps(asdict(defences)).encode()


_FIRST_SECONDS = 60.0
"""Wall-clock limit of the first child, which shows before any candidate which defences hold."""


@dataclass(slots=True)
class Server:
    """A server that replies to the frames of one client, in order."""

    control: Frames
    host: Host
    defences: bytes
    child: Child | None = None

    def serve(self) -> None:
        """Serve until the client closes the connection, which raises Hangup."""
        while True:
            kind, body = self.control.receive()
            self.control.send(*self._answer(kind, body))

    def _answer(self, kind: FrameKind, body: bytes) -> tuple[FrameKind, bytes]:
        match kind:
            case FrameKind.OPEN:
                return self._open(**json.loads(body))
            case FrameKind.MESSAGE if self.child is not None:
                answer = self.child.answer(body)
                return (FrameKind.ENDED, self.child.report()) if answer is None else (FrameKind.MESSAGE, answer)
            case FrameKind.END if self.child is not None:
                self.child.end("ended", "told to end")
                return FrameKind.ENDED, self.child.report()
        return FrameKind.ERROR, b"a frame out of turn"

    def _open(self, seconds: float, processor: int, limit: float) -> tuple[FrameKind, bytes]:
        if self.child is not None:
            self.child.end("ended", "told to end")
        self.child = Child(self.host, seconds, processor, limit)
        defences = self.child.answer(None)
        if defences is None:
            return FrameKind.ENDED, self.child.report()
        if defences != self.defences:
            self.child.end("ended", "told to end")
            return FrameKind.ERROR, b"a child's defences are not those of the first"
        return FrameKind.READY, b""


def main(descriptor: int) -> None:
    parent_death_signal = die_with_parent()
    control = Frames(descriptor)
    try:
        kind, body = control.receive()
        assert kind is FrameKind.SET_UP
        _serve(control, json.loads(body), parent_death_signal)
    except Hangup:
        return


def _serve(control: Frames, set_up: dict[str, Any], parent_death_signal: bool) -> None:
    limits, layers = Limits(**set_up["limits"]), Layers.from_json(set_up["layers"])
    with (attempt := ForeignCall()):
        module, _, name = set_up["runner"].partition(":")
        runner = getattr(importlib.import_module(module), name)
    if attempt.error is not None:
        control.send(FrameKind.ERROR, f"it does not load: {attempt.failure}".encode())
        return
    # existing objects never change: they need be neither collected nor, page by page, copied in a child
    gc.collect()
    gc.freeze()
    notes = Notes()
    address_space = address_space_allowed(limits, notes) if Layer.MEMORY in layers else None
    isolation = isolate(layers, notes, processes=True)
    if Layer.PARENT_DEATH in layers:
        parent_death_signal = die_with_parent()
        if not parent_death_signal:
            notes.lines.append("parent-death signal: not on this system")
    if "pid" in isolation.namespaces and (first := os.fork()):
        os.close(control.descriptor)
        _stand_in_for(first)
    if Layer.PARENT_DEATH in layers:
        die_with_parent()
    namespaces = ProcessNamespaces() if "pid" in isolation.namespaces else None
    mine, templates = socket.socketpair()
    host = Host(
        control.descriptor, mine, runner, limits, layers, isolation, tuple(notes.lines), address_space, namespaces
    )
    if sys.platform == "linux" and isolation.unprivileged:
        linux.allow_own_proc_files(False)
    if os.fork() == 0:
        _be_the_template(host, templates)
    templates.close()
    child = Child(host, _FIRST_SECONDS, limits.cpu_seconds, limits.cpu_seconds)
    defences = child.answer(None)
    if defences is None:
        control.send(FrameKind.ERROR, f"its first child {json.loads(child.report())['message']}".encode())
        return
    child.end("ended", "told to end")
    control.send(FrameKind.READY, defences)
    Server(control, host, defences).serve()


def _be_the_template(host: Host, orders: socket.socket) -> NoReturn:
    code = FAILED
    try:
        if Layer.PARENT_DEATH in host.layers:
            die_with_parent()
        if sys.platform == "linux":
            linux.adopt_orphans()
        host.orders.close()
        os.close(host.control)  # it could not read a message if it tried
        ProgramTemplate(host, orders).serve()
        code = 0
    finally:
        os._exit(code)


def _stand_in_for(first: int) -> NoReturn:
    """Wait for the first process in the new namespace, and end as it does."""
    _, status = os.waitpid(first, 0)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(int(sys.argv[1]))
