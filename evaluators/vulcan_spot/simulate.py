"""Runs of a job over windows of one region or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_spot.baselines import BASELINES, BOUND, REGION_BASELINES
from vulcan_spot.job import Prices, SafetyNet, SpotJob
from vulcan_spot.layout import GLOBALS, LAYOUT, PLANNED, POLICY, REGIONS_LAYOUT
from vulcan_spot.least_cost import cheapest, room_for_plans
from vulcan_spot.runs import Decider, JobRuns, Tally, run
from vulcan_spot.windows import Windows


class Simulate(Protocol):
    """`simulate` or `simulate_regions`."""

    def __call__(
        self,
        who: Policy | str,
        windows: Windows,
        job: SpotJob,
        prices: Prices | None = None,
        net: SafetyNet = "exact",
        tally: Tally | None = None,
    ) -> JobRuns: ...


def simulate(
    who: Policy | str,
    windows: Windows,
    job: SpotJob,
    prices: Prices | None = None,
    net: SafetyNet = "exact",
    tally: Tally | None = None,
) -> JobRuns:
    """Run a policy of the task `spot_single`, or a baseline of that name, once per window.

    See `vulcan_spot.kernels.engine` for the rules; `tally` is filled in if given. Baselines are `on_demand`, `greedy`,
    `spot_only`, `uniform_progress` and `least_cost`, a lower bound on the cost. Raises KeyError for another name.
    """
    prices = prices or Prices()
    if who == BOUND:
        known = [simulate(name, windows, job, prices, net) for name in ("greedy", "uniform_progress")]
        return _least(known, windows, job, prices, net, tally)
    if isinstance(who, str):
        return run(Decider(BASELINES[who], np.zeros(GLOBALS)), windows, job, prices, net, tally)
    native = who.native(LAYOUT)
    # a region is entered when it is first seen, and a policy for one region is notified of every tick alike
    addresses = (native.score, 0, native.update, native.update, native.events.get("on_tick", 0))
    return run(Decider(POLICY, native.new_globals(), addresses=addresses), windows, job, prices, net, tally)


MAX_REGIONS = 64


def simulate_regions(
    who: Policy | str,
    windows: Windows,
    job: SpotJob,
    prices: Prices | None = None,
    net: SafetyNet = "exact",
    tally: Tally | None = None,
) -> JobRuns:
    """Run a policy of the task `spot_multi`, or a baseline of that name, once per window.

    `vulcan_spot.kernels.engine` has the rules; `tally` is filled in if given. Baselines are `on_demand`; `greedy` and
    `uniform_progress`, which stay in the first region; the same with `_round_robin`, which move on to the next region
    where they would wait; and `least_cost`, what no policy can beat. Raises KeyError for another name, UserError for
    too many regions.
    """
    prices = prices or Prices()
    regions = len(windows.available)
    if not 1 <= regions <= MAX_REGIONS:
        raise UserError(f"{regions} regions: from 1 to {MAX_REGIONS} can be simulated")
    if who == BOUND:
        known = [simulate_regions(name, windows, job, prices, net) for name in REGION_BASELINES]
        return _least(known, windows, job, prices, net, tally)
    if isinstance(who, str):
        number, moves_on = REGION_BASELINES[who]
        return run(Decider(number, np.zeros(GLOBALS), moves_on), windows, job, prices, net, tally)
    native = who.native(REGIONS_LAYOUT)
    decider = Decider(
        POLICY,
        native.new_globals(),
        addresses=(
            native.scores["decide"],
            native.scores["prefer"],
            native.enter,
            native.update,
            native.events.get("on_tick", 0),
        ),
        statistics=native.new_statistics(regions),
    )
    return run(decider, windows, job, prices, net, tally)


def _least(
    known: Sequence[JobRuns], windows: Windows, job: SpotJob, prices: Prices, net: SafetyNet, tally: Tally | None
) -> JobRuns:
    """Return the runs of the least cost; with a tally, repeat one of the plans of that cost to fill it in.

    Raises UserError where plans would take too much memory.
    """
    if tally is None:
        return cheapest(known, windows, job, prices, net)
    plans = room_for_plans(windows, job)
    if plans is None:
        raise UserError("the plan of the least cost takes too much memory to trace; use fewer regions or longer ticks")
    cheapest(known, windows, job, prices, net, plans)
    return run(Decider(PLANNED, np.zeros(GLOBALS), plan=plans), windows, job, prices, net, tally)
