"""Connections to Ray: a cluster that is joined, or a private Ray whose processes end with this one.

Ray is imported only when it is needed.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from vulcan.closing import Closing
from vulcan.foreign_code import ForeignCall, one_line
from vulcan.scoring.sandbox.environment import child_environment
from vulcan.scoring.sandbox.processes import descendants, is_alive

log = logging.getLogger(__name__)

# Jobs and outcomes are small: Ray's default, 30 % of the host's memory, would be wasted
_OBJECT_STORE_BYTES = 100 << 20

_LOOPBACK = "127.0.0.1"

HEAD_CHECK_SECONDS = 1.0
"""Seconds between checks of Ray's head."""

_POLL_SECONDS = 0.2
"""Seconds between polls of a Ray that starts."""

_REACH_SECONDS = 5.0
"""Seconds in which the head of a cluster has to accept a connection."""

_MISSED = 3
"""Connections that a cluster's head may fail to accept, one after the other, before it counts as gone."""


def reach(address: str) -> None:
    """Connect to the address of a cluster and hang up. Raises OSError if nothing accepts the connection."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if separator and port.isdigit():  # otherwise it is `auto`, or for Ray to understand
        socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()


def ray_processes() -> dict[str, int]:
    """Return the process ids of the Ray that this process started, by role, with those that they started in turn."""
    from ray._private import worker

    node = worker._global_node
    own = {} if node is None else node.all_processes
    found = {role: info.process.pid for role, processes in own.items() for info in processes}
    return found | {str(pid): pid for parent in found.values() for pid in descendants(parent)}


class Head:
    """The head of Ray: a process of this host if `address` is None, else a server."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._pid = ray_processes().get("gcs_server") if address is None else None
        self._missed = 0

    def answers(self) -> bool:
        """Check whether it is alive, or accepted one of the latest connections."""
        if self._address is None:
            return self._pid is None or is_alive(self._pid) or sys.platform != "linux"
        try:
            reach(self._address)
            self._missed = 0
        except OSError:
            self._missed += 1
        return self._missed < _MISSED


_GUARD = """
import os, select, shutil, signal, sys

token, directory = sys.stdin.buffer.readline().decode().rstrip("\\n").split("\\t")
started = sys.stdin.buffer.readline().decode()
why = "" if started else "the search ended while Ray was starting"
if started.endswith("\\n"):  # otherwise Vulcan is gone, or has closed this
    try:
        killed = 0 not in select.select([0, *(os.pidfd_open(int(pid)) for pid in started.split())], [], [])[0]
    except OSError:  # one has ended already
        killed = True
    if killed and not sys.stdin.buffer.read():
        why = "Ray's processes were killed, and Ray ended the search with them"
if why:
    print(f"vulcan: {why}: `vulcan resume` continues it", file=sys.stderr, flush=True)
mark = token.encode()
for _ in range(50):
    living = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            process = os.pidfd_open(int(pid))
            with open(f"/proc/{pid}/environ", "rb") as environment:
                if mark in environment.read():
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    living.append(process)
        except OSError:
            pass
    if not living:
        break
    select.select(living, [], [], 1.0)
shutil.rmtree(directory, ignore_errors=True)
"""


