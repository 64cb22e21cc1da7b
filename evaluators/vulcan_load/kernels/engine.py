"""The kernel: one request after the other, each sent to a server as it arrives.

At a request's arrival, in this order: what was finished leaves its server; the request's balancer asks for reports,
which say how it is at this moment; reports that are there by now reach their balancers; the balancer decides; the
request joins the queue of the server. A queue is first come first served, so that when a request will be done is
known as it joins, and leaving is a heap of such times. A report that takes no time is there before the decision.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import allocating_kernel, helper, types
from vulcan_load.layout import (
    AGE,
    CHANCE,
    ID,
    IN_FLIGHT,
    LATENCY,
    LEAST_LOADED,
    MIN_WORK,
    MINE,
    NOW,
    POLICY,
    POWER_OF_TWO,
    RANDOM,
    RECORD,
    REPORTED,
    REQUEST_LATENCY,
    ROUND_ROBIN,
    SENT,
    SERVERS,
    SHORTEST_QUEUE,
)

RECENT = 32
"""Of this many requests that a server finished last, it reports the mean latency of those that found as many there."""

POOL, QUANTILE = 16, 0.84
"""Prequal's pool of reports, and the share of them by requests in flight that is not hot (NSDI 2024, section 4)."""

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_SIGNATURE = types.uint64(
    types.int64,  # who decides
    types.UniTuple(types.int64, 7),  # addresses of the policy: score, enter, update, its handlers of dispatch, report
    # and completion, and what observes completions; 0 for none
    _F1,  # arrivals, ms
    _F1,  # work, ms
    _I1,  # balancers
    _I2,  # whom they ask for reports
    _F2,  # when speeds change, by server
    _F2,  # speeds
    types.int64,  # cores
    types.float64,  # delay of a report, ms
    types.uint64,  # seed of `chance`
    _F2,  # globals, a row a balancer
    _F1,  # records of servers, by balancer and server
    _F1,  # statistics, likewise
    types.int64,  # slots of the statistics of one
    _F1,  # latencies of the requests, ms
    _I1,  # servers that they were sent to
    _F1,  # busy ms until the last arrival, of all cores of a server
)


@helper
def mixed(seed, number):
    """Return a number of 64 bits that looks drawn (SplitMix64: Steele, Lea and Flood, OOPSLA 2014)."""
    z = seed + number * types.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> types.uint64(30))) * types.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> types.uint64(27))) * types.uint64(0x94D049BB133111EB)
    return z ^ (z >> types.uint64(31))


@helper
def done_at(changes, speeds, s, begin, work):
    """When work that begins then is done, as the server's speed changes."""
    k = 0
    last = changes.shape[1] - 1
    high = last
    while k < high:  # the change at or before the beginning
        middle = (k + high + 1) // 2
        if changes[s, middle] <= begin:
            k = middle
        else:
            high = middle - 1
    at = begin
    while k < last:
        room = (changes[s, k + 1] - at) * speeds[s, k]
        if room >= work:
            break
        work -= room
        at = changes[s, k + 1]
        k += 1
    return at + work / speeds[s, k]


@helper
def first_free(free, s):
    best = 0
    for core in range(1, free.shape[1]):
        if free[s, core] < free[s, best]:
            best = core
    return best


@helper
def push(times, numbers, size, time, number):
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if times[parent] <= time:
            break
        times[at], numbers[at] = times[parent], numbers[parent]
        at = parent
    times[at], numbers[at] = time, number


