"""Attacks, their results, and their targets: files, sockets, shared memory and a process made for the purpose.

They are carried out in a forked child: raw, unchecked Python in place of a program.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vulcan.closing import Closing
from vulcan.doctor.attacks import breakout
from vulcan.scoring.job import Limits
from vulcan.scoring.program_server_client import ForkServer, ProgramEnded, ServerLost
from vulcan.scoring.program_wire import HEADER, FrameKind
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.lockdown import Defences

OWN_PROCESS = "a process of its own"
"""A layer that is due to Vulcan's design and not to the operating system."""


@dataclass(frozen=True)
class Attack:
    """Python code run in place of a candidate that has broken out of its language.

    The code reports success by `got(text)`, and reads its targets from the mapping `given`. `stopped_by` lists the
    layers that each suffice to stop it, in the order in which it meets them.
    """

    name: str
    code: str
    stopped_by: tuple[Layer | str, ...]
    given: dict[str, object] = field(default_factory=dict)
    harmless: dict[str, object] = field(default_factory=dict)
    """Replacements for entries of `given`, used when the layers that stop the attack are left out."""
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class AttackObservation:
    """The observed effect of an attack: its loot `got`, or None and the `sign` of what stopped it.

    `sign` is the name of an error number, of an exception or of a signal, or `timeout`, `memory`, `processor`,
    `message`, `exit` or `nothing`.
    """

    got: str | None
    sign: str
    detail: str


_SIGNS: dict[Layer | str, tuple[str, ...]] = {
    Layer.SECCOMP: ("EPERM", "SIGSYS"),
    Layer.LANDLOCK: ("EACCES", "EPERM", "SIGKILL", "nothing"),
    Layer.EMPTY_ROOT: ("ENOENT", "EPERM"),
    Layer.UNPRIVILEGED: ("EACCES", "EPERM"),
    Layer.NETWORK: ("ENETUNREACH", "ECONNREFUSED", "ENOENT", "EADDRNOTAVAIL"),
    Layer.PROCESS_NAMESPACE: ("ESRCH", "nothing", "SIGKILL"),
    Layer.SESSION: ("SIGKILL", "nothing"),
    Layer.OPEN_FILES: ("EMFILE", "EBADF", "exit"),
    Layer.FILE_SIZE: ("EFBIG", "SIGXFSZ"),
    Layer.PROCESSES: ("EAGAIN",),
    Layer.OTHER_LIMITS: ("ENOMEM",),
    Layer.MEMORY: ("memory", "MemoryError", "ENOMEM"),
    Layer.PROCESSOR: ("processor",),
    Layer.WALL_CLOCK: ("timeout",),
    Layer.MESSAGES: ("message",),
    Layer.ENVIRONMENT: ("nothing",),
    Layer.DESCRIPTORS: ("EBADF",),
    OWN_PROCESS: ("exit", "SIGSEGV", "SIGABRT", "SIGBUS", "memory", "MemoryError", "RecursionError"),
}


def stopper(layers: tuple[Layer | str, ...], evidence: AttackObservation) -> str | None:
    """Return the first layer that explains the observation; None if the attack succeeded, or no layer explains it."""
    if evidence.got is not None:
        return None
    return next((str(layer) for layer in layers if evidence.sign in _SIGNS.get(layer, ())), None)


KEY_VARIABLE = "VULCAN_ATTACK_API_KEY"
"""An environment variable that stands in for a model's API key."""

_OPENAT = {"x86_64": 257, "aarch64": 56}
_VICTIM = "import sys\nx = object()\nprint(id(x), flush=True)\nsys.stdin.read()"
_CREATE, _REMOVE = 0o1000, 0


@contextmanager
def targets() -> Iterator[dict[str, object]]:
    """Create the targets that attacks are `given`, a key in the environment among them, and remove them at the end."""
    with ExitStack() as until_done:
        os.environ[KEY_VARIABLE] = "sk-of-the-attack-suite"
        until_done.callback(os.environ.pop, KEY_VARIABLE)
        public = Path(tempfile.mkdtemp(prefix="vulcan-attack-"))
        until_done.callback(shutil.rmtree, public, ignore_errors=True)
        public.chmod(0o755)
        private = public / "private"
        private.mkdir(mode=0o700)
        (public / "trace").write_text("1 2 3 of the future\n")
        for name in ("store", "doomed"):
            (private / name).write_text("a score of 0.5\n")
            (private / name).chmod(0o600)
        key = "sk-" + secrets.token_hex(8)
        victim = until_done.enter_context(
            subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", _VICTIM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={KEY_VARIABLE: key},
                start_new_session=True,
            )
        )
        until_done.callback(victim.kill)
        assert victim.stdout is not None
        tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        unix = socket.socket(socket.AF_UNIX)
        name = f"\0vulcan-attack-{secrets.token_hex(8)}"
        for listener, address in ((tcp, ("127.0.0.1", 0)), (udp, ("127.0.0.1", 0)), (unix, name)):
            until_done.callback(listener.close)
            listener.bind(address)
        tcp.listen(64)
        unix.listen(64)
        body = b'{"got": "an answer that it forged"}'
        yield {
            "store": str(private / "store"),
            "doomed": str(private / "doomed"),
            "filled": str(private / "filled"),
            "trace": str(public / "trace"),
            "directory": str(public),
            "variable": KEY_VARIABLE,
            "victim": victim.pid,
            "address": int(victim.stdout.readline()),
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": name,
            "shared_key": until_done.enter_context(_shared_memory()),
            "openat": _OPENAT.get(platform.machine(), -1),
            "forgery": (HEADER.pack(FrameKind.MESSAGE, len(body)) + body).decode("latin-1"),
        }


