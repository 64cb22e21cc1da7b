"""Published balancers with state of their own: Prequal, peak-EWMA and join-idle-queue.

`known` has, of each balancer: Prequal's pool of reports, the counts of those in it, of all so far and of removals, the
requests in flight of the last reports, and room to rank them; of each server for peak-EWMA a cost and its time; idle
servers and since when, the first of them and the one after the last.
"""

from __future__ import annotations

import math

import numpy as np

from vulcan.kernel_support import helper
from vulcan_load.layout import IDLE_QUEUE, PEAK_EWMA

POOL, QUANTILE, MAX_AGE_MS, RECENT_REPORTS = 16, 0.84, 1000.0, 64
DELTA, REMOVED = 1.0, 1.0
"""Prequal (Wydrowski et al., NSDI 2024): the pool, the quantile of requests in flight up to which a server is cold, how
long a report is used, and of how many reports the quantile is; the net rate at which reports accumulate, and how many
are removed at each request."""

DECAY_MS = 10_000.0
"""Time constant of peak-EWMA, as in Finagle and Linkerd."""

S_SERVER, S_TIME, S_FLYING, S_LATENCY, S_USES, S_FIELDS = range(6)


@helper
def remove(pool, counts, b, at):
    """Take a report out of a pool, which stays in order of age."""
    for k in range(at, counts[b, 0] - 1):
        for field in range(S_FIELDS):
            pool[b, k, field] = pool[b, k + 1, field]
    counts[b, 0] -= 1


@helper
def pool_report(known, b, s, now, flying, latency):
    """Store a report in the place of the server's earlier one, or of the oldest."""
    pool, counts, seen = known[0], known[1], known[2]
    seen[b, counts[b, 1] % RECENT_REPORTS] = flying
    counts[b, 1] += 1
    for k in range(counts[b, 0]):
        if pool[b, k, S_SERVER] == s:
            remove(pool, counts, b, k)
            break
    if counts[b, 0] == POOL:
        remove(pool, counts, b, 0)
    at = counts[b, 0]
    pool[b, at, S_SERVER], pool[b, at, S_TIME] = s, now
    pool[b, at, S_FLYING], pool[b, at, S_LATENCY] = flying, latency
    pool[b, at, S_USES] = 0.0
    counts[b, 0] += 1


@helper
def best_of(pool, size, b, limit, worst):
    """Return the cold report of the lowest latency, or if all are hot that of the shortest queue; or the worst one."""
    best, best_hot, best_value = 0, False, 0.0
    for k in range(size):
        hot = pool[b, k, S_FLYING] > limit
        value = pool[b, k, S_FLYING] if hot else pool[b, k, S_LATENCY]
        better = value < best_value if hot == best_hot else best_hot
        if worst:
            better = value > best_value if hot == best_hot else hot
        if k == 0 or better:
            best, best_hot, best_value = k, hot, value
    return best


@helper
def quantile(seen, ranked, b, count):
    """Return the requests in flight up to which a server is cold."""
    for k in range(count):
        at = k
        while at > 0 and ranked[at - 1] > seen[b, k]:
            ranked[at] = ranked[at - 1]
            at -= 1
        ranked[at] = seen[b, k]
    return ranked[int(QUANTILE * (count - 1))]


@helper
def prequal(known, b, now, servers, probes, start, drawn):
    """Return Prequal's choice; `start` where the pool has less than two reports."""
    pool, counts, seen, ranked = known[0], known[1], known[2], known[3]
    while counts[b, 0] > 0 and now - pool[b, 0, S_TIME] > MAX_AGE_MS:
        remove(pool, counts, b, 0)
    if counts[b, 0] < 2:
        return start
    limit = quantile(seen, ranked, b, min(counts[b, 1], RECENT_REPORTS))
    at = best_of(pool, counts[b, 0], b, limit, False)
    s = int(pool[b, at, S_SERVER])
    pool[b, at, S_USES] += 1.0
    pool[b, at, S_FLYING] += 1.0  # so that its own requests count before the next report does
    gained = (1.0 - min(POOL / servers, 1.0)) * probes - REMOVED
    uses = max(1.0, (1.0 + DELTA) / gained) if gained > 0.0 else probes * 1.0
    whole = math.floor(uses)
    if (drawn >> np.uint64(11)) * (1.0 / 9007199254740992.0) < uses - whole:
        whole += 1
    if pool[b, at, S_USES] >= whole:
        remove(pool, counts, b, at)
    if counts[b, 0] > 1:
        counts[b, 2] += 1
        remove(pool, counts, b, 0 if counts[b, 2] % 2 == 0 else best_of(pool, counts[b, 0], b, limit, True))
    return s


@helper
def answered(who, known, b, s, now, latency, flying, cores, drawn):
    """Take note that a server has answered, with so many left in flight."""
    if who == PEAK_EWMA:
        cost = known[4][b, s]
        weight = math.exp(-(now - cost[1]) / DECAY_MS)
        cost[0] = latency if latency > cost[0] * weight else cost[0] * weight + latency * (1.0 - weight)
        cost[1] = now
    elif who == IDLE_QUEUE and flying < cores:
        idle, ends = known[5], known[6]
        to = int(drawn % np.uint64(idle.shape[0]))
        if ends[to, 1] - ends[to, 0] < idle.shape[1]:
            row = idle[to, ends[to, 1] % idle.shape[1]]
            row[0], row[1] = s, now
            ends[to, 1] += 1


@helper
def choose(who, known, b, now, delay, mine, start, other):
    """Return the choice of peak-EWMA or join-idle-queue. `start` and `other` are drawn at random."""
    if who == IDLE_QUEUE:
        idle, ends = known[5], known[6]
        row = idle[b, ends[b, 0] % idle.shape[1]]
        if ends[b, 0] < ends[b, 1] and row[1] + delay <= now:
            ends[b, 0] += 1
            return int(row[0])
        return start
    best, least = start, np.inf
    for s in (start, other):
        cost = known[4][b, s, 0] * math.exp(-(now - known[4][b, s, 1]) / DECAY_MS)
        load = cost * (mine[s] + 1.0) if cost > 0.0 or mine[s] == 0.0 else 1e9 + mine[s]
        if load < least:
            best, least = s, load
    return best
