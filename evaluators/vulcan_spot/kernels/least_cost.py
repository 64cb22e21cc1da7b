"""The least that any policy can pay: exact dynamic programming over availability that is known in advance.

It obeys the same rules, the safety net among them, so it is the cost of the best sequence of decisions there is; under
the published safety net also where that misses the deadline.

A state is the region, what runs, how much of its overhead has passed, and the progress;
progress is always a multiple of the greatest common divisor of overhead and tick, so the states can be counted. Of two
states that differ in progress alone, the one with more of it is never worse: what runs from the other on may run from
it too, for the safety net forces no more on it. So the ones that are behind and no cheaper are dropped. Who moves may
go to any other region, and who runs on demand may look at any other. The kernel returns dollars.

In one region a VM is started only if it will work, for to wait is as good as to give up a start-up, and cheaper: a
start-up is one step there, of as many ticks as it takes, and the states are nothing, spot and on-demand. In several
regions one cannot wait where spot is available, and a start-up has a state for each tick.
"""

import numpy as np

from vulcan.kernel_support import I1, I2, RB2, RF2, RI1, RI2, kernel, types
from vulcan_spot.kernels.rules import NONE, ON_DEMAND, SPOT, ceiling, must_hurry

SPOT_TICKS, ON_DEMAND_TICKS, STARTS, PREEMPTED, MOVES, COUNTS = range(6)

ALIKE = 1e-11  # dollars; sums of the same prices in another order differ by less
_SIGNATURE = types.float64(
    RB2,  # availability, (regions, ticks)
    RI2,  # ticks for which spot stays available from each on, likewise
    RI1,  # ticks before each, and the end, with spot available anywhere
    types.int64,  # first tick of the window
    types.int64,  # and the one after its last
    types.int64,  # duration, s
    types.int64,  # deadline, s
    types.int64,  # overhead, s
    types.int64,  # gap, s
    types.int64,  # unit of progress, s: a common divisor of overhead and gap
    types.float64,  # price of a tick on spot
    RF2,  # the same by (regions, ticks), or (0, 0) for that one
    types.float64,  # price of a tick on demand
    types.float64,  # price of a missed deadline
    types.boolean,  # whether the safety net is the published one
    types.float64,  # what some policy pays: more than this is not followed
    types.Array(types.float64, 4, "C"),  # room for costs: (slots, regions, states, units of the duration)
    types.Array(types.int32, 5, "C"),  # room for counts: (slots, regions, states, units of the duration, COUNTS)
    I2,  # room for the fewest and the most units of each slot: (slots, 2)
    I1,  # the best: finished, s, and its counts
)


