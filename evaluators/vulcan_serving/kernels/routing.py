"""Routers: what they know of replicas, and where they send a request.

A router knows at once what it sent and what was answered. It hears of the rest by reports, which replicas write at each
of their steps. What a replica has in memory it estimates: the prompts and answers that went there, as long as not more
than fits was new since.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import allocating_helper, helper, types
from vulcan_serving import layout as at

U = types.uint64
# Of a report: when it was written, its three numbers; then of each router what it had sent
TAKEN, SAID, SENT_BY = 0, 1, 4
# Of what a router knows of a replica: reports that it has got, what it has sent, sent at the report, and the time of it
GOT, SENT, SENT_THEN, COUNTS = range(4)


@helper
def _call(address, views, sights, observed, slots, b, r, replicas):
    if address != 0:
        row = b * replicas + r
        call_event(address, views[b], sights, U(row * at.REPLICA_RECORD), observed, U(row * slots), float(r))


@allocating_helper
def begin(router, routers, replicas, block_count, sessions, integers, numbers, views, sights, observed, slots):
    """Return what routers know: nothing yet."""
    has_policy = router[0] != 0
    b, r = (routers, replicas) if has_policy else (1, 1)
    room = int(numbers[at.DELAY_S] / numbers[at.BASE_S]) + 3 if has_policy else 1
    mine = np.zeros((routers, replicas), np.int64)
    counts = np.zeros((b, r, COUNTS), np.int64)
    taken = np.zeros((b, r))
    written = np.zeros(r, np.int64)
    said = np.zeros((r, room, SENT_BY + b))
    marks = np.full((b, r, block_count if has_policy else 1), -1, np.int64)
    fresh = np.zeros((b, r), np.int64)
    last = np.full((b, sessions if has_policy else 1), -1, np.int64)
    if has_policy:
        for k in range(b):
            views[k, at.ROUTER_REPLICAS], views[k, at.ROUTERS] = replicas, routers
            views[k, at.ROUTER_CAPACITY] = integers[at.CAPACITY_BLOCKS] * integers[at.BLOCK_TOKENS]
            for j in range(r):
                sights[(k * r + j) * at.REPLICA_RECORD] = j
                _call(router[1], views, sights, observed, slots, k, j, replicas)
    return mine, counts, taken, written, said, marks, fresh, last


@helper
def _show(known, sights, b, r, now):
    """Write what is true of a replica at this moment, whatever the request."""
    mine, counts, taken = known[0], known[1], known[2]
    base = (b * mine.shape[1] + r) * at.REPLICA_RECORD
    sights[base + at.MINE] = mine[b, r]
    sights[base + at.AGE] = 1e3 * (now - taken[b, r])
    sights[base + at.SENT] = counts[b, r, SENT] - counts[b, r, SENT_THEN]
    return base


@helper
def _forget_request(sights, base):
    """Nothing is asked about a request where there is none."""
    sights[base + at.PREFIX] = sights[base + at.SAME] = sights[base + at.DRAWN] = sights[base + at.QUEUE] = 0.0
    sights[base + at.CHANCE] = 0.0


@helper
def _hear(router, known, views, sights, observed, slots, b, r, now, delay):
    """Hand a router the reports of a replica that are there by now."""
    counts, taken, written, said = known[1], known[2], known[3], known[4]
    room = said.shape[1]
    while counts[b, r, GOT] < written[r] and said[r, counts[b, r, GOT] % room, TAKEN] + delay <= now:
        row = said[r, counts[b, r, GOT] % room]
        counts[b, r, GOT] += 1
        taken[b, r] = row[TAKEN]
        counts[b, r, SENT_THEN] = int(row[SENT_BY + b])
        base = (b * said.shape[0] + r) * at.REPLICA_RECORD
        for k in range(3):
            sights[base + at.REPORTED + k] = row[SAID + k]
        if router[2] | router[6] != 0:
            _show(known, sights, b, r, now)
            _forget_request(sights, base)
            views[b, at.NOW] = now
            _call(router[2], views, sights, observed, slots, b, r, said.shape[0])
            _call(router[6], views, sights, observed, slots, b, r, said.shape[0])


@helper
def publish(router, known, views, sights, observed, slots, numbers, running, waiting, free, capacity, r, now):
    """Have a replica write a report."""
    if router[0] == 0:
        return
    counts, written, said = known[1], known[3], known[4]
    for b in range(counts.shape[0]):
        _hear(router, known, views, sights, observed, slots, b, r, now, numbers[at.DELAY_S])
    row = said[r, written[r] % said.shape[1]]
    row[TAKEN], row[SAID], row[SAID + 1] = now, running[r], waiting[r]
    row[SAID + 2] = 1.0 - free[r] / capacity
    for b in range(counts.shape[0]):
        row[SENT_BY + b] = counts[b, r, SENT]
    written[r] += 1


@helper
def _estimate(known, blocks, first, most, capacity, b, r):
    """Return how many blocks of a prompt the replica is estimated to have."""
    marks, fresh = known[5], known[6]
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        mark = marks[b, r, blocks[first + middle - 1]]
        if mark >= 0 and fresh[b, r] - mark < capacity:
            low = middle
        else:
            high = middle - 1
    return low


@helper
def send(
    router, known, views, sights, observed, slots, records, requests, blocks, integers, numbers, drawn, chances,
    running, waiting, seen, i, now,
):  # fmt: skip
    """Return the replica that a request goes to."""
    mine, counts, _, _, _, marks, fresh, last = known
    b = requests[i, at.VIA]
    replicas = mine.shape[1]
    first = drawn[i, 0]
    if router[0] == 0:
        best = first
        for k in range(1, replicas):
            r = (first + k) % replicas
            best = r if mine[b, r] < mine[b, best] else best
        mine[b, best] += 1
        return best
    view = views[b]
    size, capacity = integers[at.BLOCK_TOKENS], integers[at.CAPACITY_BLOCKS]
    for k in range(at.KNOWN_FEATURES):
        view[at.ROUTER_REQUEST + k] = records[i * at.RECORD + k]
    view[at.NOW] = now
    most = (requests[i, at.PROMPT] - 1) // size
    start = requests[i, at.FIRST_BLOCK]
    session = requests[i, at.SESSION]
    for r in range(replicas):
        _hear(router, known, views, sights, observed, slots, b, r, now, numbers[at.DELAY_S])
    _call(router[3], views, sights, observed, slots, b, 0, replicas)
    best, best_score = -1, 0.0
    for k in range(replicas):
        r = (first + k) % replicas
        base = _show(known, sights, b, r, now)
        sights[base + at.PREFIX] = _estimate(known, blocks, start, most, capacity, b, r) * size
        sights[base + at.SAME] = session > 0 and last[b, session] == r
        is_drawn = r == first or r == drawn[i, 1]
        sights[base + at.DRAWN] = is_drawn
        sights[base + at.QUEUE] = running[r] + waiting[r] if is_drawn else 0.0
        sights[base + at.CHANCE] = chances[i, r]
        row = b * replicas + r
        score = call_score(router[0], view, sights, U(row * at.REPLICA_RECORD), observed, U(row * slots), float(r))
        if best < 0 or score > best_score:
            best, best_score = r, score
    r = best
    _call(router[5], views, sights, observed, slots, b, r, replicas)
    base = (b * replicas + r) * at.REPLICA_RECORD
    if seen.shape[0] > 0:
        for k in range(at.REPLICA_RECORD):
            seen[i, k] = sights[base + k]
    has = int(sights[base + at.PREFIX]) // size
    requests[i, at.ESTIMATE] = requests[i, at.PROMPT] - has * size
    sights[base + at.PREFILL] += requests[i, at.ESTIMATE]
    sights[base + at.HELD] += requests[i, at.PROMPT]
    fresh[b, r] += requests[i, at.PROMPT] // size - has
    for k in range(requests[i, at.PROMPT] // size):
        marks[b, r, blocks[start + k]] = fresh[b, r]
    last[b, session] = r
    mine[b, r] += 1
    counts[b, r, SENT] += 1
    view[at.UNFINISHED] += 1
    return r


@helper
def wrote(router, known, sights, requests, i):
    """Count a token that a request has written."""
    if router[0] != 0:
        row = requests[i, at.VIA] * known[0].shape[1] + requests[i, at.AT]
        sights[row * at.REPLICA_RECORD + at.HELD] += 1.0


@helper
def answered(
    router, known, views, sights, observed, slots, records, requests, times, arrivals, blocks, size, i, now, is_last
):  # fmt: skip
    """Tell a router of the first token of a request, or of its last one."""
    b, r = requests[i, at.VIA], requests[i, at.AT]
    mine, marks, fresh = known[0], known[5], known[6]
    if is_last:
        mine[b, r] -= 1
    if router[0] == 0:
        return
    replicas = mine.shape[1]
    base = (b * replicas + r) * at.REPLICA_RECORD
    view = views[b]
    prompt, written = requests[i, at.PROMPT], requests[i, at.WRITTEN]
    if is_last:
        view[at.UNFINISHED] -= 1
        sights[base + at.HELD] -= prompt + written
        start = requests[i, at.FIRST_BLOCK]
        fresh[b, r] += (prompt + written - 1) // size - prompt // size
        for k in range((prompt + written - 1) // size):
            marks[b, r, blocks[start + k]] = fresh[b, r]
    else:
        sights[base + at.PREFILL] -= requests[i, at.ESTIMATE]
    handler, observe = (router[8], router[4]) if is_last else (router[7], 0)
    if handler | observe != 0:
        _show(known, sights, b, r, now)
        _forget_request(sights, base)
        view[at.NOW] = now
        view[at.ANSWER], view[at.ANSWER + 1] = prompt, records[i * at.RECORD + at.PREDICTED]
        view[at.ANSWER + 2], view[at.ANSWER + 3] = requests[i, at.FOUND], written
        view[at.ANSWER + 4] = times[i, at.FIRST] - arrivals[i]
        view[at.ANSWER + 5] = now - arrivals[i]
        _call(observe, views, sights, observed, slots, b, r, replicas)
        _call(handler, views, sights, observed, slots, b, r, replicas)
