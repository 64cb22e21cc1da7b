"""The kernels that run a policy over a trace, one a mechanism.

What makes them fast: objects are dense ids, so that there is no hash table; an object's record is one cache line,
fetched a dozen requests ahead; indices are unsigned, for numba wraps signed ones; the policy is called by its address.

Both kernels have one signature. They start with an empty cache at request 0 and count from `measure_from`. Records
come zeroed, statistics as the policy wants them at first, positions are the same memory as the records.

On a spatial sample of a trace each object weighs as much as the `weight` objects it stands for, and `times` has the
number that each request has in the trace. Whole numbers of this size are exact in float64, so that a full run, which
weighs 1 and has no times, is the same in every bit as without them.

Besides the counts, a kernel gives a hash of the sequence of evicted objects.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types

from vulcan.anvil.policy_calls import call_event, call_score, helper
from vulcan_cache.heap import (
    FIRST_ENTRY,
    ROOT_ENTRY,
    entry_of,
    fill_root,
    key_of,
    object_in,
    push,
    sift_down,
    sift_up,
)
from vulcan_cache.layout import (
    CAPACITY,
    COUNT,
    EVICTED_PRIORITY,
    INSERTION,
    LAST_ACCESS,
    LEFT,
    LEFT_AT,
    LEFT_COUNT,
    NOW,
    OBJECTS,
    OLDEST,
    OWN,
    SIZE,
    USED,
)
from vulcan_cache.native import prefetch

U = np.uint64
AHEAD = U(16)
A_LINE = U(8)  # float64 slots of a cache line
WORST = 1e300  # priorities are held within +-1e300, the declared range of cache.evicted_priority

_F = types.Array(types.float64, 1, "C")
_I = types.Array(types.int64, 1, "C")
_SIGNATURE = types.Tuple((types.int64, types.int64, types.int64, types.uint64))(
    types.UniTuple(types.int64, 4),  # addresses of score, enter, update, leave; 0 where the plan has no statistics
    types.Array(types.uint32, 1, "C", readonly=True),  # objects
    types.Array(types.uint32, 1, "C", readonly=True),  # sizes
    types.Array(types.float64, 1, "C", readonly=True),  # times; empty where the time is the request's index
    types.float64,  # weight
    _F,  # globals
    _F,  # records
    _I,  # the same memory, for positions
    _F,  # statistics
    types.uint64,  # statistics an object
    types.int64,  # capacity, bytes
    types.int64,  # measure from
    types.int64,  # objects drawn at an eviction
    types.uint64,  # seed of the draw
    types.Array(types.uint64, 1, "C"),  # nodes of an empty heap, as `heap.new_nodes` makes them
    types.Array(types.uint32, 1, "C"),  # room for each object's place in the heap, or for the residents
    types.Array(types.uint64, 1, "C"),  # room for the objects that are drawn
)
# without numba's counting of references, which costs two atomic operations wherever an array changes hands
_kernel = njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy", _nrt=False)


@helper
def _bounded(priority):
    above = WORST if priority > WORST else priority
    return -WORST if above < -WORST else above


@helper
def _with(evicted, victim):
    """The hash of the sequence with one more: Knuth's multiplier for 64 bits (TAOCP 2, 3.3.4)."""
    return evicted * U(6364136223846793005) + victim + U(1)


@helper
def _fetch(statistics, row, width):
    """Ask for the first cache line of an object's statistics, and the line it may go on in."""
    if width > U(0):
        prefetch(statistics, row)
        prefetch(statistics, row + min(width, A_LINE) - U(1))


@helper
def _fetch_object(records, statistics, width, entry):
    key = object_in(entry)
    prefetch(records, key << U(3))
    _fetch(statistics, key * width, width)


@helper
def _enter(globals_, records, at, size, now, weight):
    records[at | U(SIZE)] = size
    records[at | U(COUNT)] = 1.0
    records[at | U(LAST_ACCESS)] = now
    records[at | U(INSERTION)] = now
    globals_[USED] += size * weight
    globals_[OBJECTS] += weight


