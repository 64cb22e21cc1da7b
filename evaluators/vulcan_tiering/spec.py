"""An instance: a workload, a machine, and how its accesses are sampled."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan_tiering.machine import TIERS, Machine


@dataclass(frozen=True, slots=True)
class TieringSpec:
    """Intervals from `measure_from` to `measure_to` are measured, and a run always starts with no page mapped.

    `capacity` of the fast tier and the `limit` of migrations after an interval are in pages. One page in `one_in` is
    simulated, and stands for the others.
    """

    trace: str
    page_size: int
    digest: str
    capacity: int
    limit: int
    measure_from: int
    measure_to: int
    one_in: int
    fast_tier: str
    slow_tier: str
    threads: int
    migration_stall: float
    sample_period: int
    sample_seed: int
    sample_cost: float

    @property
    def machine(self) -> Machine:
        return Machine(TIERS[self.fast_tier], TIERS[self.slow_tier], self.threads, self.migration_stall)