@helper
def drop_first(times, numbers, size):
    """Take the first out of a heap of `size`."""
    time, number = times[size - 1], numbers[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[at], numbers[at] = times[child], numbers[child]
        at = child
    times[at], numbers[at] = time, number


@helper
def usual_latency(recent, samples, s, known, flying):
    """The mean latency of the recent requests that found as many in flight as there are, or as nearly as any did."""
    total, count, nearest = 0.0, 0, 1e18
    for j in range(known):
        apart = abs(samples[s, j] - flying)
        if apart < nearest:
            total, count, nearest = 0.0, 0, apart
        if apart == nearest:
            total += recent[s, j]
            count += 1
    return total / count if count > 0 else 0.0


@helper
def least(values, start, servers):
    """Return the first of the least from a start on, around."""
    best = start
    for j in range(1, servers):
        s = start + j
        if s >= servers:
            s -= servers
        if values[s] < values[best]:
            best = s
    return best


@helper
def prequal(records, base, order, newest, ranked, servers, start):
    """Cold before hot, by requests in flight; of the cold the quickest, of the hot the shortest queue.

    Of the reports that were not used yet, the newest are the pool; below two of them the choice is random.
    """
    count = 0
    for s in range(servers):
        if order[s] > 0 and order[s] > newest - POOL:
            value = records[base + s * RECORD + REPORTED] + records[base + s * RECORD + SENT]
            at = count
            while at > 0 and ranked[at - 1] > value:
                ranked[at] = ranked[at - 1]
                at -= 1
            ranked[at] = value
            count += 1
    if count < 2:
        return start
    limit = ranked[int(QUANTILE * (count - 1))]
    best = -1
    best_cold = False
    best_value = 0.0
    for j in range(servers):
        s = start + j
        if s >= servers:
            s -= servers
        if order[s] == 0 or order[s] <= newest - POOL:
            continue
        flying = records[base + s * RECORD + REPORTED] + records[base + s * RECORD + SENT]
        cold = flying <= limit
        value = records[base + s * RECORD + LATENCY] if cold else flying
        if best < 0 or (cold and not best_cold) or (cold == best_cold and value < best_value):
            best, best_cold, best_value = s, cold, value
    return best


@helper
def show_server(records, at, age, sent, mine):
    """Write what a balancer knows of a server without its report: `at` is the number of its record."""
    records[at * RECORD + AGE] = age
    records[at * RECORD + SENT] = sent
    records[at * RECORD + MINE] = mine


@allocating_kernel(_SIGNATURE)
def run(
    who,
    policy,
    arrivals,
    work,
    balancers,
    probed,
    changes,
    speeds,
    cores,
    delay,
    seed,
    shown,
    records,
    statistics,
    slots,
    latencies,
    chosen,
    busy,
):
    """Send every request. Returns a hash of the decisions."""
    score, enter, update, on_dispatch, on_report, on_complete, completion = policy
    completes = on_complete | completion
    requests, probes = probed.shape
    servers = changes.shape[0]
    count = shown.shape[0]
    free = np.zeros((servers, cores))
    in_flight = np.zeros(servers)
    recent, found = np.zeros((servers, RECENT)), np.zeros((servers, RECENT))
    at_arrival = np.zeros(requests)
    finished = np.zeros(servers, np.int64)
    mine = np.zeros((count, servers))
    turn = np.zeros(count, np.int64)
    order = np.zeros((count, servers), np.int64)  # the number of the report that is known, 0 for none
    newest = np.zeros(count, np.int64)
    taken = np.zeros((count, servers))
    counted = np.zeros((count, servers), np.int64)  # requests sent there in all, and when the known report was taken
    sent = np.zeros((count, servers), np.int64)
    leaving, number = np.zeros(requests), np.zeros(requests, np.int64)
    leaves = 0
    # reports under way, in the order in which they were taken
    said = np.zeros((requests * probes, 4))
    first_said = last_said = 0
    ranked = np.zeros(servers)
    value = np.zeros(servers)
    digest = types.uint64(0)
    horizon = arrivals[requests - 1]
    for b in range(count):
        shown[b, SERVERS] = servers
        for s in range(servers):
            records[(b * servers + s) * RECORD + ID] = s
            if enter != 0:
                at = b * servers + s
                call_event(enter, shown[b], records, at * RECORD, statistics, at * slots, s)
    for i in range(requests):
        now = arrivals[i]
        while leaves > 0 and leaving[0] <= now:
            r, answered = number[0], leaving[0]
            s = chosen[r]
            in_flight[s] -= 1.0
            mine[balancers[r], s] -= 1.0
            shown[balancers[r], IN_FLIGHT] -= 1.0
            recent[s, finished[s] % RECENT] = latencies[r]
            found[s, finished[s] % RECENT] = at_arrival[r]
            finished[s] += 1
            drop_first(leaving, number, leaves)
            leaves -= 1
            if completes != 0:
                to = balancers[r]
                at = to * servers + s
                shown[to, NOW] = answered
                shown[to, REQUEST_LATENCY] = latencies[r]
                show_server(records, at, answered - taken[to, s], counted[to, s] - sent[to, s], mine[to, s])
                if completion != 0:
                    call_event(completion, shown[to], records, at * RECORD, statistics, at * slots, s)
                if on_complete != 0:
                    call_event(on_complete, shown[to], records, at * RECORD, statistics, at * slots, s)
        b = balancers[i]
        for k in range(probes):
            s = probed[i, k]
            row = said[last_said]
            row[0], row[1], row[3] = now, in_flight[s], counted[b, s]
            row[2] = usual_latency(recent, found, s, min(finished[s], RECENT), in_flight[s])
            last_said += 1
        while first_said < last_said and said[first_said, 0] + delay <= now:
            row = said[first_said]
            asked = first_said // probes
            to, s = balancers[asked], probed[asked, first_said % probes]
            first_said += 1
            at = to * servers + s
            newest[to] += 1
            order[to, s] = newest[to]
            taken[to, s] = row[0]
            sent[to, s] = int(row[3])
            records[at * RECORD + REPORTED] = row[1]
            records[at * RECORD + LATENCY] = row[2]
            records[at * RECORD + SENT] = counted[to, s] - sent[to, s]
            if update != 0 or on_report != 0:
                shown[to, NOW] = now
                records[at * RECORD + AGE] = now - row[0]
                records[at * RECORD + MINE] = mine[to, s]
                if update != 0:
                    call_event(update, shown[to], records, at * RECORD, statistics, at * slots, s)
                if on_report != 0:
                    call_event(on_report, shown[to], records, at * RECORD, statistics, at * slots, s)
        base = b * servers * RECORD
        start = probed[i, 0]
        if who == POLICY:
            shown[b, NOW] = now
            best_score = 0.0
            s = -1
            for j in range(servers):
                one = start + j
                if one >= servers:
                    one -= servers
                at = base + one * RECORD
                records[at + AGE] = now - taken[b, one]
                records[at + SENT] = counted[b, one] - sent[b, one]
                records[at + MINE] = mine[b, one]
                drawn = mixed(seed, types.uint64(i * servers + one))
                records[at + CHANCE] = (drawn >> types.uint64(11)) * (1.0 / 9007199254740992.0)
                answer = call_score(score, shown[b], records, at, statistics, (b * servers + one) * slots, one)
                if s < 0 or answer > best_score:
                    s, best_score = one, answer
            if on_dispatch != 0:
                call_event(on_dispatch, shown[b], records, base + s * RECORD, statistics, (b * servers + s) * slots, s)
        elif who == RANDOM:
            s = start
        elif who == ROUND_ROBIN:
            s = (b * servers // count + turn[b]) % servers
            turn[b] += 1
        elif who == LEAST_LOADED:
            s = least(mine[b], start, servers)
        elif who == SHORTEST_QUEUE:
            s = least(in_flight, start, servers)
        elif who == MIN_WORK:
            for one in range(servers):
                begin = max(now, free[one, first_free(free, one)])
                value[one] = done_at(changes, speeds, one, begin, work[i])
            s = least(value, start, servers)
        else:
            for one in range(servers):
                records[base + one * RECORD + SENT] = counted[b, one] - sent[b, one]
            if who == POWER_OF_TWO:
                s, other = start, probed[i, 1]
                here, there = base + s * RECORD, base + other * RECORD
                if records[there + REPORTED] + records[there + SENT] < records[here + REPORTED] + records[here + SENT]:
                    s = other
            else:
                s = prequal(records, base, order[b], newest[b], ranked, servers, start)
                order[b, s] = 0  # a report is used once
        core = first_free(free, s)
        begin = max(now, free[s, core])
        end = done_at(changes, speeds, s, begin, work[i])
        free[s, core] = end
        busy[s] += min(end, horizon) - min(begin, horizon)
        latencies[i] = end - now
        chosen[i] = s
        at_arrival[i] = in_flight[s]
        in_flight[s] += 1.0
        mine[b, s] += 1.0
        shown[b, IN_FLIGHT] += 1.0
        counted[b, s] += 1
        push(leaving, number, leaves, end, i)
        leaves += 1
        digest = digest * types.uint64(6364136223846793005) + types.uint64(s + 1)
    return digest
