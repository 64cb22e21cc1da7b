"""Model of a simulated cluster: servers, balancers, and their load."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError

SERVICES = ("pareto", "exponential", "bimodal", "constant")
MACHINES = ("even", "mixed", "noisy")
DISCIPLINES = ("queue", "sharing")
MEMORIES = ("by_queue", "last")
MAX_RETRIES, MAX_TIMEOUT_MS, MAX_ATTEMPTS = 10, 1e6, 20_000_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything a simulation depends on but the policy.

    `servers` have a queue each, first come first served, for `cores` equal cores. `balancers` get each request with the
    same probability, and decide by what they know themselves. `load` is the work that arrives as a share of what all
    servers can do, `service` the distribution of a request's work, of mean `mean_ms` at speed 1. `machines` is how
    servers differ: `even` not at all, `mixed` every other one has a third of the others' speed, `noisy` each is slowed
    down to three tenths now and then, by neighbours that nobody sees. Speeds have a mean of 1.

    At every request its balancer asks `probes` servers, redrawn, for a report, that is there `delay_ms` later. The
    latency in a report is that of the last requests that found about as many in flight: of all of a server's requests
    (`by_queue`), or of its last 32 (`last`).

    With the `discipline` `sharing` a server's requests share its cores instead of waiting in its queue. With `bursts`
    above 1, so many times the mean rate arrives for a twentieth of the time, in spells of 50 ms on average.

    A request that has no answer `timeout_ms` after it was sent is sent again, at most `retries` times, by its balancer
    as any other; what was sent before stays where it is and is served too, as clients that time out leave it (Bronson
    et al., "Metastable failures in distributed systems", HotOS 2021). The first answer counts.
    """

    servers: int = 20
    cores: int = 2
    balancers: int = 4
    load: float = 0.8
    service: str = "pareto"
    mean_ms: float = 10.0
    machines: str = "even"
    probes: int = 3
    delay_ms: float = 1.0
    requests: int = 20_000
    seed: int = 1
    discipline: str = "queue"
    memory: str = "by_queue"
    bursts: float = 1.0
    timeout_ms: float = 0.0
    retries: int = 0

    def __post_init__(self) -> None:
        for name, least, most in (
            ("servers", 2, 1000),
            ("cores", 1, 256),
            ("balancers", 1, 1000),
            ("probes", 2, self.servers),
            ("requests", 100, 5_000_000),
            ("seed", 0, 2**31),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise UserError(f"{name} is {value}: must be from {least} to {most}")
        if not 0.01 <= self.load < 1:
            raise UserError(f"load is {self.load}: from 0.01 to below 1 is possible, for at 1 queues grow without end")
        if not (0 <= self.delay_ms <= 1000 and 0 < self.mean_ms <= 1000):
            raise UserError("delay_ms is from 0 to 1000, and mean_ms above 0 and at most 1000")
        if self.service not in SERVICES:
            raise UserError(f"service {self.service!r}: it must be one of {', '.join(SERVICES)}")
        if self.discipline not in DISCIPLINES or self.memory not in MEMORIES:
            raise UserError(
                f"discipline {self.discipline!r}, memory {self.memory!r}: they must be one of {', '.join(DISCIPLINES)} "
                f"and of {', '.join(MEMORIES)}"
            )
        if not 1 <= self.bursts <= 15:
            raise UserError(f"bursts is {self.bursts}: the rate in a burst is from 1 to 15 times the mean one")
        if not (0 <= self.retries <= MAX_RETRIES and 0 <= self.timeout_ms <= MAX_TIMEOUT_MS):
            raise UserError(
                f"retries {self.retries}, timeout_ms {self.timeout_ms:g}: from 0 to {MAX_RETRIES} retries, each after "
                f"{MAX_TIMEOUT_MS:,.0f} ms at most"
            )
        if (self.retries > 0) != (self.timeout_ms > 0):
            raise UserError(
                f"retries {self.retries}, timeout_ms {self.timeout_ms:g}: give both, the number and when one is due"
            )
        if (1 + self.retries) * self.requests > MAX_ATTEMPTS:
            raise UserError(
                f"{self.requests:,} requests with {self.retries} retries: at most {MAX_ATTEMPTS:,} attempts can be made"
            )
        if self.machines not in MACHINES:
            raise UserError(f"machines {self.machines!r}: they must be one of {', '.join(MACHINES)}")


# Random inputs of a simulation: arrivals, work, servers asked for reports, and server speeds.

Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]

MAX_DRAWS = 4_000_000
"""Numbers drawn at a time, so that memory grows with the requests and not with requests times servers."""

BURST_MS, BURST_SHARE = 50.0, 0.05
"""Mean length of a burst, and the share of the time that is in one."""

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
    def of(cls, cluster: Cluster) -> ServiceWorkload:
        """Draw it all from the cluster's seed: the same for the same cluster, whatever the policy."""
        draw = np.random.Generator(np.random.PCG64(cluster.seed))
        count = cluster.requests
        rate = cluster.load * cluster.servers * cluster.cores / cluster.mean_ms  # requests a ms, at a mean speed of 1
        arrivals = np.cumsum(_exponential(draw.random(count)) / rate)
        if cluster.bursts > 1:
            arrivals = _in_bursts(arrivals, cluster)
        work = cluster.mean_ms * unit_work(cluster.service, draw.random(count), draw.random(count))
        balancer = (draw.random(count) * cluster.balancers).astype(np.int64)
        probed = np.empty((count, cluster.probes), np.int64)
        at_a_time = max(1, MAX_DRAWS // cluster.servers)
        for first in range(0, count, at_a_time):
            here = draw.random((min(at_a_time, count - first), cluster.servers))
            probed[first : first + len(here)] = np.argpartition(here, cluster.probes - 1, axis=1)[:, : cluster.probes]
        changes, speeds = _speeds(cluster, float(arrivals[-1]), draw)
        return cls(cluster, arrivals, work, balancer, probed, changes, speeds)


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
