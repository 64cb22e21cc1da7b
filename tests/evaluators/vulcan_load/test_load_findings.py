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

    found, cores = [], c.servers * c.cores
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
            {"work": alone, "busy": done[best] - now - alone, "choice": done[s] - done[best], "where it went": cause,
             "server chosen": speeds[s] / max(speeds) < 0.9,
             "requests in flight, of all cores": np.searchsorted([0.5, 0.75, 1.0, 1.5], sum(counts) / cores)}
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
    result = simulate(who, workload, judges=True)
    found = account(who, workload, result)
    plain = plain_requests(workload, result)[30:]  # a tenth is not measured
    for name, part in found.parts.items():
        assert part == pytest.approx([one[name] for one in plain], abs=1e-9), name
    assert found.total == pytest.approx(result.measured)
    classes = {group.by: group.classes.tolist() for group in found.groups}
    for name in ("where it went", "server chosen", "requests in flight, of all cores"):
        assert classes[name] == [one[name] for one in plain], name
    assert len(set(classes["where it went"])) >= 4


def test_the_oracle_loses_nothing_by_its_choices() -> None:
    workload = ServiceWorkload.of(Cluster(machines="noisy", requests=2000))
    assert not account(LEAST_WORK, workload, simulate(LEAST_WORK, workload, judges=True)).parts["choice"].any()


@pytest.mark.parametrize("discipline", ["queue", "sharing"])
def test_an_evaluator_says_it_in_words_and_tables(discipline: str) -> None:
    task = find_task("load_balancing")
    evaluator: Any = load_evaluator(task)
    given = {"machines": ["mixed"], "load": [0.8], "requests": 1000, "cores": [2], "discipline": discipline}
    instance = evaluator.instances(complete_settings(task, given), task.split)[0]
    policies = [check(task.seed_policies()[name], task) for name in ("shortest_reported_queue", "expected_wait")]
    mean = evaluator.evaluate(policies[0], instance)["mean_ms"]
    found = evaluator.findings(policies[0], instance)
    assert located(found, instance) == located(evaluator.findings(policies[0], instance), instance)
    assert found[0].text.startswith(f"A request costs {mean:.4g} ms on average: ")
    tables = [one for one in found if isinstance(one, SmallTable)]
    assert len(tables) == (5 if discipline == "queue" else 2)
    for table in tables:
        shares, parts = np.array([row[1] for row in table.rows]), [sum(row[2:-2]) for row in table.rows]
        assert shares.sum() == pytest.approx(100, abs=0.5)
        assert (shares * parts).sum() / 100 == pytest.approx(mean, rel=0.02)
    assert evaluator.compare(*policies, instance)[0].columns[1:3] == ("the first", "the second")
    assert evaluator.workload(instance)[0].text.startswith("20 servers of 2 cores, every other one ")
