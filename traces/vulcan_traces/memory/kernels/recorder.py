"""Recorder of memory accesses: a cache in front, and counts of its misses by interval and page.

Algorithms call `touch` with the address of everything they read or write, and stop once `is_full`. The cache is
direct-mapped by a hash of the line, so that arrays do not collide by their distance, and writes back: a load of memory
is counted where a line is brought in, be it read or written, and a store where a written line is driven out. An
interval ends after this many loads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import function, helper

LINE_BITS = 6
"""Cache lines have 64 bytes."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Fibonacci hashing (Knuth, TAOCP 3, 6.4)."""

# Places in `Recorder.at`
INTERVAL, LOADS_LEFT, SEEN, TOUCHES, PAGE_BITS, LOADS_PER_INTERVAL, RANDOM, CACHE_SHIFT, AT = range(9)


class Recorder(NamedTuple):
    """`lines` has for each place of the cache the number of its line plus 1, and `dirty` whether it was written.

    `loads` and `stores` have shape (intervals, pages of the address space), `order` the pages in the order of their
    first touch. `at` has the counters.
    """

    lines: NDArray[np.int64]
    dirty: NDArray[np.bool_]
    loads: NDArray[np.uint32]
    stores: NDArray[np.uint32]
    order: NDArray[np.int64]
    is_known: NDArray[np.bool_]
    at: NDArray[np.int64]


def new_recorder(address_space: int, page_size: int, cache: int, intervals: int, loads: int, seed: int) -> Recorder:
    """For addresses below `address_space`, a cache of that many bytes, and intervals of that many loads.

    `page_size` and `cache` are powers of two.
    """
    pages = -(-address_space // page_size)
    at = np.zeros(AT, np.int64)
    at[LOADS_LEFT] = at[LOADS_PER_INTERVAL] = loads
    at[PAGE_BITS] = page_size.bit_length() - 1
    at[CACHE_SHIFT] = 64 - ((cache >> LINE_BITS).bit_length() - 1)
    at[RANDOM] = (seed * 2654435761 + 88172645463325252) & (2**62 - 1)
    return Recorder(
        lines=np.zeros(cache >> LINE_BITS, np.int64),
        dirty=np.zeros(cache >> LINE_BITS, np.bool_),
        loads=np.zeros((intervals, pages), np.uint32),
        stores=np.zeros((intervals, pages), np.uint32),
        order=np.zeros(pages, np.int64),
        is_known=np.zeros(pages, np.bool_),
        at=at,
    )


@helper
def is_full(recorder):
    """Check whether all intervals are recorded."""
    return recorder.at[INTERVAL] >= recorder.loads.shape[0]


@function
def _miss(recorder, line, place, page):
    """Bring the line in, and write back the one in its place if it is dirty."""
    at = recorder.at
    interval = at[INTERVAL]
    if recorder.dirty[place]:
        recorder.dirty[place] = False
        before = (recorder.lines[place] - 1) >> (at[PAGE_BITS] - LINE_BITS)
        recorder.stores[interval, before] += np.uint32(1)
    recorder.lines[place] = line + 1
    recorder.loads[interval, page] += np.uint32(1)
    if not recorder.is_known[page]:
        recorder.is_known[page] = True
        recorder.order[at[SEEN]] = page
        at[SEEN] += 1
    at[LOADS_LEFT] -= 1
    if at[LOADS_LEFT] == 0:
        at[LOADS_LEFT] = at[LOADS_PER_INTERVAL]
        at[INTERVAL] += 1


@helper
def touch(recorder, address, writes):
    """Record an access to the byte at this address."""
    if recorder.at[INTERVAL] >= recorder.loads.shape[0]:
        return
    recorder.at[TOUCHES] += 1
    line = address >> LINE_BITS
    place = (np.uint64(line) * MULTIPLIER) >> np.uint64(recorder.at[CACHE_SHIFT])
    if recorder.lines[place] != line + 1:
        _miss(recorder, line, place, address >> recorder.at[PAGE_BITS])
    if writes:
        recorder.dirty[place] = True


@function
def touch_all(recorder, address, length, writes):
    """Record an access to every cache line of a region."""
    for line in range(address >> LINE_BITS, ((address + length - 1) >> LINE_BITS) + 1):
        touch(recorder, line << LINE_BITS, writes)


@helper
def draw(recorder, below):
    """Return a random whole number from 0, less than `below` (at most 2^31): xorshift64 (Marsaglia, 2003)."""
    state = np.uint64(recorder.at[RANDOM])
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    recorder.at[RANDOM] = np.int64(state)
    return np.int64(((state >> np.uint64(32)) * np.uint64(below)) >> np.uint64(32))


@helper
def draw_share(recorder):
    """Return a random number from 0, less than 1."""
    return draw(recorder, 2147483648) / 2147483648.0
