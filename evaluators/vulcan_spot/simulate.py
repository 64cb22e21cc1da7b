"""Running a job over windows of one region."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan_spot.job import SECONDS, Job, Prices
from vulcan_spot.windows import Windows

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Runs:
    """What happened, once a window: all of shape (windows,).

    `cost` is in dollars and `finished` in seconds since the job began. A tick that is paid for is paid in full.
    `overruled` are decisions that the safety net changed. `decisions` is a hash of what ran in each tick of all runs;
    None where it is not known.
    """

    cost: NDArray[np.float64]
    finished: Counts
    spot_ticks: Counts
    on_demand_ticks: Counts
    starts: Counts
    preemptions: Counts
    overruled: Counts
    decisions: int | None = None


BASELINES = ("on_demand", "greedy", "spot_only", "uniform_progress")
BOUND = "least_cost"
BOUND_VERSION = 1
"""To be raised when the bound, the rules or the metrics change: its results are kept on disk."""


def simulate(who: Policy | str, windows: Windows, job: Job, prices: Prices | None = None) -> Runs:
    """Run a policy of the task `spot_single`, or a baseline of that name, once a window.

    `vulcan_spot.kernel` has the rules. Baselines are `on_demand`, `greedy`, `spot_only` and `uniform_progress`, and
    `least_cost`, what no policy can beat. Raises KeyError for another name.
    """
    from vulcan_spot import kernel
    from vulcan_spot.baselines import numbers
    from vulcan_spot.layout import GLOBALS, LAYOUT

    prices = prices or Prices()
    if who == BOUND:
        return _least_cost(windows, job, prices)
    score = update = 0
    if isinstance(who, str):
        number = {
            "on_demand": numbers.ON_DEMAND_ONLY,
            "greedy": numbers.GREEDY,
            "spot_only": numbers.SPOT_ONLY,
            "uniform_progress": numbers.UNIFORM_PROGRESS,
        }[who]
        fresh = np.zeros(GLOBALS)
    else:
        native = who.native(LAYOUT)
        number, score, update, fresh = numbers.POLICY, native.score, native.update, native.new_globals()
    results = np.zeros((len(windows.begins), kernel.RESULTS), np.int64)
    ratio = prices.spot / prices.on_demand if prices.on_demand else 1.0
    decisions = kernel.run(
        number, score, update, fresh, np.empty_like(fresh), windows.available, windows.begins, windows.ends,
        job.duration, job.deadline, job.overhead, windows.gap, ratio, results,
    )  # fmt: skip
    spot, on_demand = results[:, kernel.SPOT_TICKS], results[:, kernel.ON_DEMAND_TICKS]
    return Runs(
        cost=cost_of(spot, on_demand, results[:, kernel.FINISHED], windows.gap, job, prices),
        finished=results[:, kernel.FINISHED],
        spot_ticks=spot,
        on_demand_ticks=on_demand,
        starts=results[:, kernel.STARTS],
        preemptions=results[:, kernel.PREEMPTED],
        overruled=results[:, kernel.OVERRULED],
        decisions=int(decisions),
    )


def cost_of(
    spot: Counts, on_demand: Counts, finished: Counts, gap: int, job: Job, prices: Prices
) -> NDArray[np.float64]:
    """Dollars, of shape (runs,), for ticks on spot and on demand."""
    paid = (spot * prices.spot + on_demand * prices.on_demand) * gap / SECONDS
    cost: NDArray[np.float64] = paid + prices.missed * (finished > job.deadline)
    return cost


def _least_cost(windows: Windows, job: Job, prices: Prices) -> Runs:
    from vulcan_spot.baselines.least_cost import COUNTS, least_cost

    unit, hours = math.gcd(windows.gap, job.overhead), windows.gap / SECONDS
    states = 1 + 2 * max(1, -(-job.overhead // windows.gap))
    width = job.duration // unit + 2
    costs = np.empty((2, states, width))
    counts = np.zeros((2, states, width, COUNTS), np.int32)
    best = np.zeros((len(windows.begins), 1 + COUNTS), np.int64)
    known = np.minimum(*(simulate(who, windows, job, prices).cost for who in ("greedy", "uniform_progress")))
    for i in range(len(best)):
        least_cost(
            windows.available, windows.begins[i], windows.ends[i], job.duration, job.deadline, job.overhead,
            windows.gap, unit, prices.spot * hours, prices.on_demand * hours, prices.missed,
            known[i] + 1e-6, costs, counts, best[i],
        )  # fmt: skip
    finished, spot, on_demand, starts, preempted = best.T
    return Runs(
        cost=cost_of(spot, on_demand, finished, windows.gap, job, prices),
        finished=finished,
        spot_ticks=spot,
        on_demand_ticks=on_demand,
        starts=starts,
        preemptions=preempted,
        overruled=np.zeros_like(starts),
    )
