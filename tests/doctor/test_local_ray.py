"""The Ray that a search starts on this machine is closed to everyone else."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from vulcan.doctor.attacks import local_ray
from vulcan.doctor.attacks.local_ray import host_addresses, is_loopback, listeners, ray_results
from vulcan.scoring import ray_runtime as runtime_module
from vulcan.scoring.ray_runtime import RayRuntime
from vulcan.scoring.sandbox.layers import Layer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.ray
@pytest.mark.usefixtures("ray_runtime")
def test_no_attack_on_the_local_ray_gets_through() -> None:
    """Neither from the network, nor from this host without the token; without the mend, all three do."""
    results = {result.attack: (result.stopped_by, result.observed) for result in ray_results()}
    assert {attack: by for attack, (by, _) in results.items()} == {
        "API key in the environment of Ray's processes": Layer.ENVIRONMENT.value,
        "reach the local Ray from the network": "loopback",
        "join the local Ray without a token": "token of the local Ray",
        "join the local Ray with a guessed token": "token of the local Ray",
    }, results


@pytest.mark.ray
def test_every_port_of_every_process_is_on_the_loopback_interface(ray_runtime: RayRuntime) -> None:
    ray = ray_runtime.wait()
    actor = ray.remote(type("Actor", (), {"ping": lambda self: "pong"})).remote()
    assert ray.get(actor.ping.remote()) == "pong"
    found = [listener for listener in listeners(os.getpid()) if listener.process != "python"]
    ray.kill(actor)
    assert {"gcs_server", "raylet"} <= {listener.process for listener in found}
    assert any(listener.process.startswith("ray::") for listener in found)
    assert [listener for listener in found if not listener.loopback] == []


@pytest.mark.ray
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


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_port_open_to_the_network_is_seen(family: socket.AddressFamily) -> None:
    for address, loopback in (("", False), ("127.0.0.1" if family == socket.AF_INET else "::1", True)):
        with socket.create_server((address, 0), family=family) as server:
            port = server.getsockname()[1]
            found = [listener for listener in listeners(os.getpid()) if listener.port == port]
            assert [listener.loopback for listener in found] == [loopback]


def test_an_address_of_ipv4_within_ipv6_counts_as_what_it_is() -> None:
    assert is_loopback("::ffff:127.0.0.1")
    assert not is_loopback("::ffff:10.0.0.1")


def test_a_port_reached_from_the_network_got_through() -> None:
    addresses = host_addresses()
    if not addresses:
        pytest.skip("this host has no address but the loopback one")
    with socket.create_server(("", 0)) as server:
        result = local_ray._reach_from_network([server.getsockname()[1]])
    assert result.stopped_by is None
