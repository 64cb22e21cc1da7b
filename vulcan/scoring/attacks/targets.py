"""What attacks are aimed at: files, sockets, shared memory and a process, all made for the purpose."""

from __future__ import annotations

import ctypes
import os
import platform
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vulcan.scoring.frames import HEADER, Kind

KEY_VARIABLE = "VULCAN_ATTACK_API_KEY"
"""A variable that stands for a model's key."""

_OPENAT = {"x86_64": 257, "aarch64": 56}
_VICTIM = "import sys\nx = object()\nprint(id(x), flush=True)\nsys.stdin.read()"
_CREATE, _REMOVE = 0o1000, 0


@contextmanager
def targets() -> Iterator[dict[str, object]]:
    """What attacks are `given`; all of it is gone at the end."""
    with ExitStack() as until_done:
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
            "forgery": (HEADER.pack(Kind.MESSAGE, len(body)) + body).decode("latin-1"),
        }


@contextmanager
def _shared_memory() -> Iterator[int]:
    """The key of a System V segment that everybody on this host may attach."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = int.from_bytes(os.urandom(3), "big") + 1
    segment = libc.shmget(key, ctypes.c_size_t(4096), _CREATE | 0o666)
    yield key
    if segment >= 0:
        libc.shmctl(segment, _REMOVE, None)
