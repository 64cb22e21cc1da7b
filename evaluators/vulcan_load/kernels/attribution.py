"""Every choice of a run judged by what the cluster was like at that moment, where servers have queues.

A run is repeated from the servers chosen. For each request: when each server would have done it, what the balancer
knew of the numbers in flight (a server's last report, and what it sent there itself since), and why it did not choose
the server that would have been done first.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import F1, F2, I1, I2, allocating_kernel, types
from vulcan_load.kernels.engine import drop_first, first_free, push
from vulcan_load.kernels.sharer import done_from, later_spell

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

_SIGNATURE = types.void(
    F1,  # arrivals, ms
    F1,  # work, ms
    I1,  # balancers
    I2,  # whom they ask for reports
    F2,  # when speeds change, by server
    F2,  # speeds
    types.int64,  # cores
    types.int64,  # the number of balancers
    types.float64,  # delay of a report, ms
    I1,  # servers chosen
    F2,  # numbers of the requests, of shape (NUMBERS, requests)
    I1,  # causes
)


@allocating_kernel(_SIGNATURE)
def attribute(arrivals, work, balancers, probed, changes, speeds, cores, count, delay, chosen, numbers, causes):
    """Fill in `numbers` and `causes`."""
    requests, probes = probed.shape
    servers = changes.shape[0]
    free, soonest = np.zeros((servers, cores)), np.zeros(servers)  # when cores are free, and the first of each server
    in_flight = np.zeros(servers, np.int64)
    leaving, number, leaves = np.zeros(requests), np.zeros(requests, np.int64), 0
    counted = np.zeros((count, servers), np.int64)
    reported, sent_then = np.zeros((count, servers), np.int64) - 1, np.zeros((count, servers), np.int64)
    said = np.zeros((requests, probes, 2), np.int64)
    spells = np.zeros(servers, np.int64)
    arrived = 0
    flying = 0
    for i in range(requests):
        now, b, chosen_one = arrivals[i], balancers[i], chosen[i]
        while leaves > 0 and leaving[0] <= now:
            in_flight[chosen[number[0]]] -= 1
            flying -= 1
            drop_first(leaving, number, leaves)
            leaves -= 1
        for k in range(probes):
            s = probed[i, k]
            said[i, k, 0], said[i, k, 1] = in_flight[s], counted[b, s]
        while arrived <= i and arrivals[arrived] + delay <= now:
            to = balancers[arrived]
            for k in range(probes):
                s = probed[arrived, k]
                reported[to, s], sent_then[to, s] = said[arrived, k, 0], said[arrived, k, 1]
            arrived += 1
        best, first, alone, fastest = 0, np.inf, np.inf, 0.0
        end = 0.0
        for s in range(servers):
            spell = spells[s] = later_spell(changes, s, spells[s], now)
            begin = max(now, soonest[s])
            done = done_from(changes, speeds, s, later_spell(changes, s, spell, begin), begin, work[i])
            if done < first:
                best, first = s, done
            if s == chosen_one:
                end = done
            alone = min(alone, done if begin == now else done_from(changes, speeds, s, spell, now, work[i]))
            fastest = max(fastest, speeds[s, spell])
        speed = speeds[chosen_one, spells[chosen_one]]
        numbers[ALONE, i], numbers[BEST, i] = alone - now, first - now
        numbers[SPEED, i], numbers[IN_FLIGHT, i] = speed / fastest, flying
        if end > first:
            here, there = reported[b, chosen_one], reported[b, best]
            known_here = here + counted[b, chosen_one] - sent_then[b, chosen_one]
            known_there = there + counted[b, best] - sent_then[b, best]
            if in_flight[chosen_one] <= in_flight[best]:
                slower = speed < speeds[best, spells[best]]
                causes[i] = SLOWER if slower else HIDDEN
            elif here < 0 or there < 0:
                causes[i] = UNREPORTED
            elif known_here > known_there:
                causes[i] = IGNORED
            elif in_flight[chosen_one] - known_here >= known_there - in_flight[best]:
                causes[i] = HERDING
            else:
                causes[i] = STALE
        free[chosen_one, first_free(free, chosen_one)] = end
        soonest[chosen_one] = free[chosen_one, first_free(free, chosen_one)]
        push(leaving, number, leaves, end, i)
        leaves += 1
        flying += 1
        in_flight[chosen_one] += 1
        counted[b, chosen_one] += 1
