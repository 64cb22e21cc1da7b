"""Kernels of the mechanisms that rank objects: `heap` and `sample`.

Both have one signature; positions are the same memory as the records. Where the policy has an `admit`, it is asked for
an object that missed and fits, and where others have to leave for it before each of them does, which is `victim` then.
"""

import math

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_rank, call_score
from vulcan.kernel_support import I1, function, helper, types
from vulcan_cache import layout as m
from vulcan_cache.kernels.common import (
    AHEAD,
    HALF_WORDS,
    WORDS,
    U,
    fetch_object,
    note_eviction,
    note_miss,
    policy_kernel,
    tell,
    time_of,
    with_one_more,
)
from vulcan_cache.kernels.heap import (
    FIRST_ENTRY,
    ROOT_ENTRY,
    ROOT_KEY,
    entry_at,
    entry_of,
    fill_root,
    key_of,
    object_in,
    push,
    sift_down,
    sift_up,
    take_out,
)
from vulcan_cache.kernels.intrinsics import prefetch

RECHECKS = 4
"""Objects that are looked at again at one request, the longest due first."""
UNTIMED = 0xFFFFFFFF
LATEST = float(2**40)

_ranking = policy_kernel(
    13,  # priority, admit, recheck, enter, update, leave, the handlers of `simulate.RANKING_EVENTS`, release
    I1,  # the memory of the records, for positions
    types.int64,  # objects drawn at an eviction
    types.uint64,  # seed of the draw
    WORDS,  # nodes of an empty heap, as `heap.new_nodes` makes them
    HALF_WORDS,  # room for each object's place in the heap, or for the residents
    WORDS,  # room for the objects that are drawn
    WORDS,  # nodes of an empty heap of the times at which objects are looked at again
    HALF_WORDS,  # each object's place in that heap, UNTIMED
)


@helper
def _describe(records, at, size, now):
    """Fill in the features of an object that is about to enter."""
    records[at | U(m.SIZE)] = size
    records[at | U(m.COUNT)] = 1.0
    records[at | U(m.LAST_ACCESS)] = now
    records[at | U(m.INSERTION)] = now


@helper
def _entered(enter, globals_, records, statistics, width, key, size, now, weight):
    at = key << U(3)
    _describe(records, at, size, now)
    globals_[m.USED] += size * weight
    globals_[m.OBJECTS] += weight
    if enter != 0:
        call_event(enter, globals_, records, at, statistics, key * width, float(np.int64(key)))


@helper
def _left(leave, globals_, records, statistics, width, key, evictions, now, priority, weight):
    """Evict the object and put it on the ghost list, which holds as many as the cache held."""
    at = key << U(3)
    if leave != 0:
        call_event(leave, globals_, records, at, statistics, key * width, float(np.int64(key)))
    records[at | U(m.LEFT)] = evictions
    records[at | U(m.LEFT_COUNT)] = records[at | U(m.COUNT)]
    records[at | U(m.LEFT_AT)] = now
    records[at | U(m.COUNT)] = 0.0
    globals_[m.OLDEST] = max(globals_[m.OLDEST], evictions + 1.0 - globals_[m.OBJECTS])
    globals_[m.USED] -= records[at | U(m.SIZE)] * weight
    globals_[m.OBJECTS] -= weight
    globals_[m.EVICTED_PRIORITY] = priority


@helper
def _show_victim(globals_, records, victim, priority):
    at = victim << U(3)
    globals_[m.VICTIM_SIZE] = records[at | U(m.SIZE)]
    globals_[m.VICTIM_COUNT] = records[at | U(m.COUNT)]
    globals_[m.VICTIM_LAST_ACCESS] = records[at | U(m.LAST_ACCESS)]
    globals_[m.VICTIM_INSERTION] = records[at | U(m.INSERTION)]
    globals_[m.VICTIM_PRIORITY] = priority


@helper
def _admits(admit, globals_, records, statistics, width, key, size, now):
    at = key << U(3)
    _describe(records, at, size, now)
    answer = call_score(admit, globals_, records, at, statistics, key * width, float(np.int64(key)))
    records[at | U(m.COUNT)] = 0.0
    return answer > 0.0


@helper
def _announce(handler, globals_, records, statistics, width, key, size, now):
    """Tell the policy of an object that is not in the cache; it looks as one that is about to enter."""
    _describe(records, key << U(3), size, now)
    tell(handler, globals_, records, statistics, width, key)
    records[(key << U(3)) | U(m.COUNT)] = 0.0


@helper
def _missed(on_ghost_hit, on_miss, release, globals_, records, statistics, width, key, size, now):
    """Handle a miss of an object that fits; it has the fields it left with, if the ghost list remembers it."""
    if records[(key << U(3)) | U(m.LEFT)] >= globals_[m.OLDEST]:
        if on_ghost_hit != 0:
            _announce(on_ghost_hit, globals_, records, statistics, width, key, size, now)
    else:
        tell(release, globals_, records, statistics, width, key)
    if on_miss != 0:
        _announce(on_miss, globals_, records, statistics, width, key, size, now)