class ProcessGuard:
    """A process that ends a private Ray when this process ends, however that comes about; on Linux only.

    It kills every process with the Ray's token in its environment, as Ray's own notice only after some seconds that
    they are alone, and some not at all; then it removes the directory that was made for the Ray. It says how to go on
    where Ray's library ended this process: while it started, or because one of the processes to `watch` was killed.
    """

    def __init__(self, token: str, directory: str) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform == "linux":
            command = (sys.executable, "-I", "-S", "-c", _GUARD)
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, env={})
            assert self._process.stdin is not None
            self._process.stdin.write(f"{token}\t{directory}\n".encode())
            self._process.stdin.flush()
            atexit.register(self._tell, b"closed", os.getpid())  # Ray's library ends a process without this

    def _tell(self, line: bytes, owner: int) -> None:
        if self._process is None or self._process.stdin is None or os.getpid() != owner:
            return
        with suppress(OSError, ValueError):  # it has ended
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def watch(self, processes: Iterable[int]) -> None:
        self._tell(" ".join(map(str, processes)).encode() + b"\n", os.getpid())

    def close(self) -> None:
        """Kill what is left of the Ray, remove its directory, and end."""
        if self._process is not None:
            self._process.communicate(b"closed")
            atexit.unregister(self._tell)
        else:
            shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def signal_handler_kept(number: signal.Signals) -> Iterator[None]:
    """Restore the system's handler of a signal after the block, in any thread; `signal.signal` needs the main one."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.create_string_buffer(_SIGACTION_BYTES)
    known = libc.sigaction(ctypes.c_int(number), None, before) == 0
    try:
        yield
    finally:
        if known:
            libc.sigaction(ctypes.c_int(number), before, None)


_SIGACTION_BYTES = 256
"""More than any C library's `struct sigaction` takes."""


class RayUnavailable(Exception):
    """A failure to start or join Ray; the message gives the reason on one line."""


