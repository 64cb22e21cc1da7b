"""Running a job over windows of several regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_spot.job import SECONDS, Job, Prices
from vulcan_spot.simulate import BOUND, Counts, Runs, cost_of
from vulcan_spot.windows import Place
from vulcan_traces.spot import SpotTrace

REGION_BASELINES = (
    "on_demand",
    "greedy",
    "greedy_round_robin",
    "uniform_progress",
    "uniform_progress_round_robin",
)
MOST_REGIONS = 64


@dataclass(frozen=True, slots=True)
class RegionWindows:
    """Availability of shape (regions, ticks); of its windows the first tick and the one after the last."""

    gap: int
    available: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, regions: Sequence[Sequence[SpotTrace]], places: Sequence[Place]) -> RegionWindows:
        """Those of the regions' traces: each region has equally many, and the i-th of all are of the same time."""
        offsets = [0]
        columns = []
        for together in zip(*regions, strict=True):
            ticks = min(trace.ticks for trace in together)
            columns.append(np.stack([trace.available[:ticks] for trace in together]))
            offsets.append(offsets[-1] + ticks)
        return cls(
            regions[0][0].gap,
            np.ascontiguousarray(np.concatenate(columns, axis=1)),
            np.array([offsets[trace] + begin for trace, begin, _ in places], dtype=np.int64),
            np.array([offsets[trace] + end for trace, _, end in places], dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class RegionRuns(Runs):
    """The same with how often the job moved."""

    moves: Counts | None = None


def simulate_regions(who: Policy | str, windows: RegionWindows, job: Job, prices: Prices | None = None) -> RegionRuns:
    """Run a policy of the task `spot_multi`, or a baseline of that name, once a window.

    `vulcan_spot.regions_kernel` has the rules. Baselines are `on_demand`; `greedy` and `uniform_progress`, which stay
    in the first region; the same with `_round_robin`, which move on to the next region where they would wait; and
    `least_cost`, what no policy can beat. Raises KeyError for another name, UserError for too many regions.
    """
    from vulcan_spot import kernel, regions_kernel
    from vulcan_spot.baselines import numbers
    from vulcan_spot.regions_layout import RECORD, REGION_GLOBALS, REGIONS_LAYOUT

    prices = prices or Prices()
    regions = len(windows.available)
    if not 1 <= regions <= MOST_REGIONS:
        raise UserError(f"{regions} regions: from 1 to {MOST_REGIONS} can be simulated")
    if who == BOUND:
        return _least_cost(windows, job, prices)
    addresses, moves_on, width = (0, 0, 0, 0), False, 0
    if isinstance(who, str):
        number = {
            "on_demand": numbers.ON_DEMAND_ONLY,
            "greedy": numbers.GREEDY,
            "greedy_round_robin": numbers.GREEDY,
            "uniform_progress": numbers.UNIFORM_PROGRESS,
            "uniform_progress_round_robin": numbers.UNIFORM_PROGRESS,
        }[who]
        moves_on = who.endswith("_round_robin")
        fresh, statistics = np.zeros(REGION_GLOBALS), np.zeros(0)
    else:
        native = who.native(REGIONS_LAYOUT)
        number, width = numbers.POLICY, native.entity_slots
        addresses = (native.scores["decide"], native.scores["prefer"], native.enter, native.update)
        fresh, statistics = native.new_globals(), native.new_statistics(regions)
    results = np.zeros((len(windows.begins), regions_kernel.REGION_RESULTS), np.int64)
    ratio = prices.spot / prices.on_demand if prices.on_demand else 1.0
    decisions = regions_kernel.run_regions(
        number, moves_on, addresses, fresh, np.empty_like(fresh), statistics.copy(), statistics, np.uint64(width),
        np.empty(regions * RECORD), windows.available, windows.begins, windows.ends,
        job.duration, job.deadline, job.overhead, windows.gap, ratio, results,
    )  # fmt: skip
    spot, on_demand = results[:, kernel.SPOT_TICKS], results[:, kernel.ON_DEMAND_TICKS]
    return RegionRuns(
        cost=cost_of(spot, on_demand, results[:, kernel.FINISHED], windows.gap, job, prices),
        finished=results[:, kernel.FINISHED],
        spot_ticks=spot,
        on_demand_ticks=on_demand,
        starts=results[:, kernel.STARTS],
        preemptions=results[:, kernel.PREEMPTED],
        overruled=results[:, kernel.OVERRULED],
        decisions=int(decisions),
        moves=results[:, regions_kernel.MOVES],
    )


def _least_cost(windows: RegionWindows, job: Job, prices: Prices) -> RegionRuns:
    from vulcan_spot.baselines.least_cost_of_regions import COUNTS, least_cost_of_regions

    unit, hours = math.gcd(windows.gap, job.overhead), windows.gap / SECONDS
    shape = (2, len(windows.available), 1 + 2 * max(1, -(-job.overhead // windows.gap)), job.duration // unit + 2)
    costs = np.empty(shape)
    counts = np.zeros((*shape, COUNTS), np.int32)
    best = np.zeros((len(windows.begins), 1 + COUNTS), np.int64)
    known = np.min([simulate_regions(who, windows, job, prices).cost for who in REGION_BASELINES], axis=0)
    for i in range(len(best)):
        least_cost_of_regions(
            windows.available, windows.begins[i], windows.ends[i], job.duration, job.deadline, job.overhead,
            windows.gap, unit, prices.spot * hours, prices.on_demand * hours, prices.missed,
            known[i] + 1e-6, costs, counts, best[i],
        )  # fmt: skip
    finished, spot, on_demand, starts, preempted, moves = best.T
    return RegionRuns(
        cost=cost_of(spot, on_demand, finished, windows.gap, job, prices),
        finished=finished,
        spot_ticks=spot,
        on_demand_ticks=on_demand,
        starts=starts,
        preemptions=preempted,
        overruled=np.zeros_like(starts),
        moves=moves,
    )
