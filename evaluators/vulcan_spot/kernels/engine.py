"""The kernel that runs a job over windows of one region or several, once per window.

A tick of `gap` seconds goes like this.

1. Whether spot is available during the tick is seen. A spot VM that runs while it is not is preempted.
2. The tick that has just passed is accounted: a VM that ran does work for the part of it that its start-up overhead
   leaves. A job that is done ends here.
3. The policy handles the tick, and decides: nothing, spot, or on-demand.
4. The safety net has the last word (`rules.guaranteed`). Spot that is not available is nothing.
5. Where that is another VM than the one that runs, it starts, and its overhead restarts.
6. The VM is paid for the whole tick.

After the end of its window spot is not available; the job continues until it is done, if need be after its deadline.

With several regions a job is in one at a time, at first in region 0, and sees whether spot is available there and
nowhere else. Instead of nothing the policy asks to move: the other regions are ranked, and the job is in the one of the
highest score from then on (of equals, the one with the lowest number). Its VM is let go and nothing runs during the
tick; what is available in the new region is seen at the next one. It may also ask for on-demand and to look elsewhere:
the job is in the region of the highest score likewise, and its on-demand VM, which costs the same everywhere, goes on.
Where the safety net has to act, the job stays where it is.

Spot costs the same in all regions, or has a price in each region and tick, which a policy knows of all of them.
"""

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import F1, I2, RB2, RF1, RF2, RI1, helper, kernel, types
from vulcan_spot import layout as m
from vulcan_spot.kernels.rules import (
    LOOK,
    LOOK_AT,
    MOVE,
    NONE,
    ON_DEMAND,
    SPOT,
    U,
    ceiling,
    decided,
    guaranteed,
    must_hurry,
    with_decision,
)

# Greedy: spot whenever it is available, and on-demand once the deadline demands it. This is the first program of the
# public leaderboard's search. It stops waiting for spot when only two starts are left to spare.


