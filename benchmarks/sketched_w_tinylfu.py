"""Native kernel of W-TinyLFU with the sketch and doorkeeper of the policy `w_tinylfu`, to measure that policy against.

The baseline `w-tinylfu` counts each object exactly, in one place. This kernel looks into as many places for each
request as the policy does, and decides as the policy does (`tests/benchmarks/test_sketched_w_tinylfu.py`), so that what
it is faster by is what the language and the mechanism cost.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import helper, njit

ROW = 16384
ROW_BITS, DOOR_SHIFT = np.uint64(14), np.uint64(39)
REQUESTS_PER_OBJECT, MAX_COUNTED = 10.0, 15.0
NOWHERE, WINDOW, PROBATION, PROTECTED = 0, 1, 2, 3
U = np.uint64


@helper
def _mixed(word):  # type: ignore[no-untyped-def]
    """Return splitmix64's next number after this state."""
    z = word + U(0x9E3779B97F4A7C15)
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@helper
def _hash(key):  # type: ignore[no-untyped-def]
    """Return `hash(key, 1)` of the policy language, as a whole number."""
    seed = _mixed(np.float64(1.0).view(np.uint64))
    return _mixed(seed ^ np.float64(key).view(np.uint64)) >> U(11)


@helper
def _frequency(sketch, door, period, per, key):  # type: ignore[no-untyped-def]
    h = _hash(key)
    mask = U(ROW - 1)
    least = min(sketch[0, h & mask], sketch[1, (h >> ROW_BITS) & mask], sketch[2, (h >> (ROW_BITS + ROW_BITS)) & mask])
    return np.floor(least * per) + np.float64(door[h >> DOOR_SHIFT] == period)


@helper
def _count(sketch, door, period, unit, per, key):  # type: ignore[no-untyped-def]
    h = _hash(key)
    mask = U(ROW - 1)
    one, two, three = h & mask, (h >> ROW_BITS) & mask, (h >> (ROW_BITS + ROW_BITS)) & mask
    if door[h >> DOOR_SHIFT] == period:
        least = min(sketch[0, one], sketch[1, two], sketch[2, three])
        counted = min(least + unit, MAX_COUNTED * unit)
        sketch[0, one] = max(sketch[0, one], counted)
        sketch[1, two] = max(sketch[1, two], counted)
        sketch[2, three] = max(sketch[2, three], counted)
    door[h >> DOOR_SHIFT] = period


@helper
def _unlink(links, node):  # type: ignore[no-untyped-def]
    after, before = links[node, 0], links[node, 1]
    links[before, 0] = after
    links[after, 1] = before


@helper
def _push(links, queue, node):  # type: ignore[no-untyped-def]
    newest = links[queue, 1]
    links[node, 0] = queue
    links[node, 1] = newest
    links[newest, 0] = node
    links[queue, 1] = node


@njit(cache=True, error_model="numpy")
def sketched_w_tinylfu(objects, sizes, count, capacity):  # type: ignore[no-untyped-def]
    """Return the misses of all requests. Sizes and the capacity are bytes, objects dense ids below `count`."""
    links = np.empty((count + 4, 2), np.uint32)  # list k has the sentinel count + k
    for node in range(count, count + 4):
        links[node, 0] = links[node, 1] = node
    place, stored = np.zeros(count, np.uint8), np.zeros(count, np.float64)
    used = np.zeros(4)
    sketch, door = np.zeros((3, ROW)), np.zeros(ROW)
    unit, per, period, counted = 1.0, 1.0, 1.0, 0.0
    window = max(1.0, np.floor(capacity * 0.01))
    main = capacity - window
    protected = np.floor(main * 0.8)
    residents, most_residents, misses = 0, 1, 0
    for now in range(objects.shape[0]):
        key = U(objects[now])
        size = float(sizes[now])
        found = place[key]
        if found == NOWHERE:
            misses += 1
            if size > capacity:
                counted += 1.0
                continue
        _count(sketch, door, period, unit, per, key)
        counted += 1.0
        most_residents = max(most_residents, residents)
        if counted >= REQUESTS_PER_OBJECT * most_residents:
            counted = np.floor(counted / 2.0)
            period += 1.0
            unit, per = unit * 2.0, per / 2.0
        if found != NOWHERE:
            _unlink(links, key)
            to = WINDOW if found == WINDOW else PROTECTED
            _push(links, U(count + to), key)
            if found == PROBATION:
                place[key] = PROTECTED
                used[PROBATION] -= stored[key]
                used[PROTECTED] += stored[key]
                while used[PROTECTED] > protected:
                    demoted = U(links[count + PROTECTED, 0])
                    _unlink(links, demoted)
                    _push(links, U(count + PROBATION), demoted)
                    place[demoted] = PROBATION
                    used[PROTECTED] -= stored[demoted]
                    used[PROBATION] += stored[demoted]
            continue
        admitted = True
        while used[WINDOW] + size > window:
            is_new = links[count + WINDOW, 0] == count + WINDOW
            candidate = key if is_new else U(links[count + WINDOW, 0])
            needed = size if is_new else stored[candidate]
            if used[PROBATION] + used[PROTECTED] + needed <= main:
                if is_new:
                    break
                _unlink(links, candidate)
                _push(links, U(count + PROBATION), candidate)
                place[candidate] = PROBATION
                used[WINDOW] -= needed
                used[PROBATION] += needed
                continue
            source = PROBATION if used[PROBATION] > 0.0 else PROTECTED
            victim = U(links[count + source, 0])
            if needed > main or not (
                _frequency(sketch, door, period, per, candidate) > _frequency(sketch, door, period, per, victim)
            ):
                if is_new:
                    admitted = False
                    break
                victim, source = candidate, WINDOW
            _unlink(links, victim)
            place[victim] = NOWHERE
            used[source] -= stored[victim]
            residents -= 1
        if admitted:
            to = PROBATION if size > window else WINDOW
            place[key] = to
            stored[key] = size
            used[to] += size
            _push(links, U(count + to), key)
            residents += 1
    return misses
