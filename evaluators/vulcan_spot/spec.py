"""An instance: a job, and the windows of an environment in which it is run."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.simulator import sparse
from vulcan_spot.job import Prices, SafetyNet, SpotJob
from vulcan_spot.windows import Place

BOTH = "both"
"""The safety net that is exact, and late also where the published one would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotSpec:
    """A job that is run once in each window.

    `trace`, `meaning` and `nodes` name an environment as `load_spot` does; `digest` is a hash of its traces. `regions`
    and `prices`, a hash of the traces' prices where these count, belong to the task of several regions.
    """

    trace: str
    meaning: str | None
    nodes: int
    regions: int = sparse(0)
    digest: str
    windows: tuple[Place, ...]
    prices: str | None = sparse(None)
    duration_s: int
    deadline_s: int
    overhead_s: int
    on_demand_price: float
    spot_price: float
    missed_cost: float
    safety_net: str

    @property
    def job(self) -> SpotJob:
        return SpotJob(self.duration_s, self.deadline_s, self.overhead_s)

    @property
    def costs(self) -> Prices:
        return Prices(self.on_demand_price, self.spot_price, self.missed_cost)

    @property
    def net(self) -> SafetyNet:
        """The rules that are simulated."""
        return "published" if self.safety_net == "published" else "exact"
