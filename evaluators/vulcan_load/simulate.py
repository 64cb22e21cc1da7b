"""Running requests through a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.simulator import PolicyCalls, shipped
from vulcan_load import layout
from vulcan_load.layout import LAYOUT
from vulcan_load.workload import ServiceWorkload

BASELINES = {
    "random": layout.RANDOM,
    "round_robin": layout.ROUND_ROBIN,
    "least_loaded": layout.LEAST_LOADED,
    "power_of_two": layout.POWER_OF_TWO,
    "power_of_two_own": layout.TWO_BY_OWN,
    "peak_ewma": layout.PEAK_EWMA,
    "join_idle_queue": layout.IDLE_QUEUE,
    "c3": layout.POLICY,
    "prequal": layout.PREQUAL,
}
"""Of these `c3` is the task's policy (`shipped`)."""

LEAST_WORK = "least_work"
ORACLES = {LEAST_WORK: layout.MIN_WORK, "shortest_queue": layout.SHORTEST_QUEUE}
"""Those that know everything at every moment: where a request would be done first, and where the fewest are.

Where servers share their cores `least_work` supposes that as many requests stay on a server as there are.
"""


_CALLED = ("score", "enter", "update", "on_dispatch", "on_report", "on_complete", "completion")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """`latencies` (requests,) from arrival to answer, ms; `chosen` (requests,) servers.

    `busy` (servers,) is the share of the time until the last arrival that a server's cores work. `decisions` is a hash
    of the choices. If these were judged, `numbers` and `causes` say what `vulcan_load.kernels.attribution` says of each
    request.
    """

    latencies: NDArray[np.float64]
    chosen: NDArray[np.int64]
    busy: NDArray[np.float64]
    decisions: int
    measured_part: slice
    numbers: NDArray[np.float64]
    causes: NDArray[np.int64]

    @property
    def measured(self) -> NDArray[np.float64]:
        """Latencies of the measured requests, ms."""
        return self.latencies[self.measured_part]

    def percentile(self, share: float) -> float:
        """Return the smallest latency, ms, that this many of the measured ones do not exceed."""
        ranked = np.sort(self.measured)
        return float(ranked[max(math.ceil(share * len(ranked)) - 1, 0)])

    def metrics(self) -> dict[str, float]:
        """Return the task's metrics; `imbalance` is the busiest server's utilisation over the mean one's."""
        return {
            "p50_ms": self.percentile(0.5),
            "p99_ms": self.percentile(0.99),
            "p999_ms": self.percentile(0.999),
            "mean_ms": math.fsum(self.measured) / len(self.measured),
            "utilisation": float(self.busy.mean()),
            "imbalance": float(self.busy.max() / self.busy.mean()),
        }


def simulate(who: Policy | str, workload: ServiceWorkload, *, judges: bool = False) -> LoadResult:
    """Send every request of the workload where a policy of the task `load_balancing`, or a known one, says.

    `vulcan_load.kernels.engine` has the rules. Known are `BASELINES`, and of those who know everything `least_work` and
    `shortest_queue`. The same workload and policy give the same result, bit for bit. With `judges` every choice is
    judged too, which takes longer. Raises KeyError for another name.
    """
    from vulcan_load.kernels.attribution import NUMBERS
    from vulcan_load.kernels.engine import run

    cluster = workload.cluster
    pairs = cluster.balancers * cluster.servers
    number = (BASELINES | ORACLES)[who] if isinstance(who, str) else layout.POLICY
    policy = who if not isinstance(who, str) else shipped("load_balancing", who) if number == layout.POLICY else None
    seeds = range(cluster.seed, cluster.seed + cluster.balancers)
    calls = PolicyCalls.of(policy, LAYOUT, _CALLED, seeds, pairs)
    latencies, chosen = np.zeros(cluster.requests), np.zeros(cluster.requests, np.int64)
    busy = np.zeros(cluster.servers)
    judged = cluster.requests if judges else 0
    numbers, causes = np.zeros((judged, NUMBERS)), np.zeros(judged, np.int64)
    decisions = run(
        number,
        calls.addresses,
        workload.arrivals,
        workload.work,
        workload.balancer,
        workload.probed,
        workload.changes,
        workload.speeds,
        cluster.cores,
        cluster.discipline == "sharing",
        cluster.delay_ms,
        cluster.seed,
        calls.shown,
        np.zeros(pairs * layout.RECORD),
        calls.statistics,
        calls.slots,
        latencies,
        chosen,
        busy,
        numbers,
        causes,
    )
    share = busy / (cluster.cores * float(workload.arrivals[-1]))
    return LoadResult(latencies, chosen, share, int(decisions), cluster.measured, numbers, causes)
