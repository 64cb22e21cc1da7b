"""Uniform Progress (Wu et al., "Can't Be Late", NSDI 2024), as its authors' simulator has it (`rc_cr_threshold`).

Work should be done in proportion to time. Where it is behind, on-demand helps out, and stays until spot is there and
two starts ahead of that line are gained.
"""

from __future__ import annotations

from vulcan.kernel_support import helper
from vulcan_spot.rules import NONE, ON_DEMAND, SPOT, ceiling


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
