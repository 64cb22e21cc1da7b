"""Running a job over windows of one region."""

from __future__ import annotations

import numpy as np

from vulcan.anvil import Policy
from vulcan_spot.baselines import numbers
from vulcan_spot.job import Job, Prices
from vulcan_spot.layout import GLOBALS, LAYOUT
from vulcan_spot.runs import Decider, Runs, cheapest, run
from vulcan_spot.windows import Windows

BASELINES = {
    "on_demand": numbers.ON_DEMAND_ONLY,
    "greedy": numbers.GREEDY,
    "spot_only": numbers.SPOT_ONLY,
    "uniform_progress": numbers.UNIFORM_PROGRESS,
}
BOUND = "least_cost"
BOUND_VERSION = 1
"""To be raised when the bound, the rules or the metrics change: its results are kept on disk."""


def simulate(who: Policy | str, windows: Windows, job: Job, prices: Prices | None = None) -> Runs:
    """Run a policy of the task `spot_single`, or a baseline of that name, once a window.

    `vulcan_spot.kernel` has the rules. Baselines are `on_demand`, `greedy`, `spot_only` and `uniform_progress`, and
    `least_cost`, what no policy can beat. Raises KeyError for another name.
    """
    prices = prices or Prices()
    if who == BOUND:
        known = [simulate(name, windows, job, prices) for name in ("greedy", "uniform_progress")]
        return cheapest(known, windows, job, prices)
    if isinstance(who, str):
        return run(Decider(BASELINES[who], np.zeros(GLOBALS)), windows, job, prices)
    native = who.native(LAYOUT)
    # a region is entered when it is first seen, and a policy for one region is told of every tick alike
    addresses = (native.score, 0, native.update, native.update)
    return run(Decider(numbers.POLICY, native.new_globals(), addresses=addresses), windows, job, prices)