@helper
def _rejected(globals_, records, key, evictions, now, weight):
    """Put an object that was not admitted on the ghost list, which counts its requests while it stays there.

    Were the list as long as what the cache holds, it would hold nothing while the cache is empty, and a policy that
    admits what it remembers would never admit anything: so free space counts as full of such objects.
    """
    at = key << U(3)
    remembered = records[at | U(m.LEFT)] >= globals_[m.OLDEST]
    records[at | U(m.LEFT_COUNT)] = (records[at | U(m.LEFT_COUNT)] if remembered else 0.0) + 1.0
    records[at | U(m.LEFT)] = evictions
    records[at | U(m.LEFT_AT)] = now
    free = math.floor((globals_[m.CAPACITY] - globals_[m.USED]) / (records[at | U(m.SIZE)] * weight)) * weight
    globals_[m.OLDEST] = max(globals_[m.OLDEST], evictions + 1.0 - (globals_[m.OBJECTS] + free))


@function
def _no_longer(timers, timed, t, key):
    """Forget when the object is looked at again, if it is. Returns how many objects are."""
    if timed[key] == np.uint32(UNTIMED):
        return t
    t = take_out(timers, timed, t, U(timed[key]))
    timed[key] = np.uint32(UNTIMED)
    return t


@function
def _wait(recheck, globals_, records, statistics, width, key, now, timers, timed, t, asked):
    """Ask when the object is to be looked at again, and note it. Returns how many objects are."""
    t = _no_longer(timers, timed, t, key)
    wait = call_score(recheck, globals_, records, key << U(3), statistics, key * width, float(np.int64(key)))
    if not wait >= 1.0:
        return t
    return push(timers, timed, t, key_of(now + math.floor(min(wait, LATEST))), entry_of(asked, key))


@function
def _look_again(score, recheck, globals_, records, statistics, width, now, nodes, places, n, timers, timed, t, asked):
    """Score the objects that are due. Returns how many are still looked at again, and how often it was asked when."""
    again = U(0)
    while t > U(0) and again < U(RECHECKS) and timers[ROOT_KEY] <= key_of(now):
        other = object_in(timers[ROOT_ENTRY])
        t = _no_longer(timers, timed, t, other)
        priority = call_rank(score, globals_, records, other << U(3), statistics, other * width, float(np.int64(other)))
        before = records[(other << U(3)) | U(m.OWN)]
        records[(other << U(3)) | U(m.OWN)] = priority
        entry = entry_at(nodes, U(places[other]))
        if priority < before:
            sift_up(nodes, places, U(places[other]), key_of(priority), entry)
        else:
            sift_down(nodes, places, U(places[other]), n, key_of(priority), entry)
        asked += U(1)
        t = _wait(recheck, globals_, records, statistics, width, other, now, timers, timed, t, asked)
        again += U(1)
    return t, asked


@helper
def _lowest_drawn(score, globals_, records, statistics, width, places, drawn, draws, n, state):
    """Draw residents, and score them. Returns the generator's state, the place of the lowest, and its score.

    The draw is a xorshift64 generator, with replacement; of equal scores the first drawn is the lowest.
    """
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
        fetch_object(records, statistics, width, U(places[drawn[k]]))
        k += U(1)
    least = math.inf
    chosen = U(0)
    k = U(0)
    while k < tries:
        other = U(places[drawn[k]])
        priority = call_rank(score, globals_, records, other << U(3), statistics, other * width, float(other))
        if priority < least:
            least = priority
            chosen = drawn[k]
        k += U(1)
    return state, chosen, least


