"""TPP, transparent page placement (Maruf et al., ASPLOS 2023), as CLOCK with a second chance.

A page of the slow tier is promoted once it was accessed in two intervals in a row (TPP promotes on a fault of a page
that is on the active list already); the sweep over them continues where it last ended. A page of the fast tier may be
demoted where it was not accessed in the latest interval, the one idle for longest first (the tail of the inactive
list).

Simplified: a page counts as accessed where it was sampled, where TPP sees the faults of unmapped pages and the bits of
page tables. There is no watermark: room is made only when a page is promoted, so that new pages do not find any. The
lists are replaced by the interval of the latest access.
"""

import numpy as np

from vulcan.kernel_support import function
from vulcan_tiering.kernels.selection import key_of

SEEN, BEFORE = 0, 1  # the latest interval with an access, plus 1; the one before it
HAND = 0


@function
def decide(own, memory, reads, writes, interval, n, fast, keys, rises, falls):
    now = interval + 1.0
    hand = np.int64(memory[HAND])
    for page in range(n):
        accessed = reads[interval, page] + writes[interval, page] > 0
        if accessed:
            own[page, BEFORE] = own[page, SEEN]
            own[page, SEEN] = now
        again = accessed and interval > 0 and own[page, BEFORE] == now - 1.0
        rises[page] = np.uint8(again)
        falls[page] = np.uint8(not accessed)
        ahead = page - hand if page >= hand else page - hand + n
        keys[page] = key_of(own[page, SEEN] if fast[page] else -float(ahead))


@function
def turn(memory, promoted, pages, n):
    """Move the hand behind the last promoted page; `pages` are those, ascending."""
    if promoted > 0:
        hand = np.int64(memory[HAND])
        last = pages[promoted - 1]
        for k in range(promoted):  # the last one of the sweep: of those before the hand, if there are any
            if pages[k] < hand:
                last = pages[k]
        memory[HAND] = float((last + 1) % n)