@contextmanager
def _shared_memory() -> Iterator[int]:
    """Create a System V segment that every user of this host may attach, and yield its key."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = int.from_bytes(os.urandom(3), "big") + 1
    segment = libc.shmget(key, ctypes.c_size_t(4096), _CREATE | 0o666)
    yield key
    if segment >= 0:
        libc.shmctl(segment, _REMOVE, None)


RUNNER = f"{breakout.__name__}:{breakout.run.__name__}"
_TIMEOUT_SECONDS = 2.0
"""Seconds after which an attack that nothing ends is assumed to run forever."""
_TIMEOUT_WITH_LIMIT_SECONDS = 120.0
"""The same, if a limit of one second of processor time should end the attack."""

_MEMORY = 256 << 20


class ForkedRange(Closing):
    """A range for attacks in forked children, one child each, under the given layers."""

    def __init__(self, given: Mapping[str, object], layers: Layers = ALL, *, weak_host: bool = False) -> None:
        """Create a range. With `weak_host`, one is opened even where the host cannot sandbox free Python."""
        self._given = given
        limits = Limits(memory_bytes=_MEMORY, cpu_seconds=1)
        self._server = ForkServer(RUNNER, limits, layers=layers, allow_unsandboxed=weak_host)
        self._harmless = bool(layers.off) or weak_host
        self.layers = layers

    def start(self) -> Defences:
        return self._server.start()

    def carry_out(self, attack: Attack) -> AttackObservation:
        """Carry out the attack, in its harmless form if a layer is left out or the host may lack one."""
        given = {**self._given, **attack.given, **(attack.harmless if self._harmless else {})}
        order = {"code": attack.code, "given": given}
        self.start()
        Path(str(self._given["doomed"])).write_text("a score of 0.5\n", encoding="utf-8")
        endless = Layer.WALL_CLOCK not in self.layers
        to_be_ended = Layer.PROCESSOR in attack.stopped_by and Layer.PROCESSOR in self.layers
        seconds = _TIMEOUT_WITH_LIMIT_SECONDS if to_be_ended else _TIMEOUT_SECONDS
        patience = threading.Timer(seconds, self._server.interrupt)
        if endless:
            patience.start()
        try:
            return self._evidence(json.dumps(order).encode(), attack.seconds)
        except ServerLost:
            self._server.close()
            what = f"still at it after {seconds:g} s" if endless else "the server is dead"
            return AttackObservation(what, "", "")
        finally:
            patience.cancel()

    def _evidence(self, order: bytes, seconds: float) -> AttackObservation:
        with self._server.open(seconds) as child:
            try:
                first, second = child.ask(order), child.ask(b"{}")
            except ProgramEnded as ended:
                return _evidence_of_end(ended)
        if len(first) > _MEMORY // 64:
            return AttackObservation(f"{len(first)} bytes taken", "", "")
        came, then = json.loads(first), json.loads(second)
        if "pong" not in then:
            return AttackObservation("an answer taken that was there before the question", "", "")
        return AttackObservation(came.get("got"), came.get("sign", ""), came.get("detail", ""))

    def close(self) -> None:
        self._server.close()


def _evidence_of_end(ended: ProgramEnded) -> AttackObservation:
    message = ended.message
    if "exit code 99" in message:
        return AttackObservation("it ran", "", message)
    match ended.status:
        case "timeout":
            sign = "processor" if "processor" in message else "timeout"
        case "memory":
            sign = "memory"
        case _ if "answered" in message or "spoke" in message:
            sign = "message"
        case _ if "killed by SIG" in message:
            sign = message.rpartition(" ")[2]
        case _:
            sign = "exit"
    return AttackObservation(None, sign, message)
