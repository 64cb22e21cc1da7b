"""A router gains in a deployment of Ray Serve what it gains in the simulator.

Its replicas compute in steps that last as long as the modelled server's, and have its memory and cache of prefixes; no
model is computed. This needs ray[serve], and is skipped without; `make test-serving` runs it, with ARGS=-s it shows
figures, which want a machine that is not busy.
"""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plain_server
import pytest
from plain_server import Request, Server, requests_of, spec_of

from vulcan.anvil import check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan_serving.simulate import pace, simulate
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import load_prompts

if any(importlib.util.find_spec(name) is None for name in ("ray", "fastapi", "grpc")):
    pytest.skip("ray[serve] is not installed: make test-serving", allow_module_level=True)

import ray
from numpy.typing import NDArray
from ray import serve
from ray.serve.config import RequestRouterConfig

TASK = find_task("request_routing")
WITHIN = 2.0
"""Latencies are asserted within this factor where the router decides anew, which depends on chance."""
GIVEN_ROUTES = 1.1
"""And within this one where the simulator is given the replica that each request was sent to."""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder from which Ray imports exported modules."""
    folder = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        found = {"PYTHONPATH": f"{folder}:{Path(__file__).parent}"}
        ray.init("local", num_cpus=4, include_dashboard=False, runtime_env={"env_vars": found})
        serve.start(http_options={"location": "NoServer"})
        yield folder
        serve.shutdown()
        ray.shutdown()


def deployed(name: str, source: str | None, modules: Path, *given: Any) -> Any:
    """Return a handle of a deployment with a router exported from its source, or with Ray Serve's own."""
    for each in serve.status().applications:
        serve.delete(each)  # and another name: Ray keeps the handles of one, and a handle the router that it began with
    model: Any = StepServer
    if source is not None:
        module, told = f"ray_{name}", Provenance(TASK.name, name, "", "", "")
        (text,) = find_exporter("ray-serve", TASK).export(check(source, TASK), told).values()
        (modules / f"{module}.py").write_text(text)
        asks = {"describe": f"{__name__}.described"}
        config = RequestRouterConfig(request_router_class=f"{module}.PolicyRouter", request_router_kwargs=asks)
        model = model.options(request_router_config=config)
    return serve.run(model.bind(*given), name=name, route_prefix=None)


