"""Load balancers of Envoy: the choices of the reference, of hosts that come and go too, and in Envoy where it is there.

`make test-envoy` installs it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from compiled import library
from effort import examples
from policy_trees import accepted, random_program

from vulcan.anvil import Policy, check
from vulcan.anvil.semantics import draw
from vulcan.errors import UserError
from vulcan.export import Provenance, hidden_by
from vulcan.export.formats import export_policy
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.searches.target import seeds_of

TASK = find_task("load_balancing")
SHOWN = TASK.offered(complete_settings(TASK, {}), hidden_by(TASK, "envoy"))
HERE = Path(__file__).parent
FLAGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-ffp-contract=off", "-Wl,-Bsymbolic")
ROOM, SEED = 16, 1  # a balancer's seed is its number
NOTHING = {name: 0.0 for name, _ in TASK.whole_interface.features()}


def exported(policy: Policy) -> dict[str, str]:
    return export_policy(policy, "envoy", Provenance("load_balancing", "", "", "", ""))


def generated(random: Random, wanted: int) -> Iterator[Policy]:
    """Random programs with state, of what Envoy shows."""
    while wanted:
        if (found := accepted(random_program(SHOWN, random, statistics=False), SHOWN)) is not None:
            yield check(found.source, TASK)
            wanted -= 1


class Hosts:
    """The module over hosts of the test's own, and the same choices by the reference."""

    def __init__(self, policy: Policy) -> None:
        files = {**exported(policy), "hosts.c": (HERE / "envoy_hosts.c").read_text()}
        self.made = library(files, "hosts.c", FLAGS)
        self.made.envoy_dynamic_module_on_lb_new.restype = ctypes.c_void_p
        self.made.envoy_dynamic_module_on_lb_choose_host.restype = ctypes.c_bool
        self.module = ctypes.c_void_p(self.made.envoy_dynamic_module_on_lb_new(None, None))
        self.handles = "on_dispatch" in {handler.name for handler in policy.program.handlers}
        self.reference, self.word = policy.reference(SEED), SEED
        self.ids: dict[str, int] = {}
        self.set("levels", ctypes.c_size_t, 2)

    def set(self, name: str, kind: type[ctypes.Array[Any]] | type[Any], values: Any) -> None:
        place = kind.in_dll(self.made, name)
        if isinstance(place, ctypes.Array):
            place[: len(values)] = values
        else:
            place.value = values

    def draw(self) -> float:
        number, self.word = draw(self.word)
        return number

    def show(self, levels: Sequence[Mapping[str, tuple[bool, int]]], now: int) -> None:
        """Set the hosts of both priorities: whether each is healthy, and its requests."""
        self.set("clock_ms", ctypes.c_double, now)
        self.set("counts", ctypes.c_size_t * 2, [len(hosts) for hosts in levels])
        for level, hosts in enumerate(levels):
            for name, kind, column in (
                ("addresses", ctypes.c_char * 24, [address.encode() for address in hosts]),
                ("healthy", ctypes.c_bool, [healthy for healthy, _ in hosts.values()]),
                ("active", ctypes.c_uint64, [active for _, active in hosts.values()]),
            ):
                row = (kind * ROOM * 2).in_dll(self.made, name)[level]
                for n, value in enumerate(column):
                    if name == "addresses":
                        row[n].value = value
                    else:
                        row[n] = value

    def remove(self, address: str) -> None:
        rows = (ctypes.c_char * 24 * ROOM).in_dll(self.made, "gone")
        rows[0].value = address.encode()
        self.set("removed", ctypes.c_size_t, 1)
        update = self.made.envoy_dynamic_module_on_lb_on_host_membership_update
        update(None, self.module, ctypes.c_size_t(0), ctypes.c_size_t(1))
        if (key := self.ids.pop(address, None)) is not None:
            self.reference.forget(float(key))
            self.reference.release(float(key))

    def chosen(self) -> tuple[int, int] | None:
        level, index = ctypes.c_uint32(), ctypes.c_uint32()
        choose = self.made.envoy_dynamic_module_on_lb_choose_host
        is_chosen = choose(None, self.module, None, ctypes.byref(level), ctypes.byref(index))
        return (level.value, index.value) if is_chosen else None

    def expected(self, hosts: Mapping[str, int], now: int) -> int:
        """The choice among healthy hosts by the reference; ids are the lowest that are free."""
        for address in hosts:
            if address not in self.ids:
                self.ids[address] = next(n for n in count() if n not in self.ids.values())
        shared = {"now": now, "servers.count": max(2, len(hosts)), "servers.unanswered": sum(hosts.values())}
        start, best, most = int(self.draw() * len(hosts)), 0, 0.0
        shown: dict[int, dict[str, float]] = {}
        for n in range(len(hosts)):
            number = (start + n) % len(hosts)
            address, mine = list(hosts.items())[number]
            own = {"server.id": self.ids[address], "server.mine": mine, "server.chance": self.draw()}
            shown[number] = {name: float(value) for name, value in {**NOTHING, **shared, **own}.items()}
            score = self.reference(shown[number], float(self.ids[address]))
            if n == 0 or score > most:
                best, most = number, score
        if self.handles:
            self.reference.handle("on_dispatch", shown[best], shown[best]["server.id"])
        return best


