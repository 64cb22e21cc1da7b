"""The kernel that runs a job over windows of one region, once a window.

A tick of `gap` seconds goes like this.

1. Whether spot is available during the tick is seen. A spot VM that runs while it is not is preempted.
2. The tick that has just passed is accounted: a VM that ran does work for the part of it that its start-up overhead
   leaves. A job that is done ends here.
3. The policy decides: nothing, spot, or on-demand.
4. The safety net has the last word (`rules.guaranteed`). Spot that is not available is nothing.
5. Where that is another VM than the one that runs, it starts, and its overhead begins anew.
6. The VM is paid for the whole tick.

After the end of its window spot is not available; the job goes on until it is done, if need be after its deadline.
"""

from __future__ import annotations

from numba import njit, types

from vulcan.anvil.policy_calls import call_event, call_score
from vulcan_spot.baselines import GREEDY, ON_DEMAND_ONLY, POLICY, SPOT_ONLY
from vulcan_spot.baselines.greedy import greedy
from vulcan_spot.baselines.uniform_progress import uniform_progress
from vulcan_spot.layout import (
    AVAILABLE,
    DEADLINE,
    DURATION,
    ELAPSED,
    GAP,
    HELD,
    LAST,
    OVERHEAD,
    OVERHEAD_LEFT,
    PREEMPTIONS,
    PRICE_RATIO,
    PROGRESS,
    RUNNING,
    SLACK,
    SPELL,
    TIME_LEFT,
    WORK_LEFT,
)
from vulcan_spot.rules import NONE, ON_DEMAND, SPOT, U, decided, guaranteed, with_decision

SPOT_TICKS, ON_DEMAND_TICKS, FINISHED, STARTS, PREEMPTED, OVERRULED, RESULTS = range(7)
"""What is counted of a run: ticks paid for, the second at which the job is done, starts of VMs, preemptions, and
decisions that the safety net changed."""

_F = types.Array(types.float64, 1, "C")
_I = types.Array(types.int64, 1, "C")
_SIGNATURE = types.uint64(
    types.int64,  # who decides: see `baselines.numbers`
    types.int64,  # address of the policy's function
    types.int64,  # and of its update, 0 where it has no statistics
    types.Array(types.float64, 1, "C", readonly=True),  # globals of a policy that has seen nothing
    _F,  # room for them
    types.Array(types.uint8, 1, "C", readonly=True),  # availability, by tick
    types.Array(types.int64, 1, "C", readonly=True),  # first tick of each window
    types.Array(types.int64, 1, "C", readonly=True),  # and the one after its last
    types.int64,  # duration, s
    types.int64,  # deadline, s
    types.int64,  # overhead, s
    types.int64,  # gap, s
    types.float64,  # price of spot as a share of that of on-demand
    types.Array(types.int64, 2, "C"),  # results, (windows, RESULTS)
)


@njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy", _nrt=False)
def run(
    who,
    score,
    update,
    fresh,
    globals_,
    available,
    begins,
    ends,
    duration,
    deadline,
    overhead,
    gap,
    price_ratio,
    results,
):
    decisions = U(0)
    for window in range(begins.shape[0]):
        for i in range(fresh.shape[0]):
            globals_[i] = fresh[i]
        globals_[DURATION] = duration
        globals_[DEADLINE] = deadline
        globals_[OVERHEAD] = overhead
        globals_[GAP] = gap
        globals_[PRICE_RATIO] = price_ratio
        now = progress = overhead_left = spell = running = preemptions = 0
        last = NONE
        before = -1
        counted_spot = counted_on_demand = starts = overruled = 0
        tick = begins[window]
        end = ends[window]
        while True:
            here = 1 if tick < end and available[tick] != 0 else 0
            held = last
            if last == SPOT and here == 0:
                held = NONE
            if last != NONE:
                lost = min(gap, overhead_left)
                overhead_left -= lost
                work_left = duration - progress
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
            if who == POLICY:
                globals_[ELAPSED] = now
                globals_[PROGRESS] = progress
                globals_[WORK_LEFT] = work_left
                globals_[TIME_LEFT] = time_left
                globals_[SLACK] = time_left - work_left - overhead
                globals_[AVAILABLE] = here
                globals_[SPELL] = spell
                globals_[LAST] = last
                globals_[HELD] = held
                globals_[OVERHEAD_LEFT] = overhead_left
                globals_[RUNNING] = running
                globals_[PREEMPTIONS] = preemptions
                if update != 0:
                    call_event(update, globals_, globals_, U(0), globals_, U(0), 0.0)
                asked = decided(call_score(score, globals_, globals_, U(0), globals_, U(0), 0.0))
            elif who == ON_DEMAND_ONLY:
                asked = ON_DEMAND
            elif who == SPOT_ONLY:
                asked = SPOT
            elif who == GREEDY:
                asked = greedy(work_left, time_left, overhead, gap, held, here)
            else:
                asked = uniform_progress(
                    now, progress, duration, deadline, work_left, time_left, overhead, gap, held, here, overhead_left
                )
            request = guaranteed(asked, work_left, time_left, overhead, gap, last, overhead_left)
            overruled += request != asked
            if request == SPOT and here == 0:
                request = NONE
            if request not in (held, NONE):
                overhead_left = overhead
                starts += 1
                running = 0
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
    return decisions
