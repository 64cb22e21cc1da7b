"""The kernel: requests, the router before the replicas, and the replicas' steps.

At a moment requests that arrive are routed, and wait at their replica; then the steps that end there do, one replica
after the other, each of which begins its next step at once. A step computes tokens of several requests, at most so many
in all: first those that run, in the order in which they were admitted, each what it lacks; then, if none had to make
room, requests that wait. What a request computes takes memory in blocks; if none is free, one that runs makes room: it
gives all of its memory back, and waits again. A request that has all its tokens in memory at the end of a step writes
another. So does the scheduler of vLLM (V1).

Without a policy requests are admitted in the order of arrival, the last of them makes room, and the router goes by the
requests of its own that are not finished.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import F1, F2, I1, I2, RF1, RI1, allocating_kernel, helper, types
from vulcan_serving import layout as at
from vulcan_serving.kernels import memory, routing

U = types.uint64
_SIGNATURE = types.uint64(
    types.UniTuple(types.int64, 11),  # addresses of the scheduler: score, preempt, reserve, enter, update, leave, and
    # its handlers of arrivals, admissions, first tokens, preemptions and ends; 0 for none
    types.UniTuple(types.int64, 9),  # of the router: score, enter, update, what observes arrivals and ends, and its
    # handlers of dispatches, reports, first tokens and ends
    RF1,  # arrivals, s
    RI1,  # blocks of requests
    types.int64,  # how many different ones there are
    types.int64,  # sessions
    I1,  # the integers of the layout
    F1,  # its numbers
    F2,  # globals of the schedulers, a row a replica
    F1,  # records of requests
    F1,  # their statistics
    types.int64,  # slots of these of one
    F2,  # globals of routers, a row a router
    F1,  # their records of replicas
    F1,  # statistics of these
    types.int64,  # slots of one
    I2,  # replicas drawn for each request
    F2,  # chances of replicas at each request; empty without a router's policy
    I2,  # the table of requests
    F2,  # their times
    I2,  # the record of steps
    F2,  # what routers see of the replicas that they choose, by request; of no request unless that is wanted
)


@helper
def _show_engine(shown, r, now, running, waiting, memory_, integers, budget):
    shown[r, at.NOW] = now
    shown[r, at.RUNNING], shown[r, at.WAITING] = running[r], waiting[r]
    shown[r, at.FREE] = memory_[2][r] * integers[at.BLOCK_TOKENS]
    shown[r, at.BUDGET] = budget


@helper
def _show_request(records, requests, times, i, cached):
    base = i * at.RECORD
    records[base + at.GENERATED] = requests[i, at.WRITTEN]
    records[base + at.COMPUTED] = requests[i, at.IN_MEMORY]
    records[base + at.CACHED] = cached
    records[base + at.PREEMPTED] = requests[i, at.TIMES_PREEMPTED]
    records[base + at.FIRST_TOKEN] = times[i, at.FIRST] if requests[i, at.WRITTEN] > 0 else 0.0


@helper
def _tell(address, shown, r, entities, i):
    """Call a handler or an observation of request i."""
    if address != 0:
        records, statistics, slots = entities
        call_event(address, shown[r], records, U(i * at.RECORD), statistics, U(i * slots), float(i))


@helper
def _rate(address, shown, r, entities, i):
    records, statistics, slots = entities
    return call_score(address, shown[r], records, U(i * at.RECORD), statistics, U(i * slots), float(i))


@helper
def _take_memory(memory_, requests, holds, blocks, integers, r, i, tokens):
    """Hold the blocks that a request needs with so many tokens, and have others find those that are full."""
    pool, named, free = memory_
    size = integers[at.BLOCK_TOKENS]
    first = requests[i, at.FIRST_HELD]
    while requests[i, at.BLOCKS_HELD] * size < tokens:
        holds[first + requests[i, at.BLOCKS_HELD]] = memory.take(pool, named, free, r)
        requests[i, at.BLOCKS_HELD] += 1
    for k in range(requests[i, at.BLOCKS_NAMED], tokens // size):
        memory.name(pool, named, r, holds[first + k], blocks[requests[i, at.FIRST_BLOCK] + k])
    requests[i, at.BLOCKS_NAMED] = max(requests[i, at.BLOCKS_NAMED], tokens // size)


@helper
def _release(memory_, requests, holds, r, i):
    """Give the blocks of a request back, the last one first; of those that nobody finds the last is the first taken."""
    pool, _, free = memory_
    first, count, full = requests[i, at.FIRST_HELD], requests[i, at.BLOCKS_HELD], requests[i, at.BLOCKS_NAMED]
    for k in range(full, count):
        memory.give_back(pool, free, r, holds[first + k])
    for k in range(full - 1, -1, -1):
        memory.give_back(pool, free, r, holds[first + k])
    requests[i, at.BLOCKS_HELD] = requests[i, at.BLOCKS_NAMED] = requests[i, at.IN_MEMORY] = 0


@helper
def _findable(memory_, requests, blocks, integers, r, i):
    """Return how many blocks of a waiting request are in memory; its last token is computed in any case."""
    most = (requests[i, at.PROMPT] + requests[i, at.WRITTEN] - 1) // integers[at.BLOCK_TOKENS]
    return memory.found(memory_[1], r, blocks, requests[i, at.FIRST_BLOCK], most)


@helper
def _remove(queue, count, r, place):
    for k in range(place, count[r] - 1):
        queue[r, k] = queue[r, k + 1]
    count[r] -= 1


@helper
def _join(queue, count, r, i):
    """Insert a request in the order of arrival."""
    place = count[r]
    while place > 0 and queue[r, place - 1] > i:
        queue[r, place] = queue[r, place - 1]
        place -= 1
    queue[r, place] = i
    count[r] += 1


@helper
def _who_makes_room(preempt, shown, r, entities, requests, times, runs, running, arrivals, now, patience):
    """Return the place among those that run of the one that is to make room."""
    best, best_score, best_is_late = -1, 0.0, True
    for place in range(running[r]):
        i = runs[r, place]
        is_late = arrivals[i] + patience <= now
        score = 0.0
        if preempt != 0 and not is_late:
            _show_request(entities[0], requests, times, i, requests[i, at.FOUND])
            score = _rate(preempt, shown, r, entities, i)
        is_better = best < 0 or (best_is_late and not is_late)
        if not is_better and is_late == best_is_late:
            is_better = score > best_score or (score == best_score and i > runs[r, best])
        if is_better:
            best, best_score, best_is_late = place, score, is_late
    return best


@helper
def _note(steps, noted, r, step, i, tokens, cached):
    if noted[0] < steps.shape[0]:
        row = steps[noted[0]]
        row[0], row[1], row[2], row[3], row[4] = r, step, i, tokens, cached
        noted[0] += 1


@allocating_kernel(_SIGNATURE)
def serve(
    scheduler, router, arrivals, blocks, block_count, sessions, integers, numbers, shown, records, statistics, slots,
    views, sights, observed, view_slots, drawn, chances, requests, times, steps, seen,
):  # fmt: skip
    """Serve every request. Returns a hash of the decisions."""
    score, preempt, reserve, enter, update, leave, on_arrival, on_admit, on_first, on_preempt, on_finish = scheduler
    replicas, routers, n = shown.shape[0], views.shape[0], arrivals.shape[0]
    entities = records, statistics, slots
    size, most_running, step_budget = integers[at.BLOCK_TOKENS], integers[at.MOST_RUNNING], integers[at.STEP_BUDGET]
    patience = numbers[at.PATIENCE_S] if numbers[at.PATIENCE_S] > 0.0 else np.inf
    pool = np.zeros((replicas, integers[at.CAPACITY_BLOCKS] + 1, memory.COLUMNS), np.int32)
    named = np.full((replicas, block_count), -1, np.int32)
    free = np.full(replicas, integers[at.CAPACITY_BLOCKS])
    memory.fill(pool)
    memory_ = pool, named, free
    at_most = 0
    for i in range(n):
        requests[i, at.FIRST_HELD] = at_most
        at_most += (requests[i, at.PROMPT] + requests[i, at.OUTPUT] + size - 1) // size
    holds = np.zeros(at_most, np.int32)
    runs, running = np.zeros((replicas, min(most_running, n)), np.int64), np.zeros(replicas, np.int64)
    waits, waiting = np.zeros((replicas, n), np.int64), np.zeros(replicas, np.int64)
    keys, findable = np.zeros(n), np.zeros(n, np.int64)
    ends = np.full(replicas, np.inf)
    began, started = np.zeros(replicas, np.int64), np.full(replicas, np.inf)
    noted = np.zeros(1, np.int64)
    known = routing.begin(
        router, routers, replicas, block_count, sessions, integers, numbers, views, sights, observed, view_slots
    )
    shown[:, at.CAPACITY] = integers[at.CAPACITY_BLOCKS] * size
    shown[:, at.MAX_RUNNING] = most_running
    digest = U(0)
    arrived, finished = 0, 0
    while finished < n:
        r = np.argmin(ends)
        if arrived < n and arrivals[arrived] <= ends[r]:
            i, now = arrived, arrivals[arrived]
            arrived += 1
            r = routing.send(
                router, known, views, sights, observed, view_slots, records, requests, blocks, integers, numbers,
                drawn, chances, running, waiting, seen, i, now,
            )  # fmt: skip
            requests[i, at.AT] = r
            if router[0] != 0:
                digest = digest * U(6364136223846793005) + U(r + 1)
            waits[r, waiting[r]] = i
            waiting[r] += 1
            if ends[r] == np.inf:
                ends[r] = now
            if enter | on_arrival != 0:
                _show_engine(shown, r, now, running, waiting, memory_, integers, 0)
                cached = _findable(memory_, requests, blocks, integers, r, i) * size
                _show_request(records, requests, times, i, cached)
                _tell(enter, shown, r, entities, i)
                _tell(on_arrival, shown, r, entities, i)
            continue
        now = ends[r]
        if started[r] < now:
            shown[r, at.STEP] = now - started[r]

        # what the step has computed
        place = 0
        while place < running[r]:
            i = runs[r, place]
            place += 1
            if requests[i, at.GIVEN] == 0:
                continue
            requests[i, at.IN_MEMORY] += requests[i, at.GIVEN]
            requests[i, at.GIVEN] = 0
            if requests[i, at.IN_MEMORY] < requests[i, at.PROMPT] + requests[i, at.WRITTEN]:
                continue
            requests[i, at.WRITTEN] += 1
            routing.wrote(router, known, sights, requests, i)
            is_last = requests[i, at.WRITTEN] == requests[i, at.OUTPUT]
            if requests[i, at.WRITTEN] == 1:
                times[i, at.FIRST] = now
                routing.answered(
                    router, known, views, sights, observed, view_slots, records, requests, times, arrivals, blocks,
                    size, i, now, False,
                )  # fmt: skip
                if on_first != 0:
                    _show_engine(shown, r, now, running, waiting, memory_, integers, 0)
                    _show_request(records, requests, times, i, requests[i, at.FOUND])
                    _tell(on_first, shown, r, entities, i)
            if is_last:
                times[i, at.LAST] = now
                finished += 1
                place -= 1
                _remove(runs, running, r, place)
                if leave | on_finish != 0:
                    _show_engine(shown, r, now, running, waiting, memory_, integers, 0)
                    _show_request(records, requests, times, i, requests[i, at.FOUND])
                    _tell(on_finish, shown, r, entities, i)
                    _tell(leave, shown, r, entities, i)
                _release(memory_, requests, holds, r, i)
                routing.answered(
                    router, known, views, sights, observed, view_slots, records, requests, times, arrivals, blocks,
                    size, i, now, True,
                )  # fmt: skip

        given = 0
        took = 0.0
        while given == 0 and running[r] + waiting[r] > 0:
            began[r] += 1
            budget = step_budget
            has_preempted = False
            prefilled, decoded, context, pairs = 0, 0, 0, 0.0
            place = 0
            while place < running[r] and budget > 0:
                i = runs[r, place]
                wanted = min(requests[i, at.PROMPT] + requests[i, at.WRITTEN] - requests[i, at.IN_MEMORY], budget)
                tokens = requests[i, at.IN_MEMORY] + wanted
                has_room = True
                while (tokens + size - 1) // size - requests[i, at.BLOCKS_HELD] > free[r]:
                    if preempt != 0:
                        _show_engine(shown, r, now, running, waiting, memory_, integers, budget)
                    out = _who_makes_room(
                        preempt, shown, r, entities, requests, times, runs, running, arrivals, now, patience
                    )
                    victim = runs[r, out]
                    if out < place:
                        place -= 1
                        budget += requests[victim, at.GIVEN]
                        requests[victim, at.GIVEN] = 0
                    _remove(runs, running, r, out)
                    _release(memory_, requests, holds, r, victim)
                    _join(waits, waiting, r, victim)
                    requests[victim, at.TIMES_PREEMPTED] += 1
                    has_preempted = True
                    digest = digest * U(6364136223846793005) + U(n + victim + 1)
                    _note(steps, noted, r, began[r], victim, at.PREEMPTION, -1)
                    if update | on_preempt != 0:
                        _show_engine(shown, r, now, running, waiting, memory_, integers, budget)
                        cached = _findable(memory_, requests, blocks, integers, r, victim) * size
                        _show_request(records, requests, times, victim, cached)
                        _tell(update, shown, r, entities, victim)
                        _tell(on_preempt, shown, r, entities, victim)
                    if victim == i:
                        has_room = False
                        break
                if not has_room:  # now others may have
                    continue
                _take_memory(memory_, requests, holds, blocks, integers, r, i, tokens)
                requests[i, at.GIVEN] = wanted
                budget -= wanted
                place += 1

            admitted = running[r]
            if not has_preempted and budget > 0 and admitted < most_running and waiting[r] > 0:
                _show_engine(shown, r, now, running, waiting, memory_, integers, budget)
                kept = 0
                if reserve != 0:
                    kept = int(min(max(call_score(reserve, shown[r], records, U(0), statistics, U(0), 0.0), 0.0), 1e15))
                    kept = (kept + size - 1) // size
                late = 0  # so many of those that wait are ahead of all others
                while late < waiting[r] and arrivals[waits[r, late]] + patience <= now:
                    late += 1
                if score != 0:
                    for k in range(late, waiting[r]):
                        i = waits[r, k]
                        findable[k] = _findable(memory_, requests, blocks, integers, r, i)
                        _show_request(records, requests, times, i, findable[k] * size)
                        keys[k] = _rate(score, shown, r, entities, i)
                while budget > 0 and running[r] < most_running and waiting[r] > 0:
                    best = 0
                    spared = kept if late == 0 and running[r] > 0 else 0  # nothing for the sake of who waits too long
                    if late > 0:
                        late -= 1
                    elif score != 0:
                        for k in range(1, waiting[r]):
                            if keys[k] > keys[best]:
                                best = k
                    i = waits[r, best]
                    hits = _findable(memory_, requests, blocks, integers, r, i)
                    whole = requests[i, at.PROMPT] + requests[i, at.WRITTEN]
                    wanted = whole - hits * size
                    if wanted > budget and integers[at.IS_CHUNKED] == 0:
                        break
                    wanted = min(wanted, budget)
                    unheld = 0
                    for k in range(hits):
                        block = named[r, blocks[requests[i, at.FIRST_BLOCK] + k]]
                        unheld += pool[r, block, memory.HOLDERS] == 0
                    needed = (whole + size - 1) // size - hits + unheld  # not only what the step computes of it
                    if needed + spared > free[r]:
                        break
                    if score != 0:
                        for k in range(best, waiting[r] - 1):
                            keys[k] = keys[k + 1]
                    _remove(waits, waiting, r, best)
                    runs[r, running[r]] = i
                    running[r] += 1
                    for k in range(hits):
                        block = named[r, blocks[requests[i, at.FIRST_BLOCK] + k]]
                        memory.hold(pool, free, r, block)
                        holds[requests[i, at.FIRST_HELD] + k] = block
                    requests[i, at.BLOCKS_HELD] = requests[i, at.BLOCKS_NAMED] = hits
                    requests[i, at.IN_MEMORY] = hits * size
                    if requests[i, at.TIMES_PREEMPTED] == 0:
                        requests[i, at.FOUND] = hits * size
                        times[i, at.ADMITTED] = now
                    _take_memory(memory_, requests, holds, blocks, integers, r, i, hits * size + wanted)
                    requests[i, at.GIVEN] = wanted
                    budget -= wanted
                    digest = digest * U(6364136223846793005) + U(i + 1)
                    if update | on_admit != 0:
                        _show_engine(shown, r, now, running, waiting, memory_, integers, budget)
                        _show_request(records, requests, times, i, hits * size)
                        _tell(update, shown, r, entities, i)
                        _tell(on_admit, shown, r, entities, i)

            for place in range(running[r]):
                i = runs[r, place]
                new = requests[i, at.GIVEN]
                if new == 0:
                    continue
                before = requests[i, at.IN_MEMORY]
                requests[i, at.SPENT] += new
                given += new
                if new == 1 and requests[i, at.WRITTEN] > 0 and before >= requests[i, at.PROMPT]:
                    decoded += 1
                    context += before
                else:
                    prefilled += new
                    pairs += float(new) * before + 0.5 * float(new) * new
                if steps.shape[0] > 0:
                    _note(steps, noted, r, began[r], i, new, before if place >= admitted else -1)
            took = (
                numbers[at.BASE_S]
                + prefilled * numbers[at.PREFILL_S]
                + pairs * numbers[at.PAIR_S]
                + decoded * numbers[at.DECODE_S]
                + context * numbers[at.CONTEXT_S]
            )
        ends[r] = now + took if given > 0 else np.inf
        started[r] = now if given > 0 else np.inf
        routing.publish(
            router, known, views, sights, observed, view_slots, numbers, running, waiting, free,
            integers[at.CAPACITY_BLOCKS], r, now,
        )  # fmt: skip
    return digest
