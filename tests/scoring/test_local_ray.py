"""The Ray that a search starts on this machine is closed to everyone else."""

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

import pytest

from vulcan.scoring import ray_runtime as runtime_module
from vulcan.scoring.ray_runtime import RayRuntime
from vulcan.scoring.sandbox.processes import descendants

pytestmark = [pytest.mark.ray, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

LISTEN = "0A"
"""State of a listening socket in /proc/net/tcp, see proc_net_tcp in the kernel's documentation."""

JOIN = """
import sys
from ray._private import ray_constants
ray_constants.ENABLE_RAY_CLUSTER = False  # a Ray on the loopback interface is joined from there
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
print(ray.get(ray.remote(lambda: "ran code").remote()))
"""


def listeners() -> Iterator[tuple[str, ipaddress.IPv4Address | ipaddress.IPv6Address, int]]:
    """The listening TCP sockets of this process's descendants: the process, the address and the port."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for fields in map(str.split, Path(table).read_text().splitlines()[1:]):
            if fields[3] == LISTEN:
                address, _, port = fields[1].partition(":")
                words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
                sockets[fields[9]] = ipaddress.ip_address(b"".join(words)), int(port, 16)
    for pid in descendants(os.getpid()):
        with suppress(OSError):  # it may have ended
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                inode = re.sub(r"\D", "", os.readlink(descriptor))
                if inode in sockets:
                    yield Path(f"/proc/{pid}/comm").read_text().strip(), *sockets[inode]


def test_every_port_of_every_process_is_on_the_loopback_interface(ray_runtime: RayRuntime) -> None:
    ray = ray_runtime.wait()
    actor = ray.remote(type("Actor", (), {"ping": lambda self: "pong"})).remote()
    assert ray.get(actor.ping.remote()) == "pong"
    found = list(listeners())
    ray.kill(actor)
    names = {process for process, _, _ in found}
    assert {"gcs_server", "raylet"} <= names and any(name.startswith("ray::") for name in names)
    addresses = [(getattr(address, "ipv4_mapped", None) or address, port) for _, address, port in found]
    assert [where for where in addresses if not where[0].is_loopback] == []
    trie = Path("/proc/net/fib_trie").read_text()
    for own in set(re.findall(r"\|-- ([\d.]+)\n\s+/32 host LOCAL", trie)):
        for _, port in addresses if not own.startswith("127.") else ():
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((own, port), 1.0)


@pytest.mark.parametrize(
    "token", [{"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}]
)
def test_nobody_joins_without_its_token(ray_runtime: RayRuntime, token: dict[str, str]) -> None:
    address = ray_runtime.wait().get_runtime_context().gcs_address
    own = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    environment = own | token | {"RAY_NUM_REDIS_GET_RETRIES": "1"}  # of the GCS server too, in spite of the name
    command = [sys.executable, "-c", JOIN, address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "ran code" not in done.stdout
    assert "AuthenticationError" in done.stderr or "InvalidAuthToken" in done.stderr


def test_the_token_is_long_and_for_rays_processes_alone(
    ray_runtime: RayRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = ray_runtime.wait()
    first = ray.get(ray.remote(lambda: os.environ["RAY_AUTH_TOKEN"]).remote())
    assert len(first) == 64
    assert not {"RAY_AUTH_TOKEN", "RAY_AUTH_MODE"} & set(os.environ)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the user's own cluster")
    monkeypatch.setattr(runtime_module, "_reload_authentication", lambda: None)  # the running Ray keeps its own
    with runtime_module._private_ray():
        assert len({os.environ["RAY_AUTH_TOKEN"], first, "of the user's own cluster"}) == 3
    assert os.environ["RAY_AUTH_TOKEN"] == "of the user's own cluster"
