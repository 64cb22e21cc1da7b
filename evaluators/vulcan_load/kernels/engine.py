"""The kernel: one request after the other, each sent to a server as it arrives.

At a request's arrival, in this order: what was finished leaves its server; the request's balancer asks for reports,
which say how it is at this moment; reports that are there by now reach their balancers; the balancer decides; the
request joins the queue of the server. A queue is first come first served, so that when a request will be done is
known as it joins, and leaving is a heap of such times; or requests share the server's cores (`sharer`). A report that
takes no time is there before the decision.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import F1, F2, I1, I2, allocating_kernel, helper, types
from vulcan_load import layout as m
from vulcan_load.kernels import balancing, sharer
from vulcan_load.kernels.attribution import judge
from vulcan_load.kernels.sharer import done_at

QUEUES, PER_QUEUE = 64, 8
"""A report's latency is of the last requests that found as many in flight as there are now, or about as many: of the
last whatever they found, a server that got none for a while has latencies from when its queue was long."""

_SIGNATURE = types.uint64(
    types.int64,  # who decides
    types.UniTuple(types.int64, 7),  # addresses of the policy: score, enter, update, its handlers of dispatch, report
    # and completion, and what observes completions; 0 for none
    F1,  # arrivals, ms
    F1,  # work, ms
    I1,  # balancers
    I2,  # whom they ask for reports
    F2,  # when speeds change, by server
    F2,  # speeds
    types.int64,  # cores
    types.boolean,  # whether a server's requests share its cores, instead of waiting in a queue
    types.float64,  # delay of a report, ms
    types.uint64,  # seed of `chance`
    F2,  # globals, a row a balancer
    F1,  # records of servers, by balancer and server
    F1,  # statistics, likewise
    types.int64,  # slots of the statistics of one
    F1,  # latencies of requests, ms
    I1,  # servers that they were sent to
    F1,  # busy ms until the last arrival, of all cores of a server
    F2,  # numbers of the choices (`attribution`), by request; of no request unless choices are judged
    I1,  # causes of the choices, likewise
)


@helper
def mixed(seed, number):
    """Return a number of 64 bits that looks drawn (SplitMix64: Steele, Lea and Flood, OOPSLA 2014)."""
    z = seed + number * types.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> types.uint64(30))) * types.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> types.uint64(27))) * types.uint64(0x94D049BB133111EB)
    return z ^ (z >> types.uint64(31))


@helper
def first_free(free, s):
    best = 0
    for core in range(1, free.shape[1]):
        if free[s, core] < free[s, best]:
            best = core
    return best


@helper
def done_on_each(ends, free, changes, speeds, now, work):
    """Fill in when each server would have done a request that comes now."""
    for s in range(free.shape[0]):
        ends[s] = done_at(changes, speeds, s, max(now, free[s, first_free(free, s)]), work)


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
def most_under_way(arrivals, delay):
    """Return for how many requests at most reports are under way at a time."""
    most, first = 0, 0
    for i in range(arrivals.shape[0]):
        while first < i and arrivals[first] + delay <= arrivals[i]:
            first += 1
        most = max(most, i - first + 1)
    return most + 1


@helper
def latency_at(by_queue, kept, s, flying):
    """Return the mean of the last latencies at the number in flight, or at the nearest one at which there are any."""
    at = min(int(flying), QUEUES - 1)
    for apart in range(QUEUES):
        for level in (at - apart, at + apart):
            if 0 <= level < QUEUES and kept[s, level] > 0:
                known = min(kept[s, level], PER_QUEUE)
                total = 0.0
                for j in range(known):
                    total += by_queue[s, level, j]
                return total / known
    return 0.0


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
def show_server(records, at, age, sent, mine):
    """Write what a balancer knows of a server without its report: `at` is the number of its record."""
    records[at * m.RECORD + m.AGE] = age
    records[at * m.RECORD + m.SENT] = sent
    records[at * m.RECORD + m.MINE] = mine


@allocating_kernel(_SIGNATURE)
def run(
    who, policy, arrivals, work, balancers, probed, changes, speeds, cores, sharing, delay, seed, shown, records,
    statistics, slots, latencies, chosen, busy, numbers, causes,
):  # fmt: skip
    """Send every request. Returns a hash of the decisions."""
    score, enter, update, on_dispatch, on_report, on_complete, completion = policy
    completes = on_complete | completion
    requests, probes = probed.shape
    servers = changes.shape[0]
    count = shown.shape[0]
    free = np.zeros((servers, cores))
    in_flight = np.zeros(servers)
    by_queue, kept = np.zeros((servers, QUEUES, PER_QUEUE)), np.zeros((servers, QUEUES), np.int64)
    listed = requests if sharing else 1
    no_one, after = np.zeros(servers, np.int64) - 1, np.zeros(listed, np.int64) - 1
    shared = (np.zeros(servers), np.zeros(servers), np.zeros(servers) + np.inf, no_one, np.zeros(listed), after)
    known = (
        np.zeros((count, balancing.POOL, balancing.S_FIELDS)),
        np.zeros((count, 3), np.int64),
        np.zeros((count, balancing.RECENT_REPORTS)),
        np.zeros(balancing.RECENT_REPORTS),
        np.zeros((count, servers if who == m.PEAK_EWMA else 1, 2)),
        np.zeros((count, 4 * servers if who == m.IDLE_QUEUE else 1, 2)),
        np.zeros((count, 2), np.int64),
    )
    at_arrival = np.zeros(requests)
    mine = np.zeros((count, servers))
    turn = np.zeros(count, np.int64)
    taken = np.zeros((count, servers))
    counted = np.zeros((count, servers), np.int64)  # requests sent there in all, and when the known report was taken
    sent = np.zeros((count, servers), np.int64)
    reported, believed = np.zeros((count, servers)), np.zeros((count, servers))
    leaving, number = np.zeros(requests), np.zeros(requests, np.int64)
    leaves = 0
    # reports under way, in the order in which they were taken
    room = most_under_way(arrivals, delay) * probes
    said = np.zeros((room, 4))
    first_said = last_said = 0
    value = np.zeros(servers)
    digest = types.uint64(0)
    horizon = arrivals[requests - 1]
    for b in range(count):
        shown[b, m.SERVERS], shown[b, m.BALANCERS] = servers, count
        for s in range(servers):
            records[(b * servers + s) * m.RECORD + m.ID] = s
            if enter != 0:
                at = b * servers + s
                call_event(enter, shown[b], records, at * m.RECORD, statistics, at * slots, s)
    alone = 0.0
    for i in range(requests):
        now, b = arrivals[i], balancers[i]
        while True:
            if sharing:
                answered, r = sharer.next_departure(shared, now)
                if r < 0:
                    break
                s = chosen[r]
                latencies[r] = answered - arrivals[r]
                sharer.depart(shared, changes, speeds, cores, in_flight, busy, s, answered, horizon)
            else:
                if leaves == 0 or leaving[0] > now:
                    break
                r, answered = number[0], leaving[0]
                s = chosen[r]
                drop_first(leaving, number, leaves)
                leaves -= 1
            to = balancers[r]
            in_flight[s] -= 1.0
            mine[to, s] -= 1.0
            shown[to, m.IN_FLIGHT] -= 1.0
            level = min(int(at_arrival[r]), QUEUES - 1)
            by_queue[s, level, kept[s, level] % PER_QUEUE] = latencies[r]
            kept[s, level] += 1
            if who >= m.TWO_BY_OWN:
                drawn = mixed(seed, types.uint64(r))
                balancing.answered(who, known, to, s, answered, latencies[r], in_flight[s], cores, drawn)
            if completes != 0:
                alone = done_at(changes, speeds, s, answered, work[r]) - answered
                at = to * servers + s
                shown[to, m.NOW] = answered
                shown[to, m.REQUEST_LATENCY] = latencies[r]
                shown[to, m.REQUEST_SERVICE], shown[to, m.REQUEST_LEFT] = alone, in_flight[s]
                show_server(records, at, answered - taken[to, s], counted[to, s] - sent[to, s], mine[to, s])
                if completion != 0:
                    call_event(completion, shown[to], records, at * m.RECORD, statistics, at * slots, s)
                if on_complete != 0:
                    call_event(on_complete, shown[to], records, at * m.RECORD, statistics, at * slots, s)
        for k in range(probes):
            s = probed[i, k]
            row = said[last_said % room]
            row[0], row[1], row[3] = now, in_flight[s], counted[b, s]
            row[2] = latency_at(by_queue, kept, s, in_flight[s])
            last_said += 1
        while first_said < last_said and said[first_said % room, 0] + delay <= now:
            row = said[first_said % room]
            asked = first_said // probes
            to = balancers[asked]
            s = probed[asked, first_said % probes]
            first_said += 1
            at = to * servers + s
            if who == m.PREQUAL:
                balancing.pool_report(known, to, s, now, row[1], row[2])
            reported[to, s] = 1.0
            believed[to, s] = row[1] - row[3]
            taken[to, s] = row[0]
            sent[to, s] = int(row[3])
            records[at * m.RECORD + m.REPORTED] = row[1]
            records[at * m.RECORD + m.LATENCY] = row[2]
            records[at * m.RECORD + m.SENT] = counted[to, s] - sent[to, s]
            if update != 0 or on_report != 0:
                shown[to, m.NOW] = now
                records[at * m.RECORD + m.AGE] = now - row[0]
                records[at * m.RECORD + m.MINE] = mine[to, s]
                if update != 0:
                    call_event(update, shown[to], records, at * m.RECORD, statistics, at * slots, s)
                if on_report != 0:
                    call_event(on_report, shown[to], records, at * m.RECORD, statistics, at * slots, s)
        base = b * servers * m.RECORD
        start = probed[i, 0]
        if who == m.POLICY:
            shown[b, m.NOW] = now
            best_score = 0.0
            s = -1
            for j in range(servers):
                one = start + j
                if one >= servers:
                    one -= servers
                at = base + one * m.RECORD
                records[at + m.AGE] = now - taken[b, one]
                records[at + m.SENT] = counted[b, one] - sent[b, one]
                records[at + m.MINE] = mine[b, one]
                drawn = mixed(seed, types.uint64(i * servers + one))
                records[at + m.CHANCE] = (drawn >> types.uint64(11)) * (1.0 / 9007199254740992.0)
                answer = call_score(score, shown[b], records, at, statistics, (b * servers + one) * slots, one)
                if s < 0 or answer > best_score:
                    s, best_score = one, answer
            if on_dispatch != 0:
                call_event(
                    on_dispatch, shown[b], records, base + s * m.RECORD, statistics, (b * servers + s) * slots, s
                )
        elif who == m.RANDOM:
            s = start
        elif who == m.ROUND_ROBIN:
            s = (b * servers // count + turn[b]) % servers
            turn[b] += 1
        elif who == m.LEAST_LOADED:
            s = least(mine[b], start, servers)
        elif who == m.SHORTEST_QUEUE:
            s = least(in_flight, start, servers)
        elif who == m.MIN_WORK:
            if sharing:  # were as many to stay as are there then
                for one in range(servers):
                    value[one] = done_at(changes, speeds, one, now, work[i] / min(1.0, cores / (in_flight[one] + 1.0)))
            else:
                done_on_each(value, free, changes, speeds, now, work[i])
            s = least(value, start, servers)
        else:
            s, other = start, probed[i, 1]
            if who == m.POWER_OF_TWO:
                s = other if in_flight[other] < in_flight[s] else s
            elif who == m.TWO_BY_OWN:
                s = other if mine[b, other] < mine[b, s] else s
            elif who == m.PREQUAL:
                drawn = mixed(seed, types.uint64(i))
                s = balancing.prequal(known, b, now, servers, probes, start, drawn)
            else:
                s = balancing.choose(who, known, b, now, delay, mine[b], start, other)
        if len(causes):
            done_on_each(value, free, changes, speeds, now, work[i])
            known_there = believed[b] + counted[b]
            causes[i] = judge(value, changes, speeds, now, work[i], in_flight, known_there, reported[b], s, numbers[i])
        chosen[i] = s
        at_arrival[i] = in_flight[s]
        if sharing:
            sharer.join(shared, changes, speeds, cores, in_flight, busy, s, i, now, work[i], horizon)
        else:
            core = first_free(free, s)
            begin = max(now, free[s, core])
            end = done_at(changes, speeds, s, begin, work[i])
            free[s, core] = end
            busy[s] += min(end, horizon) - min(begin, horizon)
            latencies[i] = end - now
            push(leaving, number, leaves, end, i)
            leaves += 1
        in_flight[s] += 1.0
        mine[b, s] += 1.0
        shown[b, m.IN_FLIGHT] += 1.0
        counted[b, s] += 1
        digest = digest * types.uint64(6364136223846793005) + types.uint64(s + 1)
    while sharing:  # those that are there at the end
        answered, r = sharer.next_departure(shared, np.inf)
        if r < 0:
            break
        latencies[r] = answered - arrivals[r]
        sharer.depart(shared, changes, speeds, cores, in_flight, busy, chosen[r], answered, horizon)
        in_flight[chosen[r]] -= 1.0
    return digest
