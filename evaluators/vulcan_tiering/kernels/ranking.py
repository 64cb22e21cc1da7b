"""The kernel of the mechanism `full`: after every interval all pages are scored, and the best belong in the fast tier.

One interval after the other: new pages are mapped, the accesses served, samples shown to the policy, every mapped
page's statistics updated, the policy's handlers called and then every page scored, and pages exchanged as far as the
limit allows. What is decided after the last interval is not carried out.
"""

import numpy as np

from vulcan.anvil.native.policy_calls import call_event, call_rank
from vulcan.kernel_support import B1, B2, F1, F2, I1, kernel, types
from vulcan_tiering import layout as at
from vulcan_tiering.kernels.cost import WEIGHT
from vulcan_tiering.kernels.selection import key_of
from vulcan_tiering.kernels.state import (
    DEMOTED,
    FAST_BYTES_PER_NS,
    FAST_NS,
    HIT_SHARE,
    PROMOTED,
    SLOW_BYTES_PER_NS,
    SLOW_NS,
    exchange,
    map_pages,
    mark_best,
    serve,
)

U = np.uint64

_TABLE = types.Array(types.uint32, 2, "C", readonly=True)

INPUTS = (
    *(_TABLE,) * 4,  # loads, stores, sampled reads, sampled writes
    types.Array(types.int32, 1, "C", readonly=True),  # arrivals
    F1,  # the machine's numbers
    *(types.int64,) * 4,  # capacity of the fast tier and limit of migrations, in pages; measured intervals: from, to
)
ROOM = (
    *(B1,) * 3,  # fast, and room for pages that belong there, and for others
    types.Array(types.uint64, 1, "C"),  # room for keys
    *(I1,) * 3,  # room for twice the pages, a histogram, and twice the pages
    *(F1,) * 2,  # carried, totals
    B2,  # room for a history, or none: see `serve`
    F2,  # and for what intervals took
)
"""Arguments that all kernels have."""


@kernel(
    types.uint64(
        types.UniTuple(types.int64, 7),  # addresses of score, enter, update, interval, and the handlers of the task's
        # events; 0 where nothing needs them
        *INPUTS,
        F1,  # globals
        F1,  # records
        F1,  # statistics
        types.uint64,  # statistics a page
        *ROOM,
    )
)
def rank_all(
    policy, loads, stores, reads, writes, arrivals, m, capacity, limit, first, last, globals_, records, statistics,
    width, fast, best, others, keys, pages, histogram, rest, carried, totals, history, took,
):  # fmt: skip
    """Return a hash of the pages that moved, in order; what is measured is added to `totals`."""
    score, enter, update, of_interval, on_tick, on_page, on_move = policy
    weight = m[WEIGHT]
    moves = U(0)
    mapped = 0
    globals_[at.FAST_CAPACITY] = capacity * weight
    for interval in range(last):
        n = map_pages(fast, arrivals, interval, capacity, carried)
        serve(m, loads, stores, interval, n, fast, carried, totals, interval >= first, history, took)
        if interval + 1 == last:
            break
        now = float(interval)
        globals_[at.NOW] = now
        globals_[at.PAGES] = n * weight
        globals_[at.MIGRATIONS] = (carried[PROMOTED] + carried[DEMOTED]) * weight
        globals_[at.FAST_BANDWIDTH] = carried[FAST_BYTES_PER_NS]
        globals_[at.SLOW_BANDWIDTH] = carried[SLOW_BYTES_PER_NS]
        globals_[at.FAST_LATENCY] = carried[FAST_NS]
        globals_[at.SLOW_LATENCY] = carried[SLOW_NS]
        globals_[at.FAST_SHARE] = carried[HIT_SHARE]
        if of_interval != 0:
            call_event(of_interval, globals_, records, U(0), statistics, U(0), 0.0)
        for page in range(n):
            place = U(page) << U(3)
            read = float(reads[interval, page])
            written = float(writes[interval, page])
            if page >= mapped:
                records[place | U(at.ARRIVAL)] = now
                records[place | U(at.MOVED)] = now
                records[place | U(at.LAST_ACCESS)] = now
            records[place | U(at.ACCESSES)] = read + written
            records[place | U(at.READS)] = read
            records[place | U(at.WRITES)] = written
            if read + written > 0.0:
                records[place | U(at.LAST_ACCESS)] = now
            is_fast = float(fast[page])
            if page < mapped and records[place | U(at.FAST)] != is_fast:
                records[place | U(at.MOVED)] = now
            records[place | U(at.FAST)] = is_fast
            if update != 0:
                call_event(
                    enter if page >= mapped else update,
                    globals_,
                    records,
                    place,
                    statistics,
                    U(page) * width,
                    float(page),
                )
        mapped = n
        if on_tick != 0:
            call_event(on_tick, globals_, records, U(0), statistics, U(0), 0.0)
        if on_page != 0:
            for page in range(n):
                call_event(on_page, globals_, records, U(page) << U(3), statistics, U(page) * width, float(page))
        for page in range(n):
            keys[page] = key_of(
                call_rank(score, globals_, records, U(page) << U(3), statistics, U(page) * width, float(page))
            )
        mark_best(keys, n, capacity, best, pages, histogram, rest)
        for page in range(n):
            others[page] = np.uint8(1) - best[page]
        moves = exchange(keys, n, fast, best, others, capacity, limit, carried, moves, pages, histogram, rest)
        if on_move != 0:
            for page in range(n):
                if records[(U(page) << U(3)) | U(at.FAST)] != float(fast[page]):
                    call_event(on_move, globals_, records, U(page) << U(3), statistics, U(page) * width, float(page))
    return moves