@kernel(_SIGNATURE)
def least_cost(
    available, lasting, available_before, begin, end, duration, deadline, overhead, gap, unit, spot_price, prices,
    on_demand_price, missed_price, published, enough, costs, counts, spans, best,
):  # fmt: skip
    # states: 0 is nothing; then spot, a state for each stage of its start-up, of which the last works; then on-demand
    regions = available.shape[0]
    levels = max(1, ceiling(overhead, gap))
    at_once = regions == 1  # a start-up is one step
    stages = 1 if at_once else levels
    states = 1 + 2 * stages
    slots = costs.shape[0]
    priced = prices.shape[0] > 0
    lowest = min(spot_price, on_demand_price)
    if priced:
        lowest = on_demand_price
        for region in range(regions):
            for at in range(begin, end):
                lowest = min(lowest, prices[region, at])
    least = np.inf
    costs[:] = np.inf
    costs[0, 0, 0, 0] = 0.0
    counts[0, 0, 0, 0, :] = 0
    units = costs.shape[3]
    spans[:, 0] = units
    spans[:, 1] = -1
    spans[0, :] = 0
    now = 0
    tick = last_tick = begin
    while tick <= last_tick:
        side = (tick - begin) % slots
        first_unit, last_unit = spans[side, 0], spans[side, 1]
        spans[side, 0], spans[side, 1] = units, -1
        for region in range(regions):
            here = tick < end and available[region, tick] != 0
            for state in range(states):
                last = NONE if state == 0 else SPOT if state <= stages else ON_DEMAND
                level = 0 if state == 0 else levels if at_once else (state - 1) % levels + 1
                held = NONE if last == SPOT and not here else last
                least_ahead = np.inf
                for at in range(last_unit, first_unit - 1, -1):
                    cost = costs[side, region, state, at]
                    if cost == np.inf:
                        continue
                    costs[side, region, state, at] = np.inf
                    if cost >= least_ahead - ALIKE:
                        continue
                    least_ahead = cost
                    work_left = duration - at * unit
                    hurry = must_hurry(work_left, deadline - now, overhead, gap)
                    working_spot = (last if published else held) == SPOT and level * gap >= overhead
                    # NONE, SPOT, ON_DEMAND here; to nothing in each other region; ON_DEMAND with a look at each
                    for choice in range(3 + 2 * regions):
                        to_region = region if choice < 3 else (choice - 3) % regions
                        request = choice if choice < 3 else NONE if choice < 3 + regions else ON_DEMAND
                        taken = request
                        if hurry:
                            if choice != (SPOT if working_spot else ON_DEMAND):
                                continue
                            if request == SPOT and not here:
                                taken = NONE
                        elif choice >= 3:
                            if to_region == region:
                                continue
                        elif request == SPOT and not here:
                            continue
                        elif regions > 1:
                            if request == NONE and here:
                                continue  # to wait where spot is available cannot be asked for
                        elif request == SPOT and held != SPOT:
                            left = deadline - now - (levels - 1) * gap  # when its last tick of starting up begins
                            if min(end - tick, lasting[region, tick]) < levels or (
                                levels > 1 and must_hurry(work_left, left, overhead, gap)
                            ):
                                continue  # it would be preempted, or overruled, before it works
                        span = 1
                        if taken == NONE:
                            price = 0.0
                            done = 0
                            reached = 0
                        else:
                            passed = level if taken == held else 0
                            if at_once and passed == 0:
                                span = levels
                            price = on_demand_price * span
                            if taken == SPOT:
                                price = spot_price * span
                                if priced:
                                    price = 0.0
                                    for step in range(span):
                                        price += prices[region, tick + step]
                            lost = min(span * gap, max(0, overhead - passed * gap))
                            done = span * gap - lost
                            reached = min(stages, passed + 1) + (0 if taken == SPOT else stages)
                        total = cost + price
                        if taken != NONE and done >= work_left:
                            finished = now + span * gap - done + work_left
                            if finished > deadline:
                                total += missed_price
                            if total < least:
                                least = total
                                best[0] = finished
                                for i in range(COUNTS):
                                    best[1 + i] = counts[side, region, state, at, i]
                                best[1 + SPOT_TICKS] += span * (taken == SPOT)
                                best[1 + ON_DEMAND_TICKS] += span * (taken == ON_DEMAND)
                                best[1 + STARTS] += taken != held
                                best[1 + PREEMPTED] += held != last
                            continue
                        needed = ceiling(work_left - done, gap)
                        on_spot = min(needed, available_before[end] - available_before[min(tick + span, end)])
                        if total + on_spot * lowest + (needed - on_spot) * on_demand_price > enough:
                            continue
                        to = at + done // unit
                        other = (tick - begin + span) % slots
                        spans[other, 0] = min(spans[other, 0], to)
                        spans[other, 1] = max(spans[other, 1], to)
                        last_tick = max(last_tick, tick + span)
                        if total < costs[other, to_region, reached, to]:
                            costs[other, to_region, reached, to] = total
                            for i in range(COUNTS):
                                counts[other, to_region, reached, to, i] = counts[side, region, state, at, i]
                            counts[other, to_region, reached, to, SPOT_TICKS] += span * (taken == SPOT)
                            counts[other, to_region, reached, to, ON_DEMAND_TICKS] += span * (taken == ON_DEMAND)
                            counts[other, to_region, reached, to, STARTS] += taken not in (NONE, held)
                            counts[other, to_region, reached, to, PREEMPTED] += held != last
                            counts[other, to_region, reached, to, MOVES] += to_region != region and taken == NONE
        now += gap
        tick += 1
    return least