@helper
def _leave(globals_, records, at, evictions, now, priority, weight):
    """The object leaves and goes on the ghost list, which holds as many as the cache held."""
    records[at | U(LEFT)] = evictions
    records[at | U(LEFT_COUNT)] = records[at | U(COUNT)]
    records[at | U(LEFT_AT)] = now
    records[at | U(COUNT)] = 0.0
    globals_[OLDEST] = max(globals_[OLDEST], evictions + 1.0 - globals_[OBJECTS])
    globals_[USED] -= records[at | U(SIZE)] * weight
    globals_[OBJECTS] -= weight
    globals_[EVICTED_PRIORITY] = priority


@_kernel
def heap(
    policy,
    objects,
    sizes,
    times,
    weight,
    globals_,
    records,
    positions,
    statistics,
    width,
    capacity,
    measure_from,
    draws,
    seed,
    nodes,
    places,
    drawn,
):
    """A priority queue: an object is scored when it is touched; the lowest score leaves, the oldest touch of equals.

    `draws`, `seed` and `drawn` are not used.
    """
    score, enter, update, leave = policy
    room = float(capacity)
    globals_[CAPACITY] = room
    globals_[OLDEST] = 1.0
    n = U(0)
    evictions = 0.0
    evicted = U(0)
    misses = missed_bytes = bypassed = 0
    end = U(objects.shape[0])
    r = U(0)
    while r < end:
        if r + AHEAD < end:
            ahead = U(objects[r + AHEAD])
            prefetch(records, ahead << U(3))
            prefetch(places, ahead)
            _fetch(statistics, ahead * width, width)
        key = U(objects[r])
        at = key << U(3)
        row = key * width
        now = times[r] if times.shape[0] else float(np.int64(r))
        globals_[NOW] = now
        if records[at | U(COUNT)] > 0.0:
            records[at | U(COUNT)] += 1.0
            records[at | U(LAST_ACCESS)] = now
            if update != 0:
                call_event(update, globals_, records, at, statistics, row, float(np.int64(key)))
            priority = _bounded(call_score(score, globals_, records, at, statistics, row, float(np.int64(key))))
            before = records[at | U(OWN)]
            records[at | U(OWN)] = priority
            if priority < before:
                sift_up(nodes, places, U(places[key]), key_of(priority), entry_of(r, key))
            else:
                sift_down(nodes, places, U(places[key]), n, key_of(priority), entry_of(r, key))
        else:
            size = float(sizes[r])
            if r >= U(measure_from):
                misses += 1
                missed_bytes += sizes[r]
                bypassed += size * weight > room
            if size * weight <= room:
                root_is_free = False
                while globals_[USED] + size * weight > room:
                    if root_is_free:
                        n = fill_root(nodes, places, n)
                    victim = object_in(nodes[ROOT_ENTRY])
                    place = victim << U(3)
                    if leave != 0:
                        call_event(leave, globals_, records, place, statistics, victim * width, float(np.int64(victim)))
                    evictions += weight
                    evicted = _with(evicted, victim)
                    _leave(globals_, records, place, evictions, now, records[place | U(OWN)], weight)
                    root_is_free = True
                _enter(globals_, records, at, size, now, weight)
                if enter != 0:
                    call_event(enter, globals_, records, at, statistics, row, float(np.int64(key)))
                priority = _bounded(call_score(score, globals_, records, at, statistics, row, float(np.int64(key))))
                records[at | U(OWN)] = priority
                if root_is_free:
                    sift_down(nodes, places, U(0), n, key_of(priority), entry_of(r, key))
                else:
                    n = push(nodes, places, n, key_of(priority), entry_of(r, key))
                # the next to leave, and the four of which one leaves after it
                _fetch_object(records, statistics, width, nodes[ROOT_ENTRY])
                _fetch_object(records, statistics, width, nodes[FIRST_ENTRY])
                _fetch_object(records, statistics, width, nodes[FIRST_ENTRY + U(1)])
                _fetch_object(records, statistics, width, nodes[FIRST_ENTRY + U(2)])
                _fetch_object(records, statistics, width, nodes[FIRST_ENTRY + U(3)])
        r += U(1)
    return misses, missed_bytes, bypassed, evicted


