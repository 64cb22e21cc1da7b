"""Results of running a job once per window, and the kernel call that produces them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vulcan.simulator import PolicyCalls
from vulcan_spot.job import SECONDS, Prices, SafetyNet, SpotJob
from vulcan_spot.windows import Windows

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


def run(
    number: int,
    moves_on: bool,
    calls: PolicyCalls,
    windows: Windows,
    job: SpotJob,
    prices: Prices,
    net: SafetyNet,
    seconds: Counts | None = None,
) -> JobRuns:
    """Run the job once per window, by the rules of `vulcan_spot.kernels.engine`.

    `number` says who decides, as `layout` numbers them, and `moves_on` whether a baseline goes to the next region in
    turn instead of waiting. A policy is called by `calls`. `seconds`, zeros of shape (windows, USES), take the time by
    use if given.
    """
    from vulcan_spot.kernels import engine as kernel
    from vulcan_spot.layout import RECORD

    available = np.atleast_2d(windows.available)
    regions = len(available)
    _, shown, statistics, slots = calls
    ratio = prices.spot / prices.on_demand if prices.on_demand else 1.0
    results = np.zeros((len(windows.begins), kernel.RESULTS), np.int64)
    paid = np.zeros(0 if windows.prices is None else len(windows.begins))
    decisions = kernel.run(
        number,
        moves_on,
        net == "published",
        calls.addresses,
        shown[0],
        np.empty_like(shown[0]),
        statistics.copy(),
        statistics,
        np.uint64(slots),
        np.empty(regions * RECORD),
        available,
        windows.begins,
        windows.ends,
        job.duration,
        job.deadline,
        job.overhead,
        windows.gap,
        ratio,
        np.zeros((0, 0)) if windows.prices is None else windows.prices / prices.on_demand,
        paid,
        results,
        np.zeros((0, 0), np.int64) if seconds is None else seconds,
    )
    spot, on_demand, finished, starts, preempted, overruled, moves, ended_in = results.T
    dollars = spot * prices.spot if windows.prices is None else paid * prices.on_demand
    cost = cost_of(dollars, on_demand, finished, windows.gap, job, prices)
    return JobRuns(cost, finished, spot, on_demand, starts, preempted, overruled, moves, int(decisions), ended_in)


def cost_of(
    spot: NDArray[np.floating], on_demand: Counts, finished: Counts, gap: int, job: SpotJob, prices: Prices
) -> Floats:
    """Dollars, of shape (runs,), for the prices of all ticks on spot and for ticks on demand."""
    paid = (spot + on_demand * prices.on_demand) * gap / SECONDS
    cost: Floats = paid + prices.missed * (finished > job.deadline)
    return cost
