"""An instance: servers, balancers, and their load."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.errors import UserError
from vulcan.simulator import sparse

SERVICES = ("pareto", "exponential", "bimodal", "constant")
MACHINES = ("even", "mixed", "noisy")
DISCIPLINES = ("queue", "sharing")
MEMORIES = ("by_queue", "last")
WARM_UP = 0.1
"""The share of the requests that is not measured, while queues fill."""

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

    With a `trace`, a log, arrivals and work are those of `requests` recorded ones from `first` on, spread to the load.
    Measured are requests from `measure_from` to `measure_to`, where that is 0 those after the warm-up.
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
    timeout_ms: float = sparse(0.0)
    retries: int = sparse(0)
    trace: str = sparse("")
    columns: str | None = sparse(None)
    digest: str = sparse("")
    first: int = sparse(0)
    measure_from: int = sparse(0)
    measure_to: int = sparse(0)

    @property
    def measured(self) -> slice:
        """The requests that are measured: those after the warm-up, while queues fill, or a window of them."""
        warm_up = slice(round(WARM_UP * self.requests), self.requests)
        return slice(self.measure_from, self.measure_to) if self.measure_to else warm_up

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
            what = f" ({self.trace}: {self.servers} servers of {self.cores} cores)" if self.trace else ""
            raise UserError(
                f"load is {self.load:.4g}{what}: from 0.01 to below 1 is possible, for at 1 queues grow without end"
            )
        if not (0 <= self.delay_ms <= 1000 and 0 < self.mean_ms <= 1000):
            raise UserError("delay_ms is from 0 to 1000, and mean_ms above 0 and at most 1000")
        if self.service not in SERVICES and not self.trace:
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