class RayRuntime(Closing):
    """A connection to Ray: to an existing cluster, or to a private local Ray that ends with `close`.

    The constructor returns at once while Ray starts in the background; `wait` waits for it. `address`, or else the
    variable RAY_ADDRESS, names a cluster to join. Without either, Ray is started with `workers` processors and without
    its dashboard, for this process only: it listens on the loopback interface, and requires a random token for every
    call. It sends no usage statistics and prints nothing on standard output. If this process is already connected to a
    Ray, that one is used and left running.
    """

    def __init__(self, workers: int, address: str | None = None, limit: float = 60.0) -> None:
        """Start connecting in the background. `limit` bounds the start in seconds."""
        self._workers = workers
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._limit = limit
        self.lost = threading.Event()
        """Set once Ray's head is gone: then this process has left Ray, and nothing may be asked of it any more."""
        self._connected = threading.Event()
        self._guard: ProcessGuard | None = None
        self._leave = threading.Event()
        self._failure: str | None = None
        # Ray's processes die with the thread that starts them, so this thread lives until the end
        self._thread = threading.Thread(target=self._hold_connection, name="vulcan-ray", daemon=True)
        self._thread.start()

    @property
    def joined(self) -> str | None:
        """The address of the cluster to join; None for a private local Ray."""
        return self._address

    def wait(self) -> Any:
        """Wait until Ray is connected and return the `ray` module. Raises RayUnavailable."""
        until = time.monotonic() + self._limit
        while not self._connected.wait(_POLL_SECONDS):
            if time.monotonic() > until:
                self._leave.set()
                raise RayUnavailable(f"Ray was not up after {self._limit:g} s")
        if self._failure is not None:
            raise RayUnavailable(self._failure)
        import ray

        return ray

    def close(self) -> None:
        """Disconnect, and shut down a private Ray. May be called twice. Does not wait for a start in progress."""
        self._leave.set()
        if self._connected.is_set():
            self._thread.join(self._limit)

    def _hold_connection(self) -> None:
        mine = self._connect()
        self._connected.set()
        head = Head(self._address) if self._failure is None else None
        while not self._leave.wait(HEAD_CHECK_SECONDS):
            if head is not None and not head.answers():
                self.lost.set()  # Ray ends this process a minute after its head is gone, unless disconnected
                if self._address is None:
                    log.warning("Ray's head is gone; scoring continues in processes of this host, with equal outcomes")
                self._leave.wait(2 * HEAD_CHECK_SECONDS)  # until no thread is in a call of Ray
                break
        if mine:
            import ray

            ray.shutdown()
            if self._guard is not None:
                self._guard.close()
            if self._address is None:
                _reload_authentication()  # the next cluster this process joins has another token, or none
        self._leave.wait()

    def _connect(self) -> bool:
        """Connect; return True if this made a connection, which must be closed."""
        # read by Ray when it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        mine = False
        attempt = ForeignCall()  # Ray raises plain `Exception` too, for example if its start times out
        with attempt:
            import ray

            if not ray.is_initialized():
                with signal_handler_kept(signal.SIGTERM):  # Ray's would print a stack trace
                    self._initialize(ray)
                mine = True
        if attempt.failure is not None:
            if self._guard is not None:
                self._guard.close()
            where = f"join Ray at {self._address}" if self._address else "start Ray"
            self._failure = one_line(f"cannot {where}: {attempt.failure}", 300)
        return mine

    def _initialize(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        if self._address:
            reach(self._address)  # for a minute Ray would try, where nothing listens
            ray.init(address=self._address, **quiet)
            return
        with _private_ray() as token:
            # "local" and not None, which would join any Ray that happens to run on this host
            own = {"address": "local", "num_cpus": self._workers, "object_store_memory": _OBJECT_STORE_BYTES}
            directory = tempfile.mkdtemp(prefix="ray-", dir=_temporary_directory())
            self._guard = ProcessGuard(token, directory)
            ray.init(**own, **quiet, _temp_dir=directory)
            processes = ray_processes()
            self._guard.watch([processes["raylet"], processes["gcs_server"]])
        address = ray.get_runtime_context().gcs_address
        if address.rpartition(":")[0] != _LOOPBACK:
            ray.shutdown()
            raise RuntimeError(f"it listens on {address} and not on the loopback interface alone")


def _temporary_directory() -> str | None:
    """Return where Ray makes its directories: the default of macOS is too long for the names of its sockets."""
    return os.environ.get("RAY_TMPDIR") or ("/tmp" if sys.platform == "darwin" else None)


@contextmanager
def _private_ray() -> Iterator[str]:
    """Make a Ray started inside this block bind to the loopback interface and require a new random token, the result.

    Ray's servers bind to the loopback interface if their node's address is 127.0.0.1. On Linux `ray.init` replaces
    that address by the host's; without `ENABLE_RAY_CLUSTER`, as on macOS and Windows, it chooses 127.0.0.1. The token
    keeps out other users of this host. Ray's processes inherit it, with what evaluators get and variables of Ray's own,
    but nothing else of this process's environment, such as keys.
    """
    from ray._private import ray_constants, services

    token = secrets.token_hex(32)
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    before = {name: os.environ.get(name) for name in variables}
    clusters_enabled, popen = ray_constants.ENABLE_RAY_CLUSTER, services.ConsolePopen
    os.environ.update(variables)
    services.ConsolePopen = _without_keys(popen)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        _reload_authentication()
        yield token
    finally:
        services.ConsolePopen = popen
        ray_constants.ENABLE_RAY_CLUSTER = clusters_enabled
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _without_keys(popen: type[subprocess.Popen[bytes]]) -> type[subprocess.Popen[bytes]]:
    """Return the class by which Ray starts processes, such that they get only what Ray and evaluators need.

    Removing the rest from `os.environ` meanwhile would take keys from threads that call models.
    """
    given = child_environment()

    class WithoutKeys(popen):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: Any, env: Mapping[str, str], **options: Any) -> None:
            own = {k: v for k, v in env.items() if k.startswith("RAY_") or k == "PATH" or os.environ.get(k) != v}
            super().__init__(*arguments, env={**given, **own}, **options)

    return WithoutKeys


def _reload_authentication() -> None:
    """Make Ray reread RAY_AUTH_MODE and the token from the environment, otherwise read only once at import."""
    from ray import _raylet

    _raylet.Config.initialize("")  # type: ignore[attr-defined]
    _raylet.AuthenticationTokenLoader.instance().reset_cache()  # type: ignore[attr-defined]
