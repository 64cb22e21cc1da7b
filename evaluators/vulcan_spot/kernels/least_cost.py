"""The least that any policy can pay: exact dynamic programming over availability that is known in advance.

It obeys the same rules, the safety net among them, so it is the cost of the best sequence of decisions there is; under
the published safety net also where that misses the deadline.

A state is the region, what runs, how much of its overhead has passed, and the progress;
progress is always a multiple of the greatest common divisor of overhead and tick, so the states can be counted. Of two
states that differ in progress alone, the one with more of it is never worse: what runs from the other on may run from
it too, for the safety net forces no more on it. So the ones that are behind and no cheaper are dropped. Who moves may
go to any other region, and who runs on demand may look at any other. The kernel returns dollars.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import kernel, types
from vulcan_spot.kernels.rules import LOOK_AT, MOVE, NONE, ON_DEMAND, SPOT, ceiling, must_hurry

SPOT_TICKS, ON_DEMAND_TICKS, STARTS, PREEMPTED, MOVES, COUNTS = range(6)

ALIKE = 1e-11  # dollars; sums of the same prices in another order differ by less
_SIGNATURE = types.float64(
    types.Array(types.uint8, 2, "C", readonly=True),  # availability, (regions, ticks)
    types.int64,  # first tick of the window
    types.int64,  # and the one after its last
    types.int64,  # duration, s
    types.int64,  # deadline, s
    types.int64,  # overhead, s
    types.int64,  # gap, s
    types.int64,  # unit of progress, s: a common divisor of overhead and gap
    types.float64,  # price of a tick on spot
    types.Array(types.float64, 2, "C", readonly=True),  # the same by (regions, ticks), or (0, 0) for that one
    types.float64,  # price of a tick on demand
    types.float64,  # price of a missed deadline
    types.boolean,  # whether the safety net is the published one
    types.float64,  # what some policy pays: more than this is not followed
    types.Array(types.float64, 4, "C"),  # room for costs: (2, regions, states, units of the duration)
    types.Array(types.int32, 5, "C"),  # room for counts: (2, regions, states, units of the duration, COUNTS)
    types.Array(types.int64, 1, "C"),  # the best: finished, s, and its counts
    types.Array(types.uint8, 4, "C"),  # room for origins: (ticks, regions, states, units of the duration), or no ticks
    types.Array(
        types.uint8, 1, "C"
    ),  # the best plan, (ticks,): what runs in each tick, or MOVE or LOOK_AT + the region
)


@kernel(_SIGNATURE)
def least_cost(
    available,
    begin,
    end,
    duration,
    deadline,
    overhead,
    gap,
    unit,
    spot_price,
    prices,
    on_demand_price,
    missed_price,
    published,
    enough,
    costs,
    counts,
    best,
    origins,
    plan,
):
    # states: 0 is nothing; 1 .. levels is spot whose overhead has run for that many ticks; then on-demand likewise
    regions = available.shape[0]
    levels = max(1, ceiling(overhead, gap))
    states = 1 + 2 * levels
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
    side = 0
    first = last_unit = 0  # units of progress that any state has
    now = 0
    tick = begin
    tracing = origins.shape[0] > 0
    end_tick = end_region = end_state = end_at = end_taken = 0
    while first <= last_unit:
        other = 1 - side
        next_first, next_last = np.int64(1) << 60, np.int64(-1)
        for region in range(regions):
            here = tick < end and available[region, tick] != 0
            for state in range(states):
                last = NONE if state == 0 else SPOT if state <= levels else ON_DEMAND
                level = 0 if state == 0 else (state - 1) % levels + 1
                held = NONE if last == SPOT and not here else last
                least_ahead = np.inf
                for at in range(last_unit, first - 1, -1):
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
                        elif request == NONE and here and regions > 1:
                            continue  # to wait where spot is available cannot be asked for
                        if taken == NONE:
                            price = 0.0
                            done = 0
                            reached = 0
                        else:
                            price = on_demand_price
                            if taken == SPOT:
                                price = prices[region, tick] if priced else spot_price
                            passed = level if taken == held else 0
                            lost = min(gap, max(0, overhead - passed * gap))
                            done = gap - lost
                            reached = min(levels, passed + 1) + (0 if taken == SPOT else levels)
                        total = cost + price
                        if taken != NONE and done >= work_left:
                            finished = now + gap - done + work_left
                            if finished > deadline:
                                total += missed_price
                            if total < least:
                                least = total
                                best[0] = finished
                                for i in range(COUNTS):
                                    best[1 + i] = counts[side, region, state, at, i]
                                best[1 + SPOT_TICKS] += taken == SPOT
                                best[1 + ON_DEMAND_TICKS] += taken == ON_DEMAND
                                best[1 + STARTS] += taken != held
                                best[1 + PREEMPTED] += held != last
                                end_tick, end_taken = tick, taken
                                end_region, end_state, end_at = region, state, at
                            continue
                        if total + ceiling(work_left - done, gap) * lowest > enough:
                            continue
                        to = at + done // unit
                        next_first = min(next_first, to)
                        next_last = max(next_last, to)
                        if total < costs[other, to_region, reached, to]:
                            costs[other, to_region, reached, to] = total
                            if tracing:
                                origins[tick + 1 - begin, to_region, reached, to] = region * states + state
                            for i in range(COUNTS):
                                counts[other, to_region, reached, to, i] = counts[side, region, state, at, i]
                            counts[other, to_region, reached, to, SPOT_TICKS] += taken == SPOT
                            counts[other, to_region, reached, to, ON_DEMAND_TICKS] += taken == ON_DEMAND
                            counts[other, to_region, reached, to, STARTS] += taken not in (NONE, held)
                            counts[other, to_region, reached, to, PREEMPTED] += held != last
                            counts[other, to_region, reached, to, MOVES] += to_region != region and taken == NONE
        side = other
        first, last_unit = next_first, next_last
        now += gap
        tick += 1
    if not tracing:
        return least
    plan[end_tick - begin] = end_taken
    region, state, at = end_region, end_state, end_at
    for step in range(end_tick - begin, 0, -1):
        origin = np.int64(origins[step, region, state, at])
        was_region, was_state = origin // states, origin % states
        taken = NONE if state == 0 else SPOT if state <= levels else ON_DEMAND
        plan[step - 1] = taken if was_region == region else (MOVE if taken == NONE else LOOK_AT) + region
        if taken != NONE:
            was = NONE if was_state == 0 else SPOT if was_state <= levels else ON_DEMAND
            here = begin + step - 1 < end and available[region, begin + step - 1] != 0
            held = NONE if was == SPOT and not here else was
            passed = (was_state - 1) % levels + 1 if taken == held else 0
            at -= (gap - min(gap, max(0, overhead - passed * gap))) // unit
        region, state = was_region, was_state
    return least
