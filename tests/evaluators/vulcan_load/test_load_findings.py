"""What a balancer's latency is divided into is what a slow count in plain Python finds, and adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_cluster import finish

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, located
from vulcan.findings import SmallTable
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_load.account import account
from vulcan_load.kernels import attribution as k
from vulcan_load.simulate import LEAST_WORK, LoadResult, simulate
from vulcan_load.spec import Cluster
from vulcan_load.workload import ServiceWorkload

CASES = [("noisy", "power_of_two", 1.0), ("mixed", "least_loaded", 12.0), ("even", "prequal", 0.0)]


def speed(workload: ServiceWorkload, s: int, now: float) -> float:
    return max((c, v) for c, v in zip(workload.changes[s], workload.speeds[s], strict=True) if c <= now)[1]


def plain_requests(workload: ServiceWorkload, result: LoadResult) -> list[dict[str, Any]]:
    """Each request from its definition: who was where, and who knew what, looked up in the whole history."""
    c, chosen = workload.cluster, result.chosen.tolist()
    arrivals = workload.arrivals.tolist()
    ends = [arrived + latency for arrived, latency in zip(arrivals, result.latencies.tolist(), strict=True)]
    free = [[0.0] * c.cores for _ in range(c.servers)]

    def inside(s: int, at: int) -> int:
        return sum(chosen[r] == s and ends[r] > arrivals[at] for r in range(at))

    def known(b: int, s: int, at: int) -> int | None:
        """The last report of s that b has, and what b sent there since it was taken."""
        for r in range(at, -1, -1):
            if workload.balancer[r] == b and s in workload.probed[r] and arrivals[r] + c.delay_ms <= arrivals[at]:
                return inside(s, r) + sum(chosen[q] == s and workload.balancer[q] == b for q in range(r, at))
        return None

    found = []
    for i, now in enumerate(arrivals):
        work, s, b = float(workload.work[i]), chosen[i], int(workload.balancer[i])
        done = [finish(workload, one, max(now, min(free[one])), work) for one in range(c.servers)]
        best = done.index(min(done))
        speeds = [speed(workload, one, now) for one in range(c.servers)]
        counts = [inside(one, i) for one in range(c.servers)]
        here, there = known(b, s, i), known(b, best, i)
        cause = k.NONE
        if done[s] > done[best]:
            if counts[s] <= counts[best]:
                cause = k.SLOWER if speeds[s] < speeds[best] else k.HIDDEN
            elif here is None or there is None:
                cause = k.UNREPORTED
            elif here > there:
                cause = k.IGNORED
            else:
                cause = k.HERDING if counts[s] - here >= there - counts[best] else k.STALE
        alone = min(finish(workload, one, now, work) for one in range(c.servers)) - now
        found.append(
            {"alone": alone, "busy": done[best] - now - alone, "choice": done[s] - done[best], "causes": cause,
             "waited": max(min(free[s]) - now, 0.0), "speed": speeds[s] / max(speeds), "in_flight": sum(counts),
             "idle_cores": sum(max(c.cores - count, 0) for count in counts)}
        )  # fmt: skip
        core = free[s].index(min(free[s]))
        free[s][core] = done[s]
    return found


@pytest.mark.parametrize(("machines", "who", "delay"), CASES)
def test_latency_is_divided_as_a_slow_count_does(machines: str, who: str, delay: float) -> None:
    cluster = Cluster(
        servers=5, cores=2, balancers=2, load=0.85, machines=machines, delay_ms=delay, requests=300, seed=4
    )
    workload = ServiceWorkload.of(cluster)
    result = simulate(who, workload)
    found = account(workload, result)
    plain = plain_requests(workload, result)[30:]  # a tenth is not measured
    assert found.causes.tolist() == [one["causes"] for one in plain]
    for name in ("alone", "busy", "choice", "waited", "speed", "in_flight", "idle_cores"):
        assert getattr(found, name) == pytest.approx([one[name] for one in plain], abs=1e-9), name
    assert found.alone + found.busy + found.choice == pytest.approx(result.measured)
    assert found.choice_by_cause().sum() == pytest.approx(found.choice.mean())
    assert len(set(found.causes.tolist())) >= 4


def test_the_oracle_loses_nothing_by_its_choices() -> None:
    workload = ServiceWorkload.of(Cluster(machines="noisy", requests=2000))
    assert not account(workload, simulate(LEAST_WORK, workload)).choice.any()


@pytest.mark.parametrize(("discipline", "retries"), [("queue", 0), ("sharing", 0), ("queue", 2)])
def test_an_evaluator_says_it_in_words_and_tables(discipline: str, retries: int) -> None:
    task = find_task("load_balancing")
    evaluator: Any = load_evaluator(task)
    given = {"machines": ["mixed"], "load": [0.8], "requests": 1000, "cores": [2], "discipline": discipline}
    given |= {"timeout": 60.0, "retries": retries} if retries else {}
    causes = discipline == "queue" and not retries
    instance = evaluator.instances(complete_settings(task, given), task.split)[0]
    policies = [check(task.seed_policies()[name], task) for name in ("shortest_reported_queue", "expected_wait")]
    metrics = [evaluator.evaluate(policy, instance) for policy in policies]
    said = [f"mean {one['mean_ms']:.2f} ms, p99 {one['p99_ms']:.1f} ms" for one in metrics]
    found = evaluator.findings(policies[0], instance)
    assert located(found, instance) == located(evaluator.findings(policies[0], instance), instance)
    assert found[0].text.startswith(f"Latency: {said[0]}. The best baseline by p99, ")
    tables = [one for one in found if isinstance(one, SmallTable)]
    assert len(tables) == (4 if causes else 2)
    for table in tables:
        shares = np.array([row[1] for row in table.rows])
        assert shares.sum() == pytest.approx(100, abs=0.5)
        mean = (shares * [row[2] for row in table.rows]).sum() / 100
        assert mean == pytest.approx(metrics[0]["mean_ms"], rel=0.02)
        if causes:
            assert all(row[2] == pytest.approx(sum(row[3:6]), abs=0.03) for row in table.rows)
            assert sum(row[7] for row in table.rows) == pytest.approx(100, abs=0.5)
    between = evaluator.compare(*policies, instance)
    assert between[0].text.startswith(f"The first: {said[0]}. The second: {said[1]}.")
    described = evaluator.workload(instance)[0].text
    assert described.startswith("20 servers of 2 cores, every other one ")
    assert ("up to 2 times where it has no answer after 60 ms" in described) == (retries > 0)
