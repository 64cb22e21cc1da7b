"""The oracle: the lowest cost of a job whose windows are known in advance (`vulcan_spot.kernels.least_cost`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vulcan_spot.job import SECONDS, Prices, SafetyNet, SpotJob
from vulcan_spot.runs import Counts, Floats, JobRuns, cost_of
from vulcan_spot.windows import Windows

SHARES = (1 / 128, 1 / 16, 1 / 2, 1.0)
"""How far from a lower bound to what a policy pays the costs are that are searched, until there is a solution.

The lower the limit, the fewer branches reach it: most solutions are found at once, and at the last there is one.
"""


MAX_WORK = 10**11
"""Steps of the search for the least cost, of about a nanosecond: one or two minutes of one core, once a machine."""


def work_of(windows: Windows, job: SpotJob) -> int:
    """Return the number of steps at most: for each window, tick and state, and each choice where there are regions."""
    ticks = -(-job.deadline // windows.gap)
    _, regions, states, units = _room(windows, job)
    return len(windows.begins) * ticks * regions * states * units * (1 if regions == 1 else 3 + 2 * regions)


def _room(windows: Windows, job: SpotJob) -> tuple[int, int, int, int]:
    """Return the numbers of slots for ticks to come, of regions, of states of a VM and of units of progress."""
    units = job.duration // math.gcd(windows.gap, job.overhead) + 2
    levels = max(1, -(-job.overhead // windows.gap))
    regions = len(np.atleast_2d(windows.available))
    return (levels + 1, regions, 3, units) if regions == 1 else (2, regions, 1 + 2 * levels, units)


def cheapest(known: Sequence[JobRuns], windows: Windows, job: SpotJob, prices: Prices, net: SafetyNet) -> JobRuns:
    """Compute the lowest possible cost; `known` are runs of some policies, and costlier branches are cut off."""
    from vulcan_spot.kernels.least_cost import COUNTS, least_cost

    available = np.atleast_2d(windows.available)
    unit, hours = math.gcd(windows.gap, job.overhead), windows.gap / SECONDS
    shape = _room(windows, job)
    costs = np.empty(shape)
    counts = np.zeros((*shape, COUNTS), np.int32)
    spans = np.empty((shape[0], 2), np.int64)
    best = np.zeros((len(windows.begins), 1 + COUNTS), np.int64)
    paid = np.zeros(len(best))
    anywhere = np.concatenate([[0], np.cumsum(available.any(axis=0))]).astype(np.int64)
    lasting = _lasting(available)
    enough = np.min([runs.cost for runs in known], axis=0) + 1e-6
    for i, floor in enumerate(_floors(windows, anywhere, job, prices)):
        for share in SHARES:
            limit = floor + share * (enough[i] - floor)
            paid[i] = least_cost(
                available,
                lasting,
                anywhere,
                windows.begins[i],
                windows.ends[i],
                job.duration,
                job.deadline,
                job.overhead,
                windows.gap,
                unit,
                prices.spot * hours,
                np.zeros((0, 0)) if windows.prices is None else windows.prices * hours,
                prices.on_demand * hours,
                prices.missed,
                net == "published",
                limit,
                costs,
                counts,
                spans,
                best[i],
            )
            if paid[i] <= limit:
                break
    finished, spot, on_demand, starts, preempted, moves = best.T
    if windows.prices is None:
        paid = cost_of(spot * prices.spot, on_demand, finished, windows.gap, job, prices)
    return JobRuns(paid, finished, spot, on_demand, starts, preempted, np.zeros_like(starts), moves)


def _floors(windows: Windows, anywhere: Counts, job: SpotJob, prices: Prices) -> Floats:
    """Return for each window dollars that no run can get below: all spot that there is, and no start-up."""
    hours = windows.gap / SECONDS
    needed = -(-job.duration // windows.gap)
    ends = list(zip(windows.begins, windows.ends, strict=True))
    spot = np.full(len(ends), prices.spot)
    if windows.prices is not None:
        spot = np.array([windows.prices[:, begin:end].min(initial=prices.on_demand) for begin, end in ends])
    on_spot = np.minimum(needed, anywhere[windows.ends] - anywhere[windows.begins])
    lowest = np.minimum(spot, prices.on_demand)
    floors: Floats = (on_spot * lowest + (needed - on_spot) * prices.on_demand) * hours
    return floors


def _lasting(available: NDArray[np.uint8]) -> Counts:
    """Return for how many ticks spot stays available from each tick on, of shape (regions, ticks)."""
    ticks = np.arange(available.shape[1])
    gone = np.where(available, available.shape[1], ticks)
    return np.ascontiguousarray(np.minimum.accumulate(gone[:, ::-1], axis=1)[:, ::-1] - ticks)
