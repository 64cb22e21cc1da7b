"""Runs of a job over windows of one region or several, by a policy or a baseline."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.simulator import PolicyCalls
from vulcan_spot.job import Prices, SafetyNet, SpotJob
from vulcan_spot.layout import (
    GREEDY,
    LAYOUT,
    ON_DEMAND_ONLY,
    POLICY,
    RECORD,
    REGIONS_LAYOUT,
    SPOT_ONLY,
    UNIFORM_PROGRESS,
)
from vulcan_spot.least_cost import cheapest
from vulcan_spot.runs import Counts, JobRuns, cost_of
from vulcan_spot.windows import Windows

BASELINES: Mapping[str, tuple[int, bool]] = {
    "on_demand": (ON_DEMAND_ONLY, False),
    "greedy": (GREEDY, False),
    "greedy_round_robin": (GREEDY, True),
    "spot_only": (SPOT_ONLY, False),
    "uniform_progress": (UNIFORM_PROGRESS, False),
    "uniform_progress_round_robin": (UNIFORM_PROGRESS, True),
}
"""Number of each baseline, as the kernels number them, and whether it moves to the next region where it would wait."""

OF_ONE = ("on_demand", "greedy", "spot_only", "uniform_progress")
OF_SEVERAL = ("on_demand", "greedy", "greedy_round_robin", "uniform_progress", "uniform_progress_round_robin")
"""Baselines of the tasks of one region and of several."""

BOUND = "least_cost"
"""The oracle, what no policy can beat (`vulcan_spot.least_cost`)."""

MAX_REGIONS = 64


def simulate(
    who: Policy | str,
    windows: Windows,
    job: SpotJob,
    prices: Prices | None = None,
    net: SafetyNet = "exact",
    seconds: Counts | None = None,
) -> JobRuns:
    """Run a policy of either task, one of `BASELINES`, or `BOUND`, once per window.

    `seconds`, zeros of shape (windows, USES), take the time by use if given.
    `vulcan_spot.kernels.engine` has the rules. Raises KeyError for another name, UserError for too many regions.
    """
    from vulcan_spot.kernels import engine as kernel

    prices = prices or Prices()
    available = np.atleast_2d(windows.available)
    regions = len(available)
    if not 1 <= regions <= MAX_REGIONS:
        raise UserError(f"{regions} regions: from 1 to {MAX_REGIONS} can be simulated")
    if who == BOUND:
        known = OF_ONE if regions == 1 else OF_SEVERAL
        runs = [simulate(name, windows, job, prices, net) for name in known if name != "spot_only"]
        return cheapest(runs, windows, job, prices, net)
    number, moves_on = BASELINES[who] if isinstance(who, str) else (POLICY, False)
    policy = None if isinstance(who, str) else who
    # a region is entered when it is first seen, and a policy for one region is notified of every tick alike
    layout, entered = (REGIONS_LAYOUT, "enter") if policy and policy.task.others else (LAYOUT, "update")
    calls = PolicyCalls.of(policy, layout, ("decide", "prefer", entered, "update", "on_tick"), entities=regions)
    results = np.zeros((len(windows.begins), kernel.RESULTS), np.int64)
    paid = np.zeros(0 if windows.prices is None else len(windows.begins))
    decisions = kernel.run(
        number,
        moves_on,
        net == "published",
        calls.addresses,
        calls.shown[0],
        np.empty_like(calls.shown[0]),
        calls.statistics.copy(),
        calls.statistics,
        np.uint64(calls.slots),
        np.empty(regions * RECORD),
        available,
        windows.begins,
        windows.ends,
        job.duration,
        job.deadline,
        job.overhead,
        windows.gap,
        prices.spot / prices.on_demand if prices.on_demand else 1.0,
        np.zeros((0, 0)) if windows.prices is None else windows.prices / prices.on_demand,
        paid,
        results,
        np.zeros((0, 0), np.int64) if seconds is None else seconds,
    )
    spot, on_demand, finished, starts, preempted, overruled, moves, ended_in = results.T
    dollars = spot * prices.spot if windows.prices is None else paid * prices.on_demand
    cost = cost_of(dollars, on_demand, finished, windows.gap, job, prices)
    return JobRuns(cost, finished, spot, on_demand, starts, preempted, overruled, moves, int(decisions), ended_in)
