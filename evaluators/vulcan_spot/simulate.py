"""Runs of a job over windows of one region or several, by a policy or a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

import numpy as np

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_spot.job import Prices, SafetyNet, SpotJob
from vulcan_spot.layout import (
    GLOBALS,
    GREEDY,
    LAYOUT,
    ON_DEMAND_ONLY,
    POLICY,
    REGIONS_LAYOUT,
    SPOT_ONLY,
    UNIFORM_PROGRESS,
)
from vulcan_spot.least_cost import cheapest
from vulcan_spot.runs import Counts, Decider, JobRuns, run
from vulcan_spot.windows import Windows

Baselines = Mapping[str, tuple[int, bool]]
"""Number of each baseline, as the kernels number them, and whether it moves to the next region where it would wait."""

BASELINES: Baselines = {
    "on_demand": (ON_DEMAND_ONLY, False),
    "greedy": (GREEDY, False),
    "spot_only": (SPOT_ONLY, False),
    "uniform_progress": (UNIFORM_PROGRESS, False),
}
REGION_BASELINES: Baselines = {
    "on_demand": (ON_DEMAND_ONLY, False),
    "greedy": (GREEDY, False),
    "greedy_round_robin": (GREEDY, True),
    "uniform_progress": (UNIFORM_PROGRESS, False),
    "uniform_progress_round_robin": (UNIFORM_PROGRESS, True),
}

BOUND = "least_cost"
"""The oracle, what no policy can beat (`vulcan_spot.least_cost`)."""

MAX_REGIONS = 64


class Simulate(Protocol):
    """`simulate` or `simulate_regions`."""

    def __call__(
        self,
        who: Policy | str,
        windows: Windows,
        job: SpotJob,
        prices: Prices | None = None,
        net: SafetyNet = "exact",
        seconds: Counts | None = None,
    ) -> JobRuns: ...


def _simulate(
    baselines: Baselines,
    who: Policy | str,
    windows: Windows,
    job: SpotJob,
    prices: Prices | None = None,
    net: SafetyNet = "exact",
    seconds: Counts | None = None,
) -> JobRuns:
    """Run a policy of the task, or a baseline of that name, once per window; `seconds` as in `run`.

    `vulcan_spot.kernels.engine` has the rules. Raises KeyError for another name, UserError for too many regions.
    """
    prices = prices or Prices()
    regions = len(np.atleast_2d(windows.available))
    if not 1 <= regions <= MAX_REGIONS:
        raise UserError(f"{regions} regions: from 1 to {MAX_REGIONS} can be simulated")
    if who == BOUND:
        known = [_simulate(baselines, name, windows, job, prices, net) for name in baselines if name != "spot_only"]
        return cheapest(known, windows, job, prices, net)
    if isinstance(who, str):
        number, moves_on = baselines[who]
        decider = Decider(number, np.zeros(GLOBALS), moves_on)
    elif baselines is BASELINES:
        native = who.native(LAYOUT)
        # a region is entered when it is first seen, and a policy for one region is notified of every tick alike
        addresses = (native.score, 0, native.update, native.update, native.events.get("on_tick", 0))
        decider = Decider(POLICY, native.new_globals(), addresses=addresses)
    else:
        native = who.native(REGIONS_LAYOUT)
        decides, ranks = native.scores["decide"], native.scores["prefer"]
        addresses = (decides, ranks, native.enter, native.update, native.events.get("on_tick", 0))
        statistics = native.new_statistics(regions)
        decider = Decider(POLICY, native.new_globals(), addresses=addresses, statistics=statistics)
    return run(decider, windows, job, prices, net, seconds)


simulate: Simulate = partial(_simulate, BASELINES)
"""Run a policy of the task `spot_single`, one of `BASELINES` or `BOUND`."""

simulate_regions: Simulate = partial(_simulate, REGION_BASELINES)
"""Run a policy of the task `spot_multi`, one of `REGION_BASELINES` or `BOUND`; a job begins in the first region."""
