"""What is simulated: servers, balancers, and how much is asked of them."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.errors import UserError

SERVICES = ("pareto", "exponential", "bimodal", "constant")
MACHINES = ("even", "mixed", "noisy")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything a simulation depends on but the policy.

    `servers` have a queue each, first come first served, for `cores` equal cores. `balancers` get each request with the
    same probability, and decide by what they know themselves. `load` is the work that arrives as a share of what all
    servers can do, `service` the distribution of a request's work, of mean `mean_ms` at speed 1. `machines` is how
    servers differ: `even` not at all, `mixed` every other one has a third of the others' speed, `noisy` each is slowed
    down to three tenths now and then, by neighbours that nobody sees. Speeds have a mean of 1.

    At every request its balancer asks `probes` servers, drawn anew, for a report, that is there `delay_ms` later.
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

    def __post_init__(self) -> None:
        for name, least, most in (
            ("servers", 2, 1000), ("cores", 1, 256), ("balancers", 1, 1000), ("probes", 2, self.servers),
            ("requests", 100, 5_000_000), ("seed", 0, 2**31),
        ):  # fmt: skip
            value = getattr(self, name)
            if not least <= value <= most:
                raise UserError(f"{name} is {value}: from {least} to {most} are possible")
        if not 0.01 <= self.load < 1:
            raise UserError(f"load is {self.load}: from 0.01 to below 1 is possible, for at 1 queues grow without end")
        if not (0 <= self.delay_ms <= 1000 and 0 < self.mean_ms <= 1000):
            raise UserError("delay_ms is from 0 to 1000, and mean_ms above 0 and at most 1000")
        if self.service not in SERVICES:
            raise UserError(f"service {self.service!r}: it is one of {', '.join(SERVICES)}")
        if self.machines not in MACHINES:
            raise UserError(f"machines {self.machines!r}: they are one of {', '.join(MACHINES)}")
