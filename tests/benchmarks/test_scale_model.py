"""The model of a large cluster against laws of queues, which it was not made from."""

from __future__ import annotations

import math
import random

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scale_model import Cluster, Costs, Process, Queue, Simulation, predict


def mean_wait(arrivals: float, servers: int, service: float, *, exponential: bool, customers: int = 30_000) -> float:
    """Of customers that come at random, so many a second, to a queue of so many servers."""
    simulation, rng = Simulation(), random.Random(1)
    queue = Queue(simulation, servers)

    def customer() -> Process:
        yield queue, rng.expovariate(1 / service) if exponential else service

    time = 0.0
    for _ in range(customers):
        time += rng.expovariate(arrivals)
        simulation.at(time, lambda: simulation.start(customer()))
    simulation.run()
    return queue.waited / customers


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_server_of_constant_time_waits_as_pollaczek_and_khinchine_say(load: float) -> None:
    """M/D/1: load * service / (2 (1 - load))."""
    assert mean_wait(load, 1, 1.0, exponential=False) == pytest.approx(load / (2 * (1 - load)), rel=0.05)


@pytest.mark.parametrize(("servers", "load"), [(2, 0.7), (8, 0.85)])
def test_several_servers_wait_as_erlang_says(servers: int, load: float) -> None:
    """M/M/c: the probability of waiting, by Erlang's C formula, times service / (c (1 - load))."""
    offered = servers * load
    top = offered**servers / math.factorial(servers) / (1 - load)
    waits = top / (sum(offered**k / math.factorial(k) for k in range(servers)) + top)
    expected = waits / (servers * (1 - load))
    assert mean_wait(offered, servers, 1.0, exponential=True) == pytest.approx(expected, rel=0.08)


COSTS = st.builds(
    Costs,
    call=st.floats(1e-4, 5e-3),
    job=st.floats(0, 1e-3),
    job_at_worker=st.floats(0, 1e-3),
    way=st.floats(0, 1e-2),
    draft=st.floats(0, 5e-3),
    keep=st.floats(0, 5e-3),
)


@given(COSTS, st.integers(1, 64), st.floats(1e-3, 0.3), st.booleans())
@settings(max_examples=examples(60))
def test_no_rate_is_above_what_any_part_can_do(costs: Costs, workers: int, work: float, sleeps: bool) -> None:
    """The bounds of operational analysis (Denning and Buzen, 1978), with every job alone."""
    cores = max(1, workers // 2)
    said = predict(costs, Cluster(workers, cores, sleeps=sleeps), 8 * workers, work, together=False)
    at_worker = costs.job_at_worker + work
    on_driver = costs.call + costs.job + costs.draft + costs.keep
    assert said.rate <= 1 / on_driver * 1.001
    assert said.rate <= workers / (costs.call + costs.job + costs.way + at_worker) * 1.001
    assert said.rate * (costs.job_at_worker + (0 if sleeps else work)) <= cores * 1.001
    assert max(said.driver, said.working, said.model) <= 1.001
