"""Kernel of the baselines of memory tiering; the loop is that of `vulcan_tiering.kernels.ranking`."""

import numpy as np

from vulcan.kernel_support import B1, F1, F2, kernel, types
from vulcan_tiering.kernels import arms, hemem, memtis, tpp
from vulcan_tiering.kernels.ranking import INPUTS, ROOM
from vulcan_tiering.kernels.state import FAST_PAGES, MAPPED, PROMOTED, exchange, map_pages, mark_best, serve

U = np.uint64

FIRST_TOUCH, TPP, HEMEM, MEMTIS, ARMS_LIKE, ARMS, STATIC = range(7)
BASELINE_NUMBERS = {
    "first-touch": FIRST_TOUCH,
    "tpp": TPP,
    "hemem": HEMEM,
    "memtis-like": MEMTIS,
    "arms-like": ARMS_LIKE,
    "arms": ARMS,
    "static-oracle": STATIC,
}

OWN, MEMORY = 5, 64
"""Numbers that a way may keep of a page, and of the whole memory."""


@kernel(
    types.uint64(
        types.int64,  # the way
        *INPUTS,
        types.int64,  # one access in so many is sampled
        B1,  # the pages that the static oracle has in the fast tier
        F2,  # room for what a way keeps of pages, zeroed
        F1,  # and of the memory
        *ROOM,
    )
)
def place_all(
    way, loads, stores, reads, writes, arrivals, m, capacity, limit, first, last, period, chosen, own, memory, fast,
    rises, falls, keys, pages, histogram, rest, carried, totals, history, took,
):  # fmt: skip
    """Return a hash of the pages that moved, in order; what is measured is added to `totals`."""
    moves = U(0)
    for interval in range(last):
        before = np.int64(carried[MAPPED])
        n = map_pages(fast, arrivals, interval, capacity, carried)
        if way == STATIC:
            for page in range(before, n):
                carried[FAST_PAGES] += np.int64(chosen[page]) - np.int64(fast[page])
                fast[page] = chosen[page]
        serve(m, loads, stores, interval, n, fast, carried, totals, interval >= first, history, took)
        if interval + 1 == last:
            break
        if way == TPP:
            tpp.decide(own, memory, reads, writes, interval, n, fast, keys, rises, falls)
        elif way == HEMEM:
            hemem.decide(own, reads, writes, interval, n, fast, keys, rises, falls)
        elif way == MEMTIS:
            memtis.decide(own, memory, reads, writes, interval, n, keys, rises, falls, capacity)
        elif way == ARMS:
            arms.decide(
                own, memory, m, carried, period, reads, writes, interval, n, capacity, limit, fast, keys, rises, falls,
                pages, histogram, rest,
            )  # fmt: skip
        elif way == ARMS_LIKE:
            arms.score_by_recency(own, reads, writes, interval, n, arrivals, keys)
            mark_best(keys, n, capacity, rises, pages, histogram, rest)
            for page in range(n):
                falls[page] = np.uint8(1) - rises[page]
        else:
            continue
        moves = exchange(keys, n, fast, rises, falls, capacity, limit, carried, moves, pages, histogram, rest)
        if way == TPP:
            tpp.turn(memory, np.int64(carried[PROMOTED]), pages, n)
    return moves
