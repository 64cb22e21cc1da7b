"""Reuse distances and LRU's miss-ratio curve; compiled, so import it late.

The distance of a request is found by sums over the places of the recency order: each request takes the next free
place and gives up the one of the object's request before, and the distance is what lies beyond that. Places are
summed in three levels (a place, 64 places, 4,096 places), whose additions the processor does side by side; when
there is no free place the order is repacked, so that memory follows the objects and not the requests.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import allocating_helper, allocating_kernel, types
from vulcan_traces.fingerprint.kernels.intrinsics import bit_count, bucket_of, prefetch

FAN = 64
AHEAD = 12
_FAN = np.uint64(FAN)
_FAN_BITS = np.uint64(6)
_BLOCK_BITS = np.uint64(12)
_IN_WORD = np.uint64(63)
_U0, _U1 = np.uint64(0), np.uint64(1)
_ALL = np.uint64(2**64 - 1)
ABSENT = np.uint32(2**32 - 1)

LINKS = np.dtype([("newer", np.uint32), ("older", np.uint32), ("occupied", np.int64)])
"""Neighbours of a resident object and its bytes: a quarter of a cache line."""

_OBJECTS = types.Array(types.uint32, 1, "C", readonly=True)
_NUMBERS = types.Array(types.int64, 1, "C", readonly=True)


def places_for(object_count: int) -> int:
    """Return how many places the order of that many objects has: twice as many, in whole blocks."""
    block = FAN * FAN
    return -(-max(2 * object_count, block) // block) * block


@allocating_helper
def _live_beyond(place, head, words, in_block):
    """Return how many places after `place` are taken."""
    word = place >> _FAN_BITS
    block = place >> _BLOCK_BITS
    found = bit_count(words[word] & ~(_ALL >> (_IN_WORD - (place & _IN_WORD))))
    last_word = min((block + _U1) << _FAN_BITS, (head >> _FAN_BITS) + _U1)
    for w in range(word + _U1, last_word):
        found += bit_count(words[w])
    more = np.uint32(0)
    for b in range(block + _U1, (head >> _BLOCK_BITS) + _U1):
        more += in_block[b]
    return found + np.uint64(more)


@allocating_helper
def _bytes_beyond(place, head, place_bytes, word_bytes, block_bytes):
    """Return the bytes of the objects in the places after `place`.

    All of a word, and of a block, is added, with what does not count as 0: loops of one length are vectors without a
    jump that could be guessed wrong, which costs more than the additions.
    """
    word = place >> _FAN_BITS
    block = place >> _BLOCK_BITS
    found = np.int64(0)
    for lane in range(_FAN):
        size = place_bytes[(word << _FAN_BITS) + lane]
        found += size if lane > place & _IN_WORD else 0
    if word == head >> _FAN_BITS:
        return found
    for lane in range(_FAN):
        size = word_bytes[(block << _FAN_BITS) + lane]
        found += size if lane > word & _IN_WORD else 0
    if block == head >> _BLOCK_BITS:
        return found
    for b in range(np.uint64(len(block_bytes))):
        found += block_bytes[b] if b > block else 0
    return found


@allocating_helper
def _pack(owners, place_of, words):
    """Moves the taken places to the front, in their order; returns how many there are."""
    free = _U0
    for place in range(np.uint64(len(owners))):
        if words[place >> _FAN_BITS] >> (place & _IN_WORD) & _U1:
            owners[free] = owners[place]
            place_of[owners[free]] = free
            free += _U1
    return free


@allocating_helper
def _refill(taken, owners, words, in_block, object_sizes, place_bytes, word_bytes, block_bytes):
    """Recompute all sums, for places of which the first `taken` are taken."""
    words[:] = _U0
    in_block[:] = np.uint32(0)
    place_bytes[:] = 0
    word_bytes[:] = 0
    block_bytes[:] = 0
    for place in range(taken):
        words[place >> _FAN_BITS] |= _U1 << (place & _IN_WORD)
        in_block[place >> _BLOCK_BITS] += np.uint32(1)
        if len(place_bytes):
            size = object_sizes[owners[place]]
            place_bytes[place] = size
            word_bytes[place >> _FAN_BITS] += size
            block_bytes[place >> _BLOCK_BITS] += size


@allocating_kernel(
    types.void(_OBJECTS, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, types.int64, types.int64[::1], types.int64[:, ::1])
)
def reuse_distances(objects, sizes, object_sizes, capacities, byte_capacities, places, distances, hits):
    """Return the reuse distance of every request, and the hits of LRU caches of several capacities.

    Mattson et al., Evaluation Techniques for Storage Hierarchies, IBM Systems Journal 1970.

    `objects` are dense ids and `sizes` bytes, of shape (requests,); `object_sizes` of shape (objects,) is what an
    object occupies. The distance counts the other objects since the object's request before, and goes into
    `distances` (see `log_histogram`). A cache of c objects hits where the distance is below c; one of b bytes, where
    the bytes of these objects and the object's own are at most b. `hits`, of shape (4, capacities), are requests and
    bytes at `capacities` in objects, then requests and bytes at `byte_capacities`, both ascending. Of length 0,
    `byte_capacities` leaves bytes out. `places` is of `places_for`.
    """
    width = len(capacities)
    by_bytes = len(byte_capacities) > 0
    words = np.zeros(places // FAN, np.uint64)
    in_block = np.zeros(places // FAN // FAN, np.uint32)
    place_bytes = np.zeros(places if by_bytes else 0, np.int64)
    word_bytes = np.zeros(places // FAN if by_bytes else 0, np.int64)
    block_bytes = np.zeros(places // FAN // FAN if by_bytes else 0, np.int64)
    owners = np.zeros(places, np.uint32)
    place_of = np.full(len(object_sizes), _ALL)
    head = _U0
    n = len(objects)
    for i in range(n):
        if i + AHEAD < n:
            prefetch(place_of, np.uint64(objects[i + AHEAD]))
            soon = place_of[np.uint64(objects[i + AHEAD // 2])]
            if soon != _ALL:
                prefetch(words, soon >> _FAN_BITS)
                if by_bytes:
                    prefetch(place_bytes, soon)
                    prefetch(word_bytes, soon >> _FAN_BITS)
        obj = np.uint64(objects[i])
        if head == np.uint64(places):
            head = _pack(owners, place_of, words)
            _refill(head, owners, words, in_block, object_sizes, place_bytes, word_bytes, block_bytes)
        place = place_of[obj]
        if place != _ALL:
            newest = head - _U1
            distance = _live_beyond(place, newest, words, in_block)
            distances[bucket_of(distance)] += 1
            k = width
            while k > 0 and np.int64(distance) < capacities[k - 1]:
                k -= 1
            if k < width:
                hits[0, k] += 1
                hits[1, k] += sizes[i]
            if by_bytes:
                reach = _bytes_beyond(place, newest, place_bytes, word_bytes, block_bytes) + object_sizes[obj]
                k = width
                while k > 0 and reach <= byte_capacities[k - 1]:
                    k -= 1
                if k < width:
                    hits[2, k] += 1
                    hits[3, k] += sizes[i]
                place_bytes[place] = 0
                word_bytes[place >> _FAN_BITS] -= object_sizes[obj]
                block_bytes[place >> _BLOCK_BITS] -= object_sizes[obj]
            words[place >> _FAN_BITS] ^= _U1 << (place & _IN_WORD)
            in_block[place >> _BLOCK_BITS] -= np.uint32(1)
        words[head >> _FAN_BITS] |= _U1 << (head & _IN_WORD)
        in_block[head >> _BLOCK_BITS] += np.uint32(1)
        if by_bytes:
            size = object_sizes[obj]
            place_bytes[head] = size
            word_bytes[head >> _FAN_BITS] += size
            block_bytes[head >> _BLOCK_BITS] += size
        owners[head] = obj
        place_of[obj] = head
        head += _U1
    for row in range(4):
        for k in range(1, width):
            hits[row, k] += hits[row, k - 1]


@allocating_kernel(types.UniTuple(types.int64, 2)(_OBJECTS, _NUMBERS, types.int64, types.int64, types.int64))
def simulate_lru(objects, sizes, object_count, capacity, largest):
    """Hits and bytes hit of one LRU cache of `capacity` bytes that lets objects above `largest` bytes pass by.

    Reuse distances cannot tell this: for them every object takes its place, also one that is larger than the cache.
    An object occupies the size of the request that brought it in.
    """
    ring = np.uint64(object_count)
    links = np.empty(object_count + 1, LINKS)  # the last is the ring
    for number in range(object_count):
        links[number].newer = ABSENT
    links[ring].newer = ring
    links[ring].older = ring
    used = np.int64(0)
    hits = np.int64(0)
    bytes_hit = np.int64(0)
    n = len(objects)
    for i in range(n):
        if i + AHEAD < n:
            prefetch(links, np.uint64(objects[i + AHEAD]))
            soon = np.uint64(objects[i + AHEAD // 2])
            if links[soon].newer != ABSENT:
                prefetch(links, np.uint64(links[soon].newer))
                prefetch(links, np.uint64(links[soon].older))
        obj = np.uint64(objects[i])
        newer = np.uint64(links[obj].newer)
        if newer != ABSENT:
            hits += 1
            bytes_hit += sizes[i]
            older = np.uint64(links[obj].older)
            links[older].newer = newer
            links[newer].older = older
        else:
            size = sizes[i]
            if size > largest:
                continue
            while used + size > capacity and links[ring].newer != ring:
                victim = np.uint64(links[ring].newer)
                following = np.uint64(links[victim].newer)
                links[ring].newer = following
                links[following].older = ring
                links[victim].newer = ABSENT
                used -= links[victim].occupied
            if size > capacity:  # of a sample, whose cache is smaller than what passes the whole one by
                continue
            links[obj].occupied = size
            used += size
        newest = np.uint64(links[ring].older)
        links[newest].newer = obj
        links[obj].older = newest
        links[obj].newer = ring
        links[ring].older = obj
    return hits, bytes_hit
