"""A deployment of Ray Serve, with its own router and with exported ones, has the latencies of the simulator.

Its replicas serve one request at a time and sleep as long as a server would take. The simulator is given when requests
came to a replica, and for how long each kept it busy, so that a busy machine is busy for both: compared is what routers
make of it. This needs ray[serve], and is skipped without; `make test-serving` runs it, with ARGS=-s it shows figures.
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
import pytest
from numpy.typing import NDArray

from vulcan.anvil import check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan_serving.simulate import simulate
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts.prompt_trace import PromptTraceBuilder

if any(importlib.util.find_spec(name) is None for name in ("ray", "fastapi", "grpc")):
    pytest.skip("ray[serve] is not installed: make test-serving", allow_module_level=True)

import ray
from ray import serve
from ray.serve.config import RequestRouterConfig

TASK = find_task("request_routing")
REPLICAS, REQUESTS, SECONDS = 3, 150, 0.3
TOKEN_US = 10.0
WITHIN = 2.0
"""Latencies are asserted within this factor, which a busy machine keeps; the page of results has measured figures."""

ROUTERS = {"Ray Serve's own": "power_of_two", "power_of_two": "power_of_two", "round_robin": "round_robin"}


@serve.deployment(num_replicas=REPLICAS, max_ongoing_requests=10_000, ray_actor_options={"num_cpus": 0})
class Model:
    """A server of one request at a time, first come, first served."""

    def __init__(self) -> None:
        self.is_free = asyncio.Lock()
        self.free_since = 0.0

    async def __call__(self, seconds: float) -> tuple[float, float, float]:
        arrived = time.monotonic()
        async with self.is_free:
            began = max(arrived, self.free_since)
            await asyncio.sleep(seconds)
            self.free_since = time.monotonic()
            return arrived, began, self.free_since


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder from which Ray imports exported modules."""
    folder = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        ray.init(num_cpus=4, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": str(folder)}})
        serve.start(http_options={"location": "NoServer"})
        yield folder
        serve.shutdown()
        ray.shutdown()


async def served(handle: Any, due: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Send requests when they are due; return when each came to a replica, had it for itself, and ended."""
    start = time.monotonic() + 0.5

    async def one(at: float, takes: float) -> tuple[float, float, float]:
        await asyncio.sleep(start + at - time.monotonic())
        return await handle.remote(takes)

    return np.array(await asyncio.gather(*map(one, due.tolist(), seconds.tolist())))


def simulated(source: str, arrived: NDArray[np.float64], took: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median and 99th percentile of latencies in the simulator, in a row for each of its draws."""
    builder = PromptTraceBuilder("served", 2**20)
    for at, seconds in zip(arrived - arrived[0], took, strict=True):
        builder.add(float(at), round(1e6 * seconds / TOKEN_US), 1, [])
    trace = builder.build()
    spec = ServingSpec(
        trace="", trace_format=None, block_tokens=trace.block_tokens, digest="", requests=REQUESTS, measure_from=0,
        measure_to=REQUESTS, load=0.0, base_ms=1e-3, prefill_us=TOKEN_US, pair_ns=0.0, decode_us=TOKEN_US,
        context_ns=0.0, memory=2**40, replicas=REPLICAS, max_running=1, budget=2**20,
    )  # fmt: skip
    found = []
    for seed in range(1, 41):
        varied = replace(spec, seed=seed)
        run = simulate(varied, ServingWorkload.of(varied, trace, 1.0), router=check(source, TASK))
        found.append(np.percentile(run.last - run.workload.arrivals, [50, 99]))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize("load", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("router", ROUTERS)
def test_latencies_are_those_of_the_simulator(router: str, load: float, modules: Path) -> None:
    rng = np.random.default_rng(5)
    seconds = SECONDS * rng.lognormal(-0.125, 0.5, REQUESTS)
    due = np.cumsum(rng.exponential(SECONDS / REPLICAS / load, REQUESTS))
    source = TASK.seed_policies()[ROUTERS[router]]
    model: Any = Model
    if router in ROUTERS.values():
        policy, told = check(source, TASK), Provenance(TASK.name, router, "", "", "")
        (text,) = find_exporter("ray-serve", TASK).export(policy, told).values()
        (modules / f"ray_{router}.py").write_text(text)
        model = Model.options(
            request_router_config=RequestRouterConfig(request_router_class=f"ray_{router}.PolicyRouter")
        )
    handle = serve.run(model.bind(), name="model", route_prefix=None)
    for _ in range(4 * REPLICAS):  # what is slow is the first request of a replica
        handle.remote(0.01).result()
    arrived, began, ended = asyncio.run(served(handle, due, seconds)).T
    order = np.argsort(arrived)
    real = np.percentile(ended - arrived, [50, 99])
    draws = simulated(source, arrived[order], (ended - began)[order])
    print(f"\n{router} at {load}: {real} s, simulated {draws.mean(0)}, of which {real / draws.mean(0) - 1}", end=" ")
    assert np.all(real > draws.min(0) / WITHIN)
    assert np.all(real < draws.max(0) * WITHIN)