def figures(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean, the median and the 99th percentile."""
    return np.array([seconds.mean(), np.median(seconds), np.percentile(seconds, 99)])


def described(args: Any, kwargs: Any) -> dict[str, float]:
    """Return what a router is told of a request."""
    return args[0].known if isinstance(args[0], Request) else {}


@serve.deployment(num_replicas=4, max_ongoing_requests=10_000, ray_actor_options={"num_cpus": 0})
class StepServer:
    """A replica that computes in steps, each as long as the modelled server's; the requests and tokens are made up.

    A step begins when the one before it was due to end: what holds Python up does not slow the modelled accelerator.
    """

    def __init__(self, spec: ServingSpec, block_tokens: int) -> None:
        self.server = Server(spec, block_tokens, None)
        self.ends: dict[Request, asyncio.Future[None]] = {}
        self.latest = 0.0
        self.computing: asyncio.Task[None] | None = None

    async def __call__(self, request: Request) -> tuple[float, float, float, str]:
        request.arrived = time.monotonic()
        self.ends[request] = asyncio.get_running_loop().create_future()
        self.server.waiting.append(request)
        if self.computing is None:
            self.computing = asyncio.create_task(self.compute())
        await self.ends[request]
        return request.arrived, request.first, self.latest, serve.get_replica_context().replica_id.unique_id

    async def compute(self) -> None:
        now = time.monotonic()
        while self.server.running or self.server.waiting:
            if not (took := self.server.schedule(now, [], 0)):
                continue
            now += took
            await asyncio.sleep(now - time.monotonic())
            self.latest = max(self.latest, time.monotonic() - now)
            for event, request in self.server.finish(now):
                if event == "on_finish":
                    self.ends.pop(request).set_result(None)
        self.computing = None


GIVEN = {
    "found": """
from vulcan.anvil import hash

STEP = 1.34
FACTOR = 6.36
WEIGHT = 1.35
FLOOR = 0.011
LIMIT = 0.0355
LIMIT_2 = 8.94
DECAY = 0.333
FLOOR_2 = 13.5


class replica:
    mark = 0


class policy:
    weight = 4.74
    sketch = [0] * 4096
    hand = 0


def on_dispatch(now, replica, router, request):
    policy.weight = min(max(policy.weight * (STEP if replica.mark else 1 / STEP), LIMIT), LIMIT_2)
    replica.mark = replica.drawn
    policy.sketch[hash(replica.id, 0)] += 1
    policy.sketch[policy.hand] *= DECAY
    policy.hand += 1


def on_finish(now, replica, router, answer):
    replica.mark = replica.drawn


def score(now, replica, router, request):
    others = FACTOR * -replica.mine if replica.chance < policy.weight else -replica.mine
    others = others * (replica.chance + FLOOR) ** (WEIGHT * policy.weight)
    mean = (replica.mine if replica.same else others) / (replica.mine + 1)
    return mean * (policy.sketch[hash(replica.id, 0)] + FLOOR_2)
""",
    "by_hand": """
def score(now, replica, router, request):
    if replica.same and replica.mine < 8 + 1.5 * router.unfinished / router.replicas:
        return 1
    return -replica.mine
""",
}
"""What a search for what Ray Serve shows found on other agents, with names and parts of no effect left out; and where
the session's last request went, unless that is busy."""


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize(
    ("router", "load"),
    [
        *((router, 0.9) for router in ("ray_serve_s_own", "power_of_two", "least_loaded", *GIVEN)),
        *(("round_robin", load) for load in (0.3, 0.6, 0.8, 0.9, 0.95)),
    ],
)
def test_a_router_gains_what_it_gains_in_the_simulator(router: str, load: float, modules: Path) -> None:
    trace = load_prompts("agent:requests=400,seed=3")
    spec = spec_of(trace, "70b-8xa100", load, measure_from=40, replicas=4)
    stretch = pace(spec, trace) / spec.load
    sources = TASK.seed_policies() | GIVEN
    source = sources.get(router, sources["power_of_two"])
    handle = deployed(f"{router}_{100 * load:.0f}", sources.get(router), modules, spec, trace.block_tokens)
    for k in range(16):  # what is slow is the first request of a replica
        handle.remote(Request(k, 1, 1, [], 0.0, {}, 0)).result()

    async def all_served(requests: list[Request]) -> list[tuple[float, float, float, str]]:
        start = time.monotonic() + 0.5

        async def one(request: Request) -> tuple[float, float, float, str]:
            due = start + request.arrived
            await asyncio.sleep(due - time.monotonic())
            arrived, first, latest, at = await handle.remote(request)
            return arrived - due, first - due, latest, at

        return await asyncio.gather(*map(one, requests))

    workload = ServingWorkload.of(spec, trace, stretch)
    served = asyncio.run(all_served(requests_of(workload)))
    way, first, latest = np.array([times for *times, _ in served[spec.measure_from :]]).T
    numbers = {at: number for number, at in enumerate(sorted({at for *_, at in served}))}
    same_routes, _, _ = plain_server.serve(spec, workload, routes=[numbers[at] for *_, at in served])
    expected = np.array([request.first - request.arrived for request in same_routes[spec.measure_from :]])
    simulated = []
    for seed in range(1, 11):
        varied = replace(spec, seed=seed)
        run = simulate(varied, ServingWorkload.of(varied, trace, stretch), router=check(source, TASK))
        simulated.append(figures(run.ttft))
    real = figures(first)
    print(f"\n{router} at {load}: {real}, simulated on the same routes {figures(expected)}, on its own", end="")
    print(f" {np.mean(simulated, 0)}, {np.min(simulated, 0)} to {np.max(simulated, 0)}", end="")
    print(f", {1e3 * way.mean():.1f} ms on the way, steps at most {1e3 * latest.max():.0f} ms late")
    assert np.all(np.maximum(real / figures(expected), figures(expected) / real) < GIVEN_ROUTES)
    assert np.all(real > np.min(simulated, 0) / WITHIN)
    assert np.all(real < np.max(simulated, 0) * WITHIN)
