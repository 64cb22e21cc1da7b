"""Greedy: spot whenever it is there, and on-demand once the deadline demands it.

The first program of the public leaderboard's search. It stops to wait for spot when only two starts are left to spare.
"""

from __future__ import annotations

from vulcan.kernel_support import helper
from vulcan_spot.rules import NONE, ON_DEMAND, SPOT, ceiling


@helper
def greedy(work_left, time_left, overhead, gap, held, available):
    left = max(0, time_left // gap)
    if ceiling(work_left + overhead, gap) >= left:
        return ON_DEMAND
    if ceiling(work_left + 2 * overhead, gap) >= left:
        return SPOT if held == SPOT and available else ON_DEMAND
    return SPOT if available else NONE
