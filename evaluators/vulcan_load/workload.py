"""Random inputs of a simulation: arrivals, work, servers asked for reports, and server speeds."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan_load.spec import Cluster
from vulcan_traces.request_log import RequestLog

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_DRAWS = 4_000_000
"""Numbers drawn at a time, so that memory grows with the requests and not with requests times servers."""

BURST_MS, BURST_SHARE = 50.0, 0.05
"""Mean length of a burst, and the share of the time that is in one."""

LEAST_MS = 1e-3
"""Work of a recorded request at least: that of one whose duration was rounded to 0."""

SHAPE, SPREAD = 1.8, 200.0
"""Of the bounded Pareto distribution: its exponent, and the largest value as a multiple of the smallest."""

SLOW_SPEED, SLOW_MS, FAST_MS = 0.3, 200.0, 800.0
"""Of machines with noisy neighbours: speed while slowed down, and the mean spells."""


@dataclass(frozen=True)
class ServiceWorkload:
    """`arrivals` (requests,) in ms; `work` (requests,) in ms at speed 1; `balancer` (requests,) by number;
    `probed` (requests, probes), distinct servers. From `changes[s, k]`, ms, server s has the speed `speeds[s, k]` until
    the next change, the last one for ever; changes[s, 0] is 0.
    """

    cluster: Cluster
    arrivals: Numbers
    work: Numbers
    balancer: Counts
    probed: Counts
    changes: Numbers
    speeds: Numbers

    @classmethod
    def of(cls, cluster: Cluster, recorded: RequestLog | None = None) -> ServiceWorkload:
        """Draw it all from the cluster's seed but what was recorded: the same, whatever the policy."""
        draw = np.random.Generator(np.random.PCG64(cluster.seed))
        count = cluster.requests
        rate = cluster.load * cluster.servers * cluster.cores / cluster.mean_ms  # requests a ms, at a mean speed of 1
        arrivals = np.cumsum(_exponential(draw.random(count)) / rate)
        if cluster.bursts > 1:
            arrivals = _in_bursts(arrivals, cluster)
        work = cluster.mean_ms * unit_work(cluster.service, draw.random(count), draw.random(count))
        if recorded is not None:
            arrivals, work = recorded_requests(recorded, cluster.first, count, cluster.cores)
            arrivals *= offered(arrivals, work, cluster) / cluster.load
        balancer = (draw.random(count) * cluster.balancers).astype(np.int64)
        probed = np.empty((count, cluster.probes), np.int64)
        at_a_time = max(1, MAX_DRAWS // cluster.servers)
        for first in range(0, count, at_a_time):
            here = draw.random((min(at_a_time, count - first), cluster.servers))
            probed[first : first + len(here)] = np.argpartition(here, cluster.probes - 1, axis=1)[:, : cluster.probes]
        changes, speeds = _speeds(cluster, float(arrivals[-1]), draw)
        return cls(cluster, arrivals, work, balancer, probed, changes, speeds)


def recorded_requests(log: RequestLog, first: int, count: int, cores: int) -> tuple[Numbers, Numbers]:
    """Return arrivals, from 0 on, and work, ms, of recorded requests.

    Where the log names servers, what a request waited for a core of its own is no work: its server began with it when
    fewer than `cores` of those that had come before were left. Without, all that it took is taken for work.
    """
    arrivals, took = log.arrivals[first : first + count], log.durations[first : first + count]
    work = took.copy()
    for server in range(log.servers):
        free = [-math.inf] * cores  # a heap: when cores are free
        for i in np.flatnonzero(log.server[first : first + count] == server).tolist():
            done = float(arrivals[i] + took[i])
            begun = max(float(arrivals[i]), heapq.heapreplace(free, max(done, free[0])))
            work[i] = done - begun
    return arrivals - arrivals[0], np.maximum(work, LEAST_MS)


def offered(arrivals: Numbers, work: Numbers, cluster: Cluster) -> float:
    """Return the work as a share of what the servers could do until the last arrival."""
    return float(work.sum() / (max(float(arrivals[-1]), 1e-9) * cluster.servers * cluster.cores))


def _in_bursts(even: Numbers, cluster: Cluster) -> Numbers:
    """Map arrivals at a constant rate to ones that come in bursts, of the same mean rate."""
    draw = np.random.Generator(np.random.PCG64([cluster.seed, 1]))
    spells = 2 * math.ceil(2 * float(even[-1]) * BURST_SHARE / BURST_MS + 20)
    burst = np.arange(spells) % 2 == 1
    lengths = _exponential(draw.random(spells)) * np.where(burst, BURST_MS, BURST_MS * (1 / BURST_SHARE - 1))
    rates = np.where(burst, cluster.bursts, (1 - cluster.bursts * BURST_SHARE) / (1 - BURST_SHARE))
    amounts = np.concatenate(([0.0], np.cumsum(lengths * rates)))
    arrivals: Numbers = np.interp(even, amounts, np.concatenate(([0.0], np.cumsum(lengths))))
    return arrivals


def _exponential(uniform: Numbers) -> Numbers:
    drawn: Numbers = -np.log1p(-uniform)
    return drawn


def unit_work(service: str, uniform: Numbers, other: Numbers) -> Numbers:
    """Work of mean 1, from numbers that are uniform from 0 to 1."""
    if service == "exponential":
        return _exponential(uniform)
    if service == "pareto":
        least = 1.0 / pareto_moment(1)
        tail = 1.0 - SPREAD**-SHAPE
        drawn: Numbers = least * (1.0 - tail * uniform) ** (-1.0 / SHAPE)
        return drawn
    if service == "bimodal":  # one in twenty is twenty times as long
        return np.where(other < 0.05, 20.0, 1.0) / 1.95
    return np.ones_like(uniform)


def pareto_moment(order: int) -> float:
    """Return the moment of that order of the bounded Pareto distribution whose smallest value is 1."""
    tail = 1.0 - SPREAD**-SHAPE
    return float(SHAPE / (SHAPE - order) * (1.0 - SPREAD ** (order - SHAPE)) / tail)


def _speeds(cluster: Cluster, end: float, draw: np.random.Generator) -> tuple[Numbers, Numbers]:
    servers = cluster.servers
    if cluster.machines != "noisy":
        speed = np.ones(servers)
        if cluster.machines == "mixed":
            speed[1::2] = 1.0 / 3.0
            speed /= speed.mean()
        return np.zeros((servers, 1)), speed[:, None]
    mean = (FAST_MS + SLOW_SPEED * SLOW_MS) / (FAST_MS + SLOW_MS)
    spells = 2 * math.ceil(2 * end / (FAST_MS + SLOW_MS) + 20)
    lengths = _exponential(draw.random((servers, spells)))
    slow_first = draw.random(servers) < SLOW_MS / (FAST_MS + SLOW_MS)
    slow = (np.arange(spells)[None, :] % 2 == 0) == slow_first[:, None]
    lengths *= np.where(slow, SLOW_MS, FAST_MS)
    changes = np.concatenate((np.zeros((servers, 1)), np.cumsum(lengths, axis=1)[:, :-1]), axis=1)
    return changes, np.where(slow, SLOW_SPEED, 1.0) / mean
