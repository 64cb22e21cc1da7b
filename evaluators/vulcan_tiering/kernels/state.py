"""Page state of a simulation, the serving of an interval, and the exchange of pages."""

import numpy as np

from vulcan.kernel_support import function
from vulcan_tiering.kernels.cost import (
    FAST_LATENCY,
    PAGE,
    SLOW_LATENCY,
    WEIGHT,
    busy_fast,
    busy_slow,
    interval_time,
    loaded_latency,
)
from vulcan_tiering.kernels.selection import order
from vulcan_tiering.machine import LINE

U = np.uint64

# What is measured, in `totals`
TIME, ACCESSES, HITS, PROMOTIONS, DEMOTIONS, SLOW_BYTES, TOTALS = range(7)

# What a history has of a page in an interval, 0 before it is mapped
MAPPED_SLOW, MAPPED_FAST = np.uint8(1), np.uint8(2)

# What is carried from one interval to the next, in `carried`: mapped pages, how many of them are fast, pages just
# promoted and demoted, and of the latest interval bandwidths, latencies, the share of hits and its length
(
    MAPPED, FAST_PAGES, PROMOTED, DEMOTED, FAST_BYTES_PER_NS, SLOW_BYTES_PER_NS, FAST_NS, SLOW_NS, HIT_SHARE,
    INTERVAL_NS, CARRIED,
) = range(11)  # fmt: skip


@function
def map_pages(fast, arrivals, interval, capacity, carried):
    """Pages that are first touched in this interval come to the fast tier while it has room. Returns how many there
    are.

    `arrivals` ascends, as pages are numbered in the order of their first touch.
    """
    n = np.int64(carried[MAPPED])
    used = np.int64(carried[FAST_PAGES])
    while n < arrivals.shape[0] and arrivals[n] <= interval:
        fast[n] = np.uint8(used < capacity)
        used += used < capacity
        n += 1
    carried[MAPPED] = n
    carried[FAST_PAGES] = used
    return n


@function
def serve(m, loads, stores, interval, n, fast, carried, totals, counts, history, took):
    """Serve the accesses of an interval with pages where they are; the migrations before it take bandwidth.

    `history`, of shape (intervals, pages) or empty, takes `MAPPED_SLOW` and `MAPPED_FAST` for the pages mapped, and
    `took`, of shape (intervals, 3) then, the time and the latencies of the fast and the slow tier under load.
    """
    if history.shape[0] > 0:
        for page in range(n):
            history[interval, page] = MAPPED_SLOW + fast[page]
    fast_loads = 0
    fast_stores = 0
    all_loads = 0
    all_stores = 0
    for page in range(n):
        a = np.int64(loads[interval, page])
        b = np.int64(stores[interval, page])
        all_loads += a
        all_stores += b
        fast_loads += a * fast[page]
        fast_stores += b * fast[page]
    weight = m[WEIGHT]
    lf = float(fast_loads) * weight
    ls = float(all_loads - fast_loads) * weight
    sf = float(fast_stores) * weight
    ss = float(all_stores - fast_stores) * weight
    up = carried[PROMOTED] * weight
    down = carried[DEMOTED] * weight
    bf = busy_fast(m, lf, sf, up, down)
    bs = busy_slow(m, ls, ss, up, down)
    time = interval_time(m, lf, ls, bf, bs, up + down)
    hits = lf + sf
    accesses = hits + (ls + ss)
    moved = m[PAGE] * (up + down)
    slow_bytes = LINE * (ls + ss) + moved
    carried[FAST_BYTES_PER_NS] = (LINE * hits + moved) / time if time > 0.0 else 0.0
    carried[SLOW_BYTES_PER_NS] = slow_bytes / time if time > 0.0 else 0.0
    carried[FAST_NS] = loaded_latency(m, m[FAST_LATENCY], bf, time)
    carried[SLOW_NS] = loaded_latency(m, m[SLOW_LATENCY], bs, time)
    carried[INTERVAL_NS] = time
    if history.shape[0] > 0:
        took[interval, 0], took[interval, 1], took[interval, 2] = time, carried[FAST_NS], carried[SLOW_NS]
    carried[HIT_SHARE] = hits / accesses if accesses > 0.0 else 0.0
    if counts:
        totals[TIME] += time
        totals[ACCESSES] += accesses
        totals[HITS] += hits
        totals[PROMOTIONS] += up
        totals[DEMOTIONS] += down
        totals[SLOW_BYTES] += slow_bytes


@function
def mark_best(keys, n, needed, best, pages, histogram, rest):
    """best[page] is 1 for the `needed` best of n pages, and else 0."""
    for page in range(n):
        pages[page] = page
        best[page] = np.uint8(needed >= n)
    if needed < n:
        order(keys, pages, n, needed, False, histogram, rest)
        for k in range(needed):
            best[pages[k]] = np.uint8(1)


@function
def exchange(keys, n, fast, rises, falls, capacity, limit, carried, moves, pages, histogram, rest):
    """Pages change places: the best of those that may rise come to the fast tier, in place of the worst that may fall.

    A page falls only where its room is needed, and at most `limit` pages are copied. Returns `moves`, a hash of the
    pages that moved so far, with these; `fast` is changed.
    """
    up = 0
    for page in range(n):
        if rises[page] and not fast[page]:
            pages[up] = page
            up += 1
    down = 0
    for page in range(n):
        if falls[page] and fast[page]:
            pages[n + down] = page
            down += 1
    free = capacity - np.int64(carried[FAST_PAGES])
    promoted = min(up, free + down)
    promoted = min(promoted, limit if limit <= free else free + (limit - free) // 2)
    demoted = max(0, promoted - free)
    order(keys, pages, up, promoted, False, histogram, rest)
    order(keys, pages[n:], down, demoted, True, histogram, rest)
    for k in range(demoted):
        page = pages[n + k]
        fast[page] = np.uint8(0)
        moves = moves * U(6364136223846793005) + U(2 * page) + U(1)  # Knuth's multiplier (TAOCP 2, 3.3.4)
    for k in range(promoted):
        page = pages[k]
        fast[page] = np.uint8(1)
        moves = moves * U(6364136223846793005) + U(2 * page) + U(2)
    carried[PROMOTED] = promoted
    carried[DEMOTED] = demoted
    carried[FAST_PAGES] += promoted - demoted
    return moves