@_kernel
def sample(
    policy,
    objects,
    sizes,
    times,
    weight,
    globals_,
    records,
    positions,
    statistics,
    width,
    capacity,
    measure_from,
    draws,
    seed,
    nodes,
    places,
    drawn,
):
    """When space is needed, `draws` residents are drawn (all, if there are no more) and scored; the lowest leaves.

    The draw is a xorshift64 generator started at `seed`, with replacement; of equal scores the first drawn leaves.
    `places` holds the residents; `nodes` is not used.
    """
    score, enter, update, leave = policy
    room = float(capacity)
    globals_[CAPACITY] = room
    globals_[OLDEST] = 1.0
    state = U(seed)
    n = U(0)
    evictions = 0.0
    evicted = U(0)
    misses = missed_bytes = bypassed = 0
    end = U(objects.shape[0])
    r = U(0)
    while r < end:
        if r + AHEAD < end:
            ahead = U(objects[r + AHEAD])
            prefetch(records, ahead << U(3))
            _fetch(statistics, ahead * width, width)
        key = U(objects[r])
        at = key << U(3)
        row = key * width
        now = times[r] if times.shape[0] else float(np.int64(r))
        globals_[NOW] = now
        if records[at | U(COUNT)] > 0.0:
            records[at | U(COUNT)] += 1.0
            records[at | U(LAST_ACCESS)] = now
            if update != 0:
                call_event(update, globals_, records, at, statistics, row, float(np.int64(key)))
        else:
            size = float(sizes[r])
            if r >= U(measure_from):
                misses += 1
                missed_bytes += sizes[r]
                bypassed += size * weight > room
            if size * weight <= room:
                while globals_[USED] + size * weight > room:
                    tries = min(n, U(draws))
                    k = U(0)
                    while k < tries:
                        if n > U(draws):
                            state ^= state << U(13)
                            state ^= state >> U(7)
                            state ^= state << U(17)
                            drawn[k] = ((state >> U(32)) * n) >> U(32)
                        else:
                            drawn[k] = k
                        prefetch(places, drawn[k])
                        k += U(1)
                    k = U(0)
                    while k < tries:
                        other = U(places[drawn[k]])
                        prefetch(records, other << U(3))
                        _fetch(statistics, other * width, width)
                        k += U(1)
                    least = math.inf
                    chosen = U(0)
                    k = U(0)
                    while k < tries:
                        other = U(places[drawn[k]])
                        priority = _bounded(
                            call_score(score, globals_, records, other << U(3), statistics, other * width, float(other))
                        )
                        if priority < least:
                            least = priority
                            chosen = drawn[k]
                        k += U(1)
                    victim = U(places[chosen])
                    place = victim << U(3)
                    if leave != 0:
                        call_event(leave, globals_, records, place, statistics, victim * width, float(np.int64(victim)))
                    evictions += weight
                    evicted = _with(evicted, victim)
                    _leave(globals_, records, place, evictions, now, least, weight)
                    n -= U(1)
                    moved = places[n]
                    places[chosen] = moved
                    positions[(U(moved) << U(3)) | U(OWN)] = np.int64(chosen)
                _enter(globals_, records, at, size, now, weight)
                if enter != 0:
                    call_event(enter, globals_, records, at, statistics, row, float(np.int64(key)))
                places[n] = key
                positions[at | U(OWN)] = np.int64(n)
                n += U(1)
        r += U(1)
    return misses, missed_bytes, bypassed, evicted


MECHANISMS = {"heap": heap, "sample": sample}
