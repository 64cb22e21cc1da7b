"""The choice of a server judged by what the cluster is like at that moment, where servers have queues.

For each request: when each server would have done it, what the balancer knew of the numbers in flight (a server's last
report, and what it sent there itself since), and why it did not choose the server that would have been done first.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import helper
from vulcan_load.kernels.sharer import done_at, spell_at

NONE, SLOWER, HIDDEN, UNREPORTED, IGNORED, HERDING, STALE = range(7)
"""Why a request went elsewhere than to the server that would have done it first; the first that holds.

`NONE`: it did not. As few or fewer requests were at the chosen server: it is slower (`SLOWER`), or the work of those
ahead was longer, which no report says (`HIDDEN`). More were there: a server had never reported (`UNREPORTED`); the
balancer knew (`IGNORED`); it did not, and its count of the chosen one was wrong by more, or as much (`HERDING`:
requests of others had come), or its count of the other one (`STALE`: requests had left).
"""

ALONE, BEST, SPEED, IN_FLIGHT, NUMBERS = range(5)
"""Of a request: ms on the fastest of empty servers, and on the server that is done first; the chosen server's speed
over the fastest one's; requests in flight in the whole cluster."""


@helper
def judge(ends, changes, speeds, now, work, in_flight, known, reported, chosen, numbers):
    """Fill in the `numbers` of a request, and return the cause.

    Of each server, `ends` says when it would have done the request, `known` how many requests the balancer believes
    there, and `reported` whether it has ever had a report.
    """
    best, alone, fastest = 0, np.inf, 0.0
    for s in range(changes.shape[0]):
        if ends[s] < ends[best]:
            best = s
        alone = min(alone, done_at(changes, speeds, s, now, work))
        fastest = max(fastest, speeds[s, spell_at(changes, s, now)])
    speed = speeds[chosen, spell_at(changes, chosen, now)]
    numbers[ALONE], numbers[BEST] = alone - now, ends[best] - now
    numbers[SPEED], numbers[IN_FLIGHT] = speed / fastest, in_flight.sum()
    if not ends[chosen] > ends[best]:
        return NONE
    if in_flight[chosen] <= in_flight[best]:
        return SLOWER if speed < speeds[best, spell_at(changes, best, now)] else HIDDEN
    if not (reported[chosen] and reported[best]):
        return UNREPORTED
    if known[chosen] > known[best]:
        return IGNORED
    return HERDING if in_flight[chosen] - known[chosen] >= known[best] - in_flight[best] else STALE