def _kernel_of(samples):
    """Compile the kernel of one mechanism, of which `samples` is a constant.

    Without, a priority queue has all objects, which are scored when touched; the lowest score leaves, of equals the
    oldest. With, `draws` random residents (at most all) are scored when space is needed, and the lowest leaves;
    `places` holds the residents then.
    """

    @_ranking
    def simulate(
        policy, objects, sizes, times, weight, globals_, records, statistics, width, capacity, measure_from, history,
        positions, draws, seed, nodes, places, drawn, timers, timed,
    ):  # fmt: skip
        score, admit, recheck, enter, update, leave = policy[:6]
        on_hit, on_ghost_hit, on_miss, on_refuse, on_evict, on_insert, release = policy[6:]
        # one test in a register where the policy handles nothing: a test of each address costs 7 %
        handles = on_hit | on_ghost_hit | on_miss | on_refuse | on_evict | on_insert | release
        room = globals_[m.CAPACITY] = float(capacity)
        globals_[m.OLDEST] = 1.0
        state = U(seed)
        n = U(0)
        t = U(0)
        asked = U(0)
        evictions = 0.0
        evicted = U(0)
        misses = missed_bytes = bypassed = 0
        end = U(objects.shape[0])
        r = U(0)
        while r < end:
            if r + AHEAD < end:
                ahead = U(objects[r + AHEAD])
                if not samples:
                    prefetch(places, ahead)
                fetch_object(records, statistics, width, ahead)
            key = U(objects[r])
            at = key << U(3)
            row = key * width
            now = time_of(times, r)
            globals_[m.NOW] = now
            if not samples and t > U(0) and timers[ROOT_KEY] <= key_of(now):
                t, asked = _look_again(
                    score, recheck, globals_, records, statistics, width, now, nodes, places, n, timers, timed, t, asked
                )
            if records[at | U(m.COUNT)] > 0.0:
                records[at | U(m.COUNT)] += 1.0
                records[at | U(m.LAST_ACCESS)] = now
                if update != 0:
                    call_event(update, globals_, records, at, statistics, row, float(np.int64(key)))
                if handles:
                    tell(on_hit, globals_, records, statistics, width, key)
                if not samples:
                    priority = call_rank(score, globals_, records, at, statistics, row, float(np.int64(key)))
                    before = records[at | U(m.OWN)]
                    records[at | U(m.OWN)] = priority
                    if priority < before:
                        sift_up(nodes, places, U(places[key]), key_of(priority), entry_of(r, key))
                    else:
                        sift_down(nodes, places, U(places[key]), n, key_of(priority), entry_of(r, key))
                    if recheck != 0:
                        asked += U(1)
                        t = _wait(recheck, globals_, records, statistics, width, key, now, timers, timed, t, asked)
            else:
                size = float(sizes[r])
                fits = size * weight <= room
                is_let_in = fits
                if fits and handles:
                    _missed(on_ghost_hit, on_miss, release, globals_, records, statistics, width, key, size, now)
                if fits and admit != 0 and globals_[m.USED] + size * weight <= room:
                    for slot in range(m.VICTIM_SIZE, m.GLOBALS):
                        globals_[slot] = 0.0
                    is_let_in = _admits(admit, globals_, records, statistics, width, key, size, now)
                root_is_free = False
                while is_let_in and globals_[m.USED] + size * weight > room:
                    if samples:
                        state, chosen, priority = _lowest_drawn(
                            score, globals_, records, statistics, width, places, drawn, draws, n, state
                        )
                        victim = U(places[chosen])
                    else:
                        if root_is_free:
                            n = fill_root(nodes, places, n)
                            root_is_free = False
                        victim = object_in(nodes[ROOT_ENTRY])
                        priority = records[(victim << U(3)) | U(m.OWN)]
                    if admit != 0:
                        _show_victim(globals_, records, victim, priority)
                        is_let_in = _admits(admit, globals_, records, statistics, width, key, size, now)
                        if not is_let_in:
                            break
                    evictions += weight
                    evicted = with_one_more(evicted, victim)
                    note_eviction(history, records[(victim << U(3)) | U(m.LAST_ACCESS)], r)
                    if handles:
                        tell(on_evict, globals_, records, statistics, width, victim)
                    _left(leave, globals_, records, statistics, width, victim, evictions, now, priority, weight)
                    if samples:
                        n -= U(1)
                        moved = places[n]
                        places[chosen] = moved
                        positions[(U(moved) << U(3)) | U(m.OWN)] = np.int64(chosen)
                    else:
                        if recheck != 0:
                            t = _no_longer(timers, timed, t, victim)
                        root_is_free = True
                note_miss(history, r, is_let_in)
                if r >= U(measure_from):
                    misses += 1
                    missed_bytes += sizes[r]
                    bypassed += not is_let_in
                if is_let_in:
                    _entered(enter, globals_, records, statistics, width, key, size, now, weight)
                    if handles:
                        tell(on_insert, globals_, records, statistics, width, key)
                    if samples:
                        places[n] = key
                        positions[at | U(m.OWN)] = np.int64(n)
                        n += U(1)
                    else:
                        priority = call_rank(score, globals_, records, at, statistics, row, float(np.int64(key)))
                        records[at | U(m.OWN)] = priority
                        if root_is_free:
                            sift_down(nodes, places, U(0), n, key_of(priority), entry_of(r, key))
                        else:
                            n = push(nodes, places, n, key_of(priority), entry_of(r, key))
                        if recheck != 0:
                            asked += U(1)
                            t = _wait(recheck, globals_, records, statistics, width, key, now, timers, timed, t, asked)
                        # the next to leave, and the four of which one leaves after it
                        fetch_object(records, statistics, width, object_in(nodes[ROOT_ENTRY]))
                        for child in range(4):
                            fetch_object(records, statistics, width, object_in(nodes[FIRST_ENTRY + U(child)]))
                elif fits:
                    evictions += weight
                    evicted = with_one_more(evicted, key)
                    if on_refuse != 0:
                        _announce(on_refuse, globals_, records, statistics, width, key, size, now)
                    _rejected(globals_, records, key, evictions, now, weight)
            r += U(1)
        return misses, missed_bytes, bypassed, evicted

    return simulate


heap, sample = (_kernel_of(samples) for samples in (False, True))