@helper
def greedy(work_left, time_left, overhead, gap, held, available):
    left = max(0, time_left // gap)
    if ceiling(work_left + overhead, gap) >= left:
        return ON_DEMAND
    if ceiling(work_left + 2 * overhead, gap) >= left:
        return SPOT if held == SPOT and available else ON_DEMAND
    return SPOT if available else NONE


# Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024), as its authors' simulator has it (`rc_cr_threshold`).
#
# Work should be done in proportion to time. Where it is behind, on-demand helps out, and stays until spot is there and
# two starts ahead of that line are gained.


@helper
def uniform_progress(
    elapsed, progress, duration, deadline, work_left, time_left, overhead, gap, held, available, overhead_left
):
    request = SPOT if available else NONE
    if progress - elapsed * duration / deadline < 0:
        request = SPOT if available else ON_DEMAND
    if held == ON_DEMAND and (not available or (elapsed + 2 * overhead) * duration / deadline - progress >= 0):
        request = ON_DEMAND
    left = time_left // gap
    if ceiling(work_left + 2 * overhead, gap) >= left and held != SPOT:
        request = ON_DEMAND
    if ceiling(work_left + overhead, gap) >= left:
        request = SPOT if held == SPOT and overhead_left == 0 else ON_DEMAND
        if overhead == 0 and available:
            request = SPOT
    return request


SPOT_TICKS, ON_DEMAND_TICKS, FINISHED, STARTS, PREEMPTED, OVERRULED, MOVES, ENDED_IN, RESULTS = range(9)
"""Counters of a run: ticks paid for, the second at which the job is done, starts of VMs, preemptions, decisions
that the safety net changed, moves between regions, and the region where the job is when it is done."""

NEVER = -1.0

FIRST, PREEMPTION, CHANGE, STOP, MOVED, REASONS = range(6)
"""Reasons of a start: the run's first VM; the VM before was preempted; the VM is exchanged for one of the other kind;
the policy had stopped the VM before; it had left it to move."""

WORK_SPOT, WORK_FORCED, WORK_WITH_SPOT, WORK_EARLY = range(4)
"""Seconds of work: on spot; on demand where the deadline forces it, else where spot was available, and was not."""

START = 4
"""Seconds of start-up by reason, on spot and then on demand."""

REST_SPOT, REST_ON_DEMAND, WAITED_WITH_SPOT, WAITED, MOVING, USES = range(START + 2 * REASONS, START + 2 * REASONS + 6)
"""Seconds paid for after the job is done, by kind of VM; seconds without a VM: spot was available, or was not, or the
job moved."""

_SIGNATURE = types.uint64(
    types.int64,  # who decides: see `vulcan_spot.layout`
    types.boolean,  # whether a baseline moves, to the next region in turn
    types.boolean,  # whether the safety net is the published one
    types.UniTuple(
        types.int64, 5
    ),  # addresses of the policy's functions: who decides, who ranks, enter, update, on_tick; 0 for none
    RF1,  # globals of a policy that has seen nothing
    F1,  # room for them
    RF1,  # statistics of regions of which nothing was seen
    F1,  # room for them
    types.uint64,  # statistics a region
    F1,  # room for records, (regions * RECORD,)
    RB2,  # availability, (regions, ticks)
    RI1,  # first tick of each window
    RI1,  # and the one after its last
    types.int64,  # duration, s
    types.int64,  # deadline, s
    types.int64,  # overhead, s
    types.int64,  # gap, s
    types.float64,  # price of spot as a share of that of on-demand
    RF2,  # the same by (regions, ticks), or (0, 0) for that one
    F1,  # sums of shares paid for ticks on spot, (windows,), or (0,) for that one
    I2,  # results, (windows, RESULTS)
    I2,  # seconds by use, (windows, USES), or (0, 0)
)


@helper
def _preferred(prefer, globals_, records, statistics, width, region, regions, now, gap):
    """Return the other region of the highest score, the first of equals; this one if there is no other."""
    best = region
    highest = -np.inf
    for other in range(regions):
        at = other * m.RECORD
        seen_at = records[at + m.SEEN_AT]
        records[at + m.AGE] = now + gap if seen_at < 0 else now - seen_at
        if other == region:
            continue
        score = call_score(prefer, globals_, records, U(at), statistics, U(other) * width, float(other))
        if score > highest:
            highest = score
            best = other
    return best


@kernel(_SIGNATURE)
def run(
    who, moves_on, published, policy, fresh, globals_, fresh_statistics, statistics, width, records, available, begins,
    ends, duration, deadline, overhead, gap, price_ratio, prices, paid, results, seconds,
):  # fmt: skip
    counting = seconds.shape[0] > 0
    priced = prices.shape[0] > 0
    decide, prefer, enter, update, on_tick = policy
    regions = available.shape[0]
    decisions = U(0)
    for window in range(begins.shape[0]):
        for i in range(fresh.shape[0]):
            globals_[i] = fresh[i]
        for i in range(fresh_statistics.shape[0]):
            statistics[i] = fresh_statistics[i]
        for other in range(regions):
            for i in range(m.RECORD):
                records[other * m.RECORD + i] = 0.0
            records[other * m.RECORD + m.SEEN] = NEVER
            records[other * m.RECORD + m.SEEN_AT] = NEVER
            records[other * m.RECORD + m.REGION_PRICE] = price_ratio
        globals_[m.DURATION] = duration
        globals_[m.DEADLINE] = deadline
        globals_[m.OVERHEAD] = overhead
        globals_[m.GAP] = gap
        globals_[m.PRICE_RATIO] = price_ratio
        globals_[m.LOWEST_PRICE] = price_ratio
        globals_[m.COUNT] = regions
        now = progress = overhead_left = spell = running = preemptions = 0
        region = seen_regions = came_at = moves = 0
        records[m.VISITS] = 1.0
        last = NONE
        before = -1
        counted_spot = counted_on_demand = starts = overruled = 0
        use = reason = ended = 0
        tick = begins[window]
        end = ends[window]
        while True:
            here = 1 if tick < end and available[region, tick] != 0 else 0
            held = last
            if last == SPOT and here == 0:
                held = NONE
            if last != NONE:
                lost = min(gap, overhead_left)
                overhead_left -= lost
                work_left = duration - progress
                if counting:
                    seconds[window, START + (last - SPOT) * REASONS + reason] += lost
                    seconds[window, use] += min(gap - lost, work_left)
                    seconds[window, REST_SPOT + last - SPOT] += max(0, gap - lost - work_left)
                if gap - lost >= work_left:
                    results[window, FINISHED] = now - gap + lost + work_left
                    break
                progress += gap - lost
                running += gap
            if held == NONE:
                running = 0
                preemptions += last == SPOT
            spell = spell + gap if here == before else 0
            before = here
            work_left = duration - progress
            time_left = deadline - now
            if who == m.POLICY:
                if priced and begins[window] < end:
                    known = min(tick, end - 1)
                    lowest = np.inf
                    for other in range(regions):
                        records[other * m.RECORD + m.REGION_PRICE] = prices[other, known]
                        lowest = min(lowest, prices[other, known])
                    globals_[m.LOWEST_PRICE] = lowest
                    globals_[m.PRICE_RATIO] = prices[region, known]
                at = region * m.RECORD
                is_new = records[at + m.SEEN_AT] < 0
                seen_regions += is_new
                records[at + m.SEEN] = here
                records[at + m.AGE] = 0.0
                records[at + m.TICKS_SEEN] += 1.0
                records[at + m.SEEN_SPELL] = spell
                records[at + m.SEEN_AT] = now
                globals_[m.ELAPSED] = now
                globals_[m.PROGRESS] = progress
                globals_[m.WORK_LEFT] = work_left
                globals_[m.TIME_LEFT] = time_left
                globals_[m.SLACK] = time_left - work_left - overhead
                globals_[m.AVAILABLE] = here
                globals_[m.SPELL] = spell
                globals_[m.LAST] = last
                globals_[m.HELD] = held
                globals_[m.OVERHEAD_LEFT] = overhead_left
                globals_[m.RUNNING] = running
                globals_[m.PREEMPTIONS] = preemptions
                globals_[m.SEEN_REGIONS] = seen_regions
                globals_[m.HERE] = now - came_at
                row = U(region) * width
                event = enter if is_new else update
                if event != 0:
                    call_event(event, globals_, records, U(at), statistics, row, float(region))
                if on_tick != 0:
                    call_event(on_tick, globals_, records, U(at), statistics, row, float(region))
                asked = decided(call_score(decide, globals_, records, U(at), statistics, row, float(region)))
                if asked == LOOK and regions == 1:  # there is nothing to look at
                    asked = ON_DEMAND
            elif who == m.ON_DEMAND_ONLY:
                asked = ON_DEMAND
            elif who == m.SPOT_ONLY:
                asked = SPOT
            elif who == m.GREEDY:
                asked = greedy(work_left, time_left, overhead, gap, held, here)
            else:
                asked = uniform_progress(
                    now, progress, duration, deadline, work_left, time_left, overhead, gap, held, here, overhead_left
                )
            request = guaranteed(asked, work_left, time_left, overhead, gap, last if published else held, overhead_left)
            overruled += request != asked
            looking = request == LOOK
            if looking:
                request = ON_DEMAND
            moving = request == NONE and (who == m.POLICY or moves_on) and regions > 1
            if moving or looking:
                to = (region + 1) % regions
                if who == m.POLICY:
                    to = _preferred(prefer, globals_, records, statistics, width, region, regions, now, gap)
                region = to
                records[region * m.RECORD + m.VISITS] += 1.0
                moves += moving
                came_at = now + gap
                spell = 0
                before = -1
                decisions = with_decision(decisions, (LOOK_AT if looking else MOVE) + region)
            if request == SPOT and here == 0:
                request = NONE
            if counting:
                if last == SPOT and held == NONE:
                    ended = PREEMPTION
                if held != NONE and request == NONE:
                    ended = MOVED if moving else STOP
                if request not in (held, NONE):
                    reason = FIRST if starts == 0 else ended if held == NONE else CHANGE
                if request == NONE:
                    seconds[window, MOVING if moving else WAITED_WITH_SPOT if here else WAITED] += gap
                elif request == SPOT:
                    use = WORK_SPOT
                elif must_hurry(work_left, time_left, overhead, gap):
                    use = WORK_FORCED
                else:
                    use = WORK_WITH_SPOT if here else WORK_EARLY
            if request not in (held, NONE):
                overhead_left = overhead
                starts += 1
                running = 0
            if priced and request == SPOT:
                paid[window] += prices[region, tick]
            counted_spot += request == SPOT
            counted_on_demand += request == ON_DEMAND
            decisions = with_decision(decisions, request)
            last = request
            now += gap
            tick += 1
        results[window, SPOT_TICKS] = counted_spot
        results[window, ON_DEMAND_TICKS] = counted_on_demand
        results[window, STARTS] = starts
        results[window, PREEMPTED] = preemptions
        results[window, OVERRULED] = overruled
        results[window, MOVES] = moves
        results[window, ENDED_IN] = region
    return decisions
