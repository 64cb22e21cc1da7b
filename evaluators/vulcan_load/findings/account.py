"""The latency of each request, divided into work, a cluster that is busy, and the balancer's choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan_load.cluster import ServiceWorkload
from vulcan_load.simulate import WARM_UP, LoadResult

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Account:
    """Of each measured request, arrays of shape (requests,), ms: `latency` = `alone` + `busy` + `choice`.

    `alone` is the time on the fastest of empty servers. `busy` is what is lost as the server that would be done first
    is not empty, or not the fastest; `choice` what is lost by another choice than that one. `causes` are those of
    `kernels.attribution`, as are `waited`, `speed`, `in_flight` and `idle_cores`.
    """

    latency: Numbers
    alone: Numbers
    busy: Numbers
    choice: Numbers
    causes: NDArray[np.int64]
    waited: Numbers
    speed: Numbers
    in_flight: Numbers
    idle_cores: Numbers

    def choice_by_cause(self) -> Numbers:
        """Return what choices lost on average, ms a request, by cause."""
        from vulcan_load.kernels.attribution import CAUSES

        return np.bincount(self.causes, self.choice, CAUSES).astype(np.float64) / len(self.choice)


def account(workload: ServiceWorkload, result: LoadResult) -> Account:
    """Return the account of a run on servers with queues."""
    from vulcan_load.kernels import attribution as k

    cluster = workload.cluster
    numbers = np.zeros((k.NUMBERS, cluster.requests))
    causes = np.zeros(cluster.requests, np.int64)
    k.attribute(
        workload.arrivals,
        workload.work,
        workload.balancer,
        workload.probed,
        workload.changes,
        workload.speeds,
        cluster.cores,
        cluster.balancers,
        cluster.delay_ms,
        result.chosen,
        numbers,
        causes,
    )
    measured = slice(round(WARM_UP * cluster.requests), None)
    numbers, latency = numbers[:, measured], result.latencies[measured]
    return Account(
        latency=latency,
        alone=numbers[k.ALONE],
        busy=numbers[k.BEST] - numbers[k.ALONE],
        choice=latency - numbers[k.BEST],
        causes=causes[measured],
        waited=numbers[k.WAITED],
        speed=numbers[k.SPEED],
        in_flight=numbers[k.IN_FLIGHT],
        idle_cores=numbers[k.IDLE_CORES],
    )
