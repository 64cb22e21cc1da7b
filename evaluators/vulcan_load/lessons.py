"""What a view of all servers teaches: how long a request would take on each, by what its balancer knows of it."""

from __future__ import annotations

import bisect
import math

import numpy as np
from numpy.typing import NDArray

from vulcan.lessons import Lesson
from vulcan_load.workload import ServiceWorkload

MAX_REQUESTS = 10_000
"""Most requests, the first, whose view is taken."""

EVERY = 4
"""One request in so many makes a situation, with a server drawn for it."""

_FADE, _LEARN, _OF_ALL, _ALONE = 3.0, 0.1, 0.02, 5.0

_PROGRAM = f"""\
import math

FADE = {_FADE}  # mean times of a request


class policy:
    others = 0


class server:
    others = 0  # requests of other balancers, as last heard of
    at = 0
    service = {_ALONE}
    answered = 0


def on_report(now, server, servers):
    if now - server.age_ms > server.at:
        server.others = max(0, server.in_flight - server.mine)
        server.at = now - server.age_ms
        policy.others += {_OF_ALL} * (server.others - policy.others)


def on_dispatch(now, server, servers):
    if server.mine <= 0:
        server.answered = now


def on_complete(now, server, servers, request):
    server.others = max(0, request.in_flight - server.mine)
    server.at = now
    policy.others += {_OF_ALL} * (server.others - policy.others)
    server.service += {_LEARN} * (request.service_ms - server.service)
    server.answered = now


def worth(mine, others, ahead, service, age, silent):
    return 1


def score(now, server, servers):
    age = max(0, now - server.at)
    others = policy.others + (server.others - policy.others) * math.exp(-age / max(FADE * server.service, 0.01))
    silent = max(0, now - server.answered) / max(server.service, 0.01) if server.mine > 0 else 0
    return -worth(server.mine, others, server.mine + others, server.service, age, silent)
"""


class _Views:
    """What each balancer knows of each server, as the program's state has it; arrays of shape (balancers, servers)."""

    def __init__(self, balancers: int, servers: int) -> None:
        self.mine, self.others, self.at, self.answered = np.zeros((4, balancers, servers))
        self.service = np.full((balancers, servers), _ALONE)
        self.of_all = np.zeros(balancers)

    def hear(self, b: int, s: int, flying: int, at: float) -> None:
        self.others[b, s] = max(0.0, flying - self.mine[b, s])
        self.at[b, s] = at
        self.of_all[b] += _OF_ALL * (self.others[b, s] - self.of_all[b])

    def of(self, b: int, s: int, now: float) -> tuple[float, ...]:
        mine, service, age = self.mine[b, s], self.service[b, s], now - self.at[b, s]
        others = self.of_all[b] + (self.others[b, s] - self.of_all[b]) * math.exp(-age / max(_FADE * service, 0.01))
        silent = (now - self.answered[b, s]) / max(service, 0.01) if mine > 0 else 0.0
        return mine, others, mine + others, service, age, silent


def lesson_of(workload: ServiceWorkload, chosen: NDArray[np.int64], latencies: NDArray[np.float64]) -> Lesson:
    """Return the lesson on servers that are drawn, where each request went where it was `chosen` and took that long.

    What is learnt is not a gain but a time, for the mean of the work: the server with the least of it is the best.
    """
    from vulcan_load.kernels.sharer import done_at

    cluster, count = workload.cluster, min(MAX_REQUESTS, workload.cluster.requests)
    mean = float(workload.work[:count].mean())

    def done(server: int, begin: float, work: float) -> float:
        return float(done_at(workload.changes, workload.speeds, server, begin, work))

    views = _Views(cluster.balancers, cluster.servers)
    ends = workload.arrivals[:count] + latencies[:count]
    leaving = np.argsort(ends, kind="stable").tolist()
    inside: list[list[float]] = [[] for _ in range(cluster.servers)]
    reports: list[tuple[float, int, int, int]] = []
    left = heard = 0
    situations, times = [], []
    for i, (now, b) in enumerate(zip(workload.arrivals[:count].tolist(), workload.balancer.tolist(), strict=False)):
        while ends[leaving[left]] <= now:
            r = leaving[left]
            s, to, end = int(chosen[r]), int(workload.balancer[r]), float(ends[r])
            inside[s].pop(0)
            views.mine[to, s] -= 1
            views.hear(to, s, len(inside[s]), end)
            views.service[to, s] += _LEARN * (done(s, end, workload.work[r]) - end - views.service[to, s])
            views.answered[to, s] = end
            left += 1
        reports += [(now, b, s, len(inside[s])) for s in workload.probed[i].tolist()]
        while heard < len(reports) and reports[heard][0] + cluster.delay_ms <= now:
            taken, to, s, flying = reports[heard]
            if taken > views.at[to, s]:
                views.hear(to, s, flying, taken)
            heard += 1
        if i % EVERY == 0:
            s = int(workload.probed[i, -1])
            queue = len(inside[s]) - cluster.cores
            situations.append(views.of(b, s, now))
            times.append(done(s, inside[s][queue] if queue >= 0 else now, mean) - now)
        s = int(chosen[i])
        bisect.insort(inside[s], float(ends[i]))
        if views.mine[b, s] == 0:
            views.answered[b, s] = now
        views.mine[b, s] += 1
    return Lesson("time on a server", _PROGRAM, np.array(situations), np.array(times), np.ones(len(times)))
