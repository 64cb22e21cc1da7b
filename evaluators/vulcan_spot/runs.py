"""Results of running a job once per window."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vulcan_spot.job import SECONDS, Prices, SpotJob

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JobRuns:
    """Results per window: all arrays of shape (windows,).

    `cost` is in dollars and `finished` in seconds since the job began. A tick that is paid for is paid in full.
    `overruled` are decisions that the safety net changed, `moves` those to another region. `decisions` is a hash of
    what ran in each tick of all runs, and `ended_in` the region where a job was when it was done; None where they are
    not known.
    """

    cost: Floats
    finished: Counts
    spot_ticks: Counts
    on_demand_ticks: Counts
    starts: Counts
    preemptions: Counts
    overruled: Counts
    moves: Counts
    decisions: int | None = None
    ended_in: Counts | None = None


def late_there_too(runs: JobRuns, there: JobRuns, job: SpotJob, prices: Prices) -> JobRuns:
    """Return the runs, of which those are late too that are late under other rules: by as much, and they pay for it."""
    late = (there.finished > job.deadline) & (runs.finished <= job.deadline)
    return replace(runs, cost=runs.cost + prices.missed * late, finished=np.where(late, there.finished, runs.finished))


def cost_of(
    spot: NDArray[np.floating], on_demand: Counts, finished: Counts, gap: int, job: SpotJob, prices: Prices
) -> Floats:
    """Dollars, of shape (runs,), for the prices of all ticks on spot and for ticks on demand."""
    paid = (spot + on_demand * prices.on_demand) * gap / SECONDS
    cost: Floats = paid + prices.missed * (finished > job.deadline)
    return cost
