"""Reuse distances of a trace; compiled, so import it late.

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
_FAN_BITS = np.uint64(6)
_BLOCK_BITS = np.uint64(12)
_IN_WORD = np.uint64(63)
_U0, _U1 = np.uint64(0), np.uint64(1)
_ALL = np.uint64(2**64 - 1)


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
def _pack(owners, place_of, words, in_block):
    """Move the taken places to the front, in their order, and sum them anew; returns how many there are."""
    free = _U0
    for place in range(np.uint64(len(owners))):
        if words[place >> _FAN_BITS] >> (place & _IN_WORD) & _U1:
            owners[free] = owners[place]
            place_of[owners[free]] = free
            free += _U1
    words[:] = _U0
    in_block[:] = np.uint32(0)
    for place in range(free):
        words[place >> _FAN_BITS] |= _U1 << (place & _IN_WORD)
        in_block[place >> _BLOCK_BITS] += np.uint32(1)
    return free


@allocating_kernel(
    types.void(types.Array(types.uint32, 1, "C", readonly=True), types.int64, types.int64, types.int64[::1])
)
def reuse_distances(objects, object_count, places, distances):
    """Count the reuse distance of every request in `distances` (see `log_histogram`).

    Mattson et al., Evaluation Techniques for Storage Hierarchies, IBM Systems Journal 1970.

    `objects` are dense ids, of shape (requests,). The distance counts the other objects since the object's request
    before; an object's first request has none. `places` is of `places_for`.
    """
    words = np.zeros(places // FAN, np.uint64)
    in_block = np.zeros(places // FAN // FAN, np.uint32)
    owners = np.zeros(places, np.uint32)
    place_of = np.full(object_count, _ALL)
    head = _U0
    n = len(objects)
    for i in range(n):
        if i + AHEAD < n:
            prefetch(place_of, np.uint64(objects[i + AHEAD]))
            soon = place_of[np.uint64(objects[i + AHEAD // 2])]
            if soon != _ALL:
                prefetch(words, soon >> _FAN_BITS)
        obj = np.uint64(objects[i])
        if head == np.uint64(places):
            head = _pack(owners, place_of, words, in_block)
        place = place_of[obj]
        if place != _ALL:
            distances[bucket_of(_live_beyond(place, head - _U1, words, in_block))] += 1
            words[place >> _FAN_BITS] ^= _U1 << (place & _IN_WORD)
            in_block[place >> _BLOCK_BITS] -= np.uint32(1)
        words[head >> _FAN_BITS] |= _U1 << (head & _IN_WORD)
        in_block[head >> _BLOCK_BITS] += np.uint32(1)
        owners[head] = obj
        place_of[obj] = head
        head += _U1
