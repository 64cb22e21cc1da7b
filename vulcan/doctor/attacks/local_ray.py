"""Attacks on the local Ray that a search starts: reaching its ports from the network, joining without its token."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from vulcan.doctor.attacks.attack import KEY_VARIABLE
from vulcan.documents.host import AttackResult, PortDocument
from vulcan.scoring.foreign_code import one_line
from vulcan.scoring.ray_runtime import RayRuntime
from vulcan.scoring.sandbox.layers import Layer
from vulcan.scoring.sandbox.processes import descendants

_LISTEN = "0A"
"""State of a listening socket in /proc/net/tcp, see proc_net_tcp in the kernel's documentation."""
_CONNECT_SECONDS = 1.0
_JOIN_SECONDS = 60.0


def is_loopback(address: str) -> bool:
    """Check whether an address can be reached from this host only."""
    known = ipaddress.ip_address(address)
    return (getattr(known, "ipv4_mapped", None) or known).is_loopback


def listeners(pid: int) -> list[PortDocument]:
    """List the listening TCP sockets of a process and its descendants, by port; empty without /proc."""
    sockets = dict(_listening_sockets())
    found = set()
    for each in (pid, *descendants(pid)):
        with suppress(OSError):  # it may have ended
            name = Path(f"/proc/{each}/comm").read_text().strip()
            for descriptor in Path(f"/proc/{each}/fd").iterdir():
                with suppress(OSError):
                    inode = os.readlink(descriptor).removeprefix("socket:[").removesuffix("]")
                    if inode in sockets:
                        address, port = sockets[inode]
                        found.add(PortDocument(name, address, port, is_loopback(address)))
    return sorted(found, key=lambda listener: listener.port)


def _listening_sockets() -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield inode, address and port of each listening TCP socket of this network namespace."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    address, _, port = fields[1].partition(":")
                    yield fields[9], (_decode(address), int(port, 16))


def _decode(address: str) -> str:
    """Decode a hexadecimal address of /proc/net/tcp, whose 32-bit words are in the host's byte order."""
    words = [bytes.fromhex(address[at : at + 8]) for at in range(0, len(address), 8)]
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    return str(ipaddress.ip_address(b"".join(words)))


def host_addresses() -> list[str]:
    """List the IPv4 addresses of this host's interfaces, except loopback; empty without /proc."""
    with suppress(OSError):
        trie = Path("/proc/net/fib_trie").read_text()
        local = set(re.findall(r"\|-- ([\d.]+)\n\s+/32 host LOCAL", trie))
        return sorted(address for address in local if not ipaddress.ip_address(address).is_loopback)
    return []


def ray_results() -> Iterator[AttackResult]:
    """Carry out the attacks on a local Ray started for them. Raises RayUnavailable if it does not start."""
    with RayRuntime(workers=1) as runtime:
        ray = runtime.wait()
        address = ray.get_runtime_context().gcs_address
        yield _keys_of_descendants()
        yield _reach_from_network([listener.port for listener in listeners(os.getpid())])
        yield _join("join the local Ray without a token", address, {"RAY_AUTH_MODE": "disabled"})
        guess = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
        yield _join("join the local Ray with a guessed token", address, guess)


def _keys_of_descendants() -> AttackResult:
    """Look for the suite's key in the environment of every process that this one has started, directly or not."""
    key, seen, leaked = os.environ.get(KEY_VARIABLE, KEY_VARIABLE).encode(), 0, []
    for pid in descendants(os.getpid()):
        with suppress(OSError):  # it may have ended
            seen += 1
            if key in Path(f"/proc/{pid}/environ").read_bytes():
                leaked.append(Path(f"/proc/{pid}/comm").read_text().strip())
    detail = f"in the environment of {', '.join(leaked)}" if leaked else f"{seen} processes without it"
    by = None if leaked or not seen else str(Layer.ENVIRONMENT)
    return AttackResult("API key in the environment of Ray's processes", "ray", by, detail)


def _reach_from_network(ports: list[int]) -> AttackResult:
    name = "reach the local Ray from the network"
    addresses = host_addresses()
    for address in addresses:
        for port in ports:
            with suppress(OSError), socket.create_connection((address, port), _CONNECT_SECONDS):
                return AttackResult(name, "ray", None, f"connected to {address}:{port}")
    return AttackResult(
        name, "ray", "loopback", f"{len(ports)} ports refused at {', '.join(addresses) or 'no address'}"
    )


_JOIN = """
import sys
from ray._private import ray_constants
ray_constants.ENABLE_RAY_CLUSTER = False  # a Ray on the loopback interface is joined from there
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
print(ray.get(ray.remote(lambda: "ran code").remote()))
"""


def _join(name: str, address: str, variables: dict[str, str]) -> AttackResult:
    """Try to run a function on the Ray at `address` from a process with these environment variables."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    environment = own | variables | {"RAY_NUM_REDIS_GET_RETRIES": "1"}  # of the GCS server too, in spite of the name
    command = [sys.executable, "-c", _JOIN, address]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=_JOIN_SECONDS
        )
    except subprocess.TimeoutExpired:
        return AttackResult(name, "ray", None, f"neither joined nor refused within {_JOIN_SECONDS:g} s")
    if "ran code" in done.stdout:
        return AttackResult(name, "ray", None, "ran code on it")
    refused = "AuthenticationError" in done.stderr or "InvalidAuthToken" in done.stderr
    last = one_line((done.stderr.strip() or "no output").splitlines()[-1], 200)
    return AttackResult(name, "ray", "token of the local Ray" if refused else None, last)
