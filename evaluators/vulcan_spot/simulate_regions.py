"""Running a job over windows of several regions."""

from __future__ import annotations

import numpy as np

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_spot.baselines import numbers
from vulcan_spot.job import Job, Prices
from vulcan_spot.layout import GLOBALS, REGIONS_LAYOUT
from vulcan_spot.runs import Decider, Runs, cheapest, run
from vulcan_spot.simulate import BOUND
from vulcan_spot.windows import Windows

REGION_BASELINES = {
    "on_demand": (numbers.ON_DEMAND_ONLY, False),
    "greedy": (numbers.GREEDY, False),
    "greedy_round_robin": (numbers.GREEDY, True),
    "uniform_progress": (numbers.UNIFORM_PROGRESS, False),
    "uniform_progress_round_robin": (numbers.UNIFORM_PROGRESS, True),
}
"""Who decides, and whether it moves on."""

MAX_REGIONS = 64


def simulate_regions(who: Policy | str, windows: Windows, job: Job, prices: Prices | None = None) -> Runs:
    """Run a policy of the task `spot_multi`, or a baseline of that name, once a window.

    `vulcan_spot.kernel` has the rules. Baselines are `on_demand`; `greedy` and `uniform_progress`, which stay
    in the first region; the same with `_round_robin`, which move on to the next region where they would wait; and
    `least_cost`, what no policy can beat. Raises KeyError for another name, UserError for too many regions.
    """
    prices = prices or Prices()
    regions = len(windows.available)
    if not 1 <= regions <= MAX_REGIONS:
        raise UserError(f"{regions} regions: from 1 to {MAX_REGIONS} can be simulated")
    if who == BOUND:
        known = [simulate_regions(name, windows, job, prices) for name in REGION_BASELINES]
        return cheapest(known, windows, job, prices)
    if isinstance(who, str):
        number, moves_on = REGION_BASELINES[who]
        return run(Decider(number, np.zeros(GLOBALS), moves_on), windows, job, prices)
    native = who.native(REGIONS_LAYOUT)
    decider = Decider(
        numbers.POLICY,
        native.new_globals(),
        addresses=(native.scores["decide"], native.scores["prefer"], native.enter, native.update),
        statistics=native.new_statistics(regions),
    )
    return run(decider, windows, job, prices)
