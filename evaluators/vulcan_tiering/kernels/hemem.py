"""HeMem (Raybuck et al., SOSP 2021): sampled reads and writes are counted, and pages above a threshold are hot.

A page is hot with 8 reads or 4 writes. Once a page has 18 of either, all counts are halved (cooling). Hot pages of the
slow tier are promoted, the ones that are written often first and else in the order in which they became hot; pages of
the fast tier that are not hot make room, in the order in which they became cold. Where all are hot, nothing moves.

Simplified: all of an interval's samples are counted before pages are cooled (as often as it takes), where HeMem cools
while it samples, and a page only when it is sampled next. The thresholds are the paper's, for its sampling period.
"""

import numpy as np

from vulcan.kernel_support import function
from vulcan_tiering.kernels.selection import key_of

HOT_READS, HOT_WRITES, COOLING = 8.0, 4.0, 18.0
READS, WRITES, HOT, SINCE = range(4)
WRITTEN_FIRST = 1e9


@function
def decide(own, reads, writes, interval, n, fast, keys, rises, falls):
    most = 0.0
    for page in range(n):
        own[page, READS] += reads[interval, page]
        own[page, WRITES] += writes[interval, page]
        most = max(most, own[page, READS], own[page, WRITES])
    factor = 1.0
    while most * factor >= COOLING:
        factor *= 0.5
    for page in range(n):
        if factor < 1.0:
            own[page, READS] = np.floor(own[page, READS] * factor)
            own[page, WRITES] = np.floor(own[page, WRITES] * factor)
        written = own[page, WRITES] >= HOT_WRITES
        hot = 1.0 if written or own[page, READS] >= HOT_READS else 0.0
        if own[page, HOT] != hot:
            own[page, HOT] = hot
            own[page, SINCE] = interval + 1.0
        rises[page] = np.uint8(hot)
        falls[page] = np.uint8(1.0 - hot)
        keys[page] = key_of(own[page, SINCE] if fast[page] else WRITTEN_FIRST * written - own[page, SINCE])
