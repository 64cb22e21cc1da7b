"""The rules of a tick, as helpers that the kernels are made of. Times are whole seconds, in int64.

They are those of the simulator of "Can't Be Late" (Wu et al., NSDI 2024) as the public leaderboard of ADRS has it. In
whole seconds they need none of its tolerances, and no rounding ever decides.
"""

import numpy as np

from vulcan.kernel_support import helper

NONE, SPOT, ON_DEMAND = 0, 1, 2
"""The VM that runs during a tick."""

LOOK = 3
"""On-demand, and what is seen at the next tick is another region."""

MOVE, LOOK_AT = 3, 128
"""In the hash of decisions, with the number of a region added: to move there, or to look at it."""

U = np.uint64


@helper
def decided(value):
    """Return the decision that a policy's number stands for."""
    return NONE if value < 0.5 else SPOT if value < 1.5 else ON_DEMAND if value < 2.5 else LOOK


@helper
def ceiling(amount, gap):
    """Return how many ticks it takes."""
    return -(-amount // gap)


@helper
def must_hurry(work_left, time_left, overhead, gap):
    """Check whether a VM that starts now leaves no tick to spare before the deadline."""
    return ceiling(work_left + overhead, gap) >= time_left // gap


@helper
def guaranteed(request, work_left, time_left, overhead, gap, working, overhead_left):
    """Return the request, or what the safety net makes of it.

    A spot VM that has started up may continue. `working` is the VM held in the coming tick, so that one preempted in
    this very tick gives way to on-demand; under the published rules it is that of the past tick, and the tick is lost.
    """
    if must_hurry(work_left, time_left, overhead, gap):
        return SPOT if working == SPOT and overhead_left == 0 else ON_DEMAND
    return request


@helper
def with_decision(decisions, request):
    """Return the hash of the sequence of decisions with one more: Knuth's multiplier for 64 bits (TAOCP 2, 3.3.4)."""
    return decisions * U(6364136223846793005) + U(request) + U(1)
