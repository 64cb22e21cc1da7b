"""Memtis (Lee et al., SOSP 2023): the threshold of hotness follows from the histogram of all pages' counts.

Sampled accesses are counted; every 20 intervals all counts are halved. Pages are in bins by the power of two of their
count. The hot bins are as many, from the top, as fit into the fast tier whole. Hot pages of the slow tier are promoted,
the hottest first, and the coldest pages of the fast tier that are not hot make room.

Simplified: the threshold is recomputed after every interval, and cooling comes every 20 of them, as Memtis adapts every
100,000 samples and cools every 2,000,000. Pages have one size, so that splitting and collapsing of huge pages, and the
weights that go with it, have no part. Warm pages need no rule of their own: what is not hot leaves only for a hot page.
"""

import numpy as np

from vulcan.kernel_support import function
from vulcan_tiering.kernels.selection import key_of

COOLING = 20
BINS = 64
COUNT = 0


@function
def _bin(count):
    found = 0
    while count >= 1.0 and found < BINS - 1:
        count *= 0.5
        found += 1
    return found


@function
def decide(own, memory, reads, writes, interval, n, keys, rises, falls, capacity):
    """`memory` has room for the histogram."""
    for b in range(BINS):
        memory[b] = 0.0
    cools = interval % COOLING == COOLING - 1
    for page in range(n):
        own[page, COUNT] += reads[interval, page] + writes[interval, page]
        if cools:
            own[page, COUNT] = np.floor(own[page, COUNT] * 0.5)
        memory[_bin(own[page, COUNT])] += 1.0
    hot = BINS
    held = 0.0
    while hot > 1 and held + memory[hot - 1] <= capacity:
        hot -= 1
        held += memory[hot]
    for page in range(n):
        is_hot = _bin(own[page, COUNT]) >= hot
        rises[page] = np.uint8(is_hot)
        falls[page] = np.uint8(not is_hot)
        keys[page] = key_of(own[page, COUNT])
