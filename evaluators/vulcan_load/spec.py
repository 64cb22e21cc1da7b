"""An instance: servers, balancers, and their load."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.errors import UserError
from vulcan.simulator import sparse, within

MACHINES = ("even", "mixed", "noisy")
WARM_UP = 0.1
"""The share of the requests that is not measured, while queues fill."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything a simulation depends on but the policy.

    `servers` have a queue each, first come first served, for `cores` equal cores. `balancers` get each request with the
    same probability, and decide by what they know themselves. `load` is the work that arrives as a share of what all
    servers can do, `service` the distribution of a request's work, of mean `mean_ms` at speed 1. `machines` is how
    servers differ: `even` not at all, `mixed` every other one has a third of the others' speed, `noisy` each is slowed
    down to three tenths now and then, by neighbours that nobody sees. Speeds have a mean of 1.

    At every request its balancer asks `probes` servers, redrawn, for a report, that is there `delay_ms` later. The
    latency in a report is that of the last requests of the server that found about as many in flight.

    With the `discipline` `sharing` a server's requests share its cores instead of waiting in its queue. With `bursts`
    above 1, so many times the mean rate arrives for a twentieth of the time, in spells of 50 ms on average.

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
    bursts: float = 1.0
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
        within(
            self, servers=(2, 1000), cores=(1, 256), balancers=(1, 1000), probes=(2, self.servers),
            requests=(100, 5_000_000), seed=(0, 2**31), delay_ms=(0, 1000), bursts=(1, 15),
        )  # fmt: skip
        if not 0.01 <= self.load < 1:
            what = f" ({self.trace}: {self.servers} servers of {self.cores} cores)" if self.trace else ""
            raise UserError(
                f"load is {self.load:.4g}{what}: from 0.01 to below 1 is possible, for at 1 queues grow without end"
            )
