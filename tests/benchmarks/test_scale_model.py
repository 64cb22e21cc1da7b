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


@pytest.mark.parametrize(("servers", "load"), [(2, 0.7), (8, 0.85)])
def test_constant_times_wait_about_half_as_long_as_exponential_ones(servers: int, load: float) -> None:
    """M/D/c after Cosmetatos (1975), good to a few percent: the wait of M/M/c, halved and a little more."""
    exponential = mean_wait(servers * load, servers, 1.0, exponential=True)
    correction = 1 + (1 - load) * (servers - 1) * (math.sqrt(4 + 5 * servers) - 2) / (16 * load * servers)
    constant = mean_wait(servers * load, servers, 1.0, exponential=False)
    assert constant == pytest.approx(exponential / 2 * correction, rel=0.1)


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
@settings(derandomize=True, max_examples=examples(60), deadline=None)
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


def test_one_worker_takes_the_sum_of_all_steps() -> None:
    costs = Costs(call=0.002, job=0.001, job_at_worker=0.0005, way=0.004)
    said = predict(costs, Cluster(1, 1), 50, 0.1, together=False)
    assert said.seconds == pytest.approx(50 * (0.002 + 0.001 + 0.0005 + 0.004 + 0.1))
    assert said.limit == "the workers"


def test_short_jobs_travel_together_so_that_the_way_is_a_twentieth() -> None:
    costs = Costs(call=0.001, job=0.0, job_at_worker=0.0, way=0.004)
    alone = predict(costs, Cluster(1, 1), 400, 0.01, together=False)
    together = predict(costs, Cluster(1, 1), 400, 0.01)
    assert alone.working == pytest.approx(10 / 15)
    assert together.working > 0.95


def test_a_driver_that_is_asked_too_much_is_the_limit() -> None:
    costs = Costs(call=0.001, job=0.001, job_at_worker=0.0, way=0.001)
    said = predict(costs, Cluster(1024, 1024), 4096, 0.05, together=False)
    assert said.limit == "the driver"
    assert said.rate == pytest.approx(1 / 0.002, rel=0.05)


def test_a_model_that_answers_too_slowly_is_the_limit() -> None:
    cluster = Cluster(16, 16, model_seconds=2.0, calls_at_once=8, in_flight=64)
    said = predict(Costs(0.001, 0.0, 0.0, 0.001), cluster, 2000, 0.05)
    assert said.limit == "the model"
    assert said.rate == pytest.approx(8 / 2.0, rel=0.1)


def test_the_same_seed_predicts_the_same() -> None:
    cluster = Cluster(8, 8, model_seconds=1.0, calls_at_once=16, in_flight=32)
    first, second, other = (predict(Costs(0.001, 0.001, 0.001, 0.001), cluster, 200, 0.1, seed=s) for s in (1, 1, 2))
    assert first == second != other
