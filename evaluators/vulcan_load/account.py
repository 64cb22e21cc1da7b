"""The latency of each request, divided into work, a busy cluster and the balancer's choice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator.account import Account, Grouping, in_order
from vulcan_load.simulate import LoadResult
from vulcan_load.workload import ServiceWorkload

_CAUSES = (
    "the best server, or one as good",
    "a slower server with as few requests",
    "as few requests, but longer ones, which no report says",
    "a longer queue: one of the two servers had never reported",
    "a longer queue, as its own count said",
    "a longer queue: others' requests had come there since its report (herding)",
    "a longer queue: the better server had emptied since its report (stale)",
)
"""Where a request went, by the causes of `kernels.attribution`."""

_SLOW = 0.9
_SIZES, _LOADS = (0.5, 1.0, 2.0, 5.0), (0.5, 0.75, 1.0, 1.5)


def account(name: str, workload: ServiceWorkload, result: LoadResult) -> Account:
    """Return the account of the measured requests of a judged run, ms.

    Where requests share cores, their ends are not known as they come. `work` is the time on the fastest of empty
    servers. `busy` is what is lost as the server that would be done first is not empty, or not the fastest; `choice`
    what is lost by another choice than that one.
    """
    cluster, measured = workload.cluster, workload.cluster.measured
    work = workload.work[measured]
    groups = [
        _binned("work of the request", work, [share * float(workload.work.mean()) for share in _SIZES], " ms"),
        in_order("time", len(work)),
    ]
    if cluster.discipline == "sharing":
        return Account(name, "request", "ms", {"latency": result.measured}, groups)
    alone, best, speed, in_flight = result.numbers[measured].T
    cores = cluster.servers * cluster.cores
    groups += [
        Grouping("where it went", result.causes[measured], _CAUSES),
        Grouping("server chosen", (speed < _SLOW).astype(np.int64), ["fast", "slow at that time"]),
        _binned("requests in flight, of all cores", in_flight / cores, list(_LOADS), ""),
    ]
    parts = {"work": alone, "busy": best - alone, "choice": result.measured - best}
    return Account(name, "request", "ms", parts, groups)


def _binned(by: str, values: NDArray[np.float64], limits: list[float], unit: str) -> Grouping:
    names = [f"up to {limit:g}{unit}" for limit in limits]
    return Grouping(by, np.searchsorted(limits, values), [*names, f"over {limits[-1]:g}{unit}"])


def describe_cluster(workload: ServiceWorkload) -> list[EvaluatorFinding]:
    """Return the findings on a cluster and its requests."""
    c = workload.cluster
    seconds = float(workload.arrivals[-1]) / 1e3
    rate = c.requests / seconds / 1e3
    heard = c.servers / (c.probes * rate / c.balancers)
    machines = {
        "even": "all of one speed",
        "mixed": "every other one with a third of the others' speed",
        "noisy": "each slowed down to three tenths now and then",
    }[c.machines]
    low, middle, high = np.quantile(workload.work, [0.1, 0.5, 0.99])
    manner = "queue for its cores" if c.discipline == "queue" else "share its cores"
    bursts = f" In bursts {c.bursts:g} times the mean rate arrives." if c.bursts > 1 else ""
    return [
        Statement(
            f"{c.servers} servers of {c.cores} cores, {machines}; a server's requests {manner}. Load {c.load:.0%}: "
            f"{rate:.3g} requests a ms, by {c.balancers} balancers that know nothing of each other.{bursts} "
            f"Work ({c.service}): mean {workload.work.mean():.3g} ms, 10 % below {low:.3g}, half below {middle:.3g}, "
            f"1 % above {high:.3g}, most {workload.work.max():.4g}. A balancer hears of a server every {heard:.3g} "
            f"ms on average, and {heard * rate / c.servers:.2g} requests come to it then; a "
            f"report takes {c.delay_ms:g} ms.",
            10.0,
        )
    ]