def test_choices_are_those_of_the_reference() -> None:
    random = Random(7)
    for policy in generated(random, examples(12)):
        hosts = Hosts(policy)
        levels: list[dict[str, tuple[bool, int]]] = [{}, {}]
        clock = 0
        for step in range(30):
            level = random.randrange(2)
            address = f"10.0.{level}.{random.randrange(9)}:80"
            if levels[level].pop(address, None) is not None:
                hosts.remove(address)
            elif len(levels[level]) < ROOM:
                levels[level][address] = (True, 0)
            for each in levels:
                each |= {name: (random.random() < 0.7, random.randrange(20)) for name in each}
            clock += random.randrange(2000)
            hosts.show(levels, clock)
            healthy = [{name: active for name, (is_up, active) in each.items() if is_up} for each in levels]
            first = next((n for n, each in enumerate(healthy) if each), None)
            expected = None if first is None else (first, hosts.expected(healthy[first], clock))
            assert hosts.chosen() == expected, f"step {step}\n{policy.source}"


def test_what_envoy_does_not_show_is_refused_by_name() -> None:
    for source, name in (("-server.in_flight", "server.in_flight"), ("-server.mine.ewma(0.5)", "server.mine.ewma")):
        policy = check(f"def score(now, server, servers):\n    return {source}\n", TASK)
        with pytest.raises(UserError, match=f"the policy uses {name}"):
            exported(policy)
    assert seeds_of(TASK, "envoy") and "least_loaded" not in TASK.seed_policies()


ROUTES = """\
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: FRONT}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": TYPE.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [ROUTE]}]}
          http_filters: [{name: router, typed_config: {"@type": TYPE.filters.http.router.v3.Router}}]
  clusters:
  - name: all
    type: STATIC
    load_assignment: {cluster_name: all, endpoints: [{lb_endpoints: [HOSTS]}]}
BALANCING
""".replace("ROUTE", "{match: {prefix: /}, route: {cluster: all}}").replace(
    "TYPE", "type.googleapis.com/envoy.extensions"
)
HOST = "{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}"


class Upstream:
    """Servers that hold each request until they are told to answer it."""

    def __init__(self) -> None:
        self.held: asyncio.Queue[tuple[int, asyncio.Event]] = asyncio.Queue()
        self.number = 0

    async def start(self) -> int:
        number, self.number = self.number, self.number + 1

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError):
                while await reader.readuntil(b"\r\n\r\n"):
                    answered = asyncio.Event()
                    await self.held.put((number, answered))
                    await answered.wait()
                    writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])


async def asked(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nhost: all\r\n\r\n")
    assert b" 204 " in await reader.readline()
    writer.close()


async def choices(folder: Path, steps: Sequence[int | None], servers: int) -> list[int]:
    """Send a request at each None, answer the oldest but so many at each number: the servers that Envoy chose."""
    upstream, chosen = Upstream(), []
    ports = [await upstream.start() for _ in range(servers)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        front = free.getsockname()[1]
    in_comment = (folder / "envoy_balancer.c").read_text().split("this in the cluster:")[1].split(" * Each of")[0]
    balancing = "\n".join(line[3:] for line in in_comment.split("\n") if line.startswith(" *  "))
    routes = ROUTES.replace("FRONT", str(front)).replace("HOSTS", ", ".join(HOST % port for port in ports))
    (folder / "envoy.yaml").write_text(routes.replace("BALANCING", balancing))
    with (folder / "log").open("w") as log:
        envoy = subprocess.Popen(
            ["envoy", "-c", "envoy.yaml", "--concurrency", "1", "-l", "warning", "--use-dynamic-base-id"],
            cwd=folder, stderr=log, env={**os.environ, "ENVOY_DYNAMIC_MODULES_SEARCH_PATH": str(folder)},
        )  # fmt: skip
    try:
        waiting: list[tuple[asyncio.Event, asyncio.Task[None]]] = []
        while envoy.poll() is None:
            with suppress(OSError):
                (await asyncio.open_connection("127.0.0.1", front))[1].close()
                break
            await asyncio.sleep(0.05)
        for step in steps:
            if step is None:
                request = asyncio.create_task(asked(front))
                held = asyncio.create_task(upstream.held.get())
                await asyncio.wait((request, held), return_when=asyncio.FIRST_COMPLETED)
                assert not request.done(), (folder / "log").read_text()
                server, answered = await held
                chosen.append(server)
                waiting.append((answered, request))
            else:
                answered, request = waiting.pop(step)
                answered.set()
                await request
        for answered, request in waiting:
            answered.set()
            await request
        return chosen
    finally:
        envoy.terminate()
        envoy.wait()


BY_ID = "def score(now, server, servers):\n    return -server.mine - 0.001 * server.id\n"
IN_TURN = """
class policy:
    last = 0

class server:
    got = 0

def on_dispatch(now, server, servers):
    server.got = server.got + 1
    policy.last = server.id

def score(now, server, servers):
    return -2 * server.mine - server.got % 3 - (server.id == policy.last) - server.id / 1e3 + servers.unanswered
"""


@pytest.mark.skipif(shutil.which("envoy") is None, reason="no Envoy: make test-envoy")
@pytest.mark.parametrize("source", [BY_ID, IN_TURN], ids=["least", "state"])
def test_envoy_itself_chooses_as_the_reference(source: str, tmp_path: Path) -> None:
    """Policies that leave no tie to chance."""
    policy = check(source, TASK)
    for name, text in exported(policy).items():
        (tmp_path / name).write_text(text)
    command = "gcc -std=gnu11 -O2 -ffp-contract=off -shared -fPIC envoy_balancer.c -o libbalancer.so -lm"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    random, steps, in_flight, servers = Random(5), [], [], 4
    hosts, expected, open_requests = Hosts(policy), [], 0
    for _ in range(80):
        if open_requests and random.random() < 0.45:
            steps.append(random.randrange(open_requests))
            in_flight.pop(steps[-1])
            open_requests -= 1
        else:
            steps.append(None)
            expected.append(hosts.expected({str(n): in_flight.count(n) for n in range(servers)}, 0))
            in_flight.append(expected[-1])
            open_requests += 1
    assert asyncio.run(choices(tmp_path, steps, servers)) == expected
