"""The score of ARMS in its recency mode alone: 0.731 of a fast moving average and 0.269 of a slow one.

The pages with the highest scores belong in the fast tier, as for a candidate of the mechanism `full`. It is what
searches start from; `vulcan_tiering.kernels.arms` is the whole of ARMS.
"""

from vulcan.kernel_support import function
from vulcan_tiering.kernels.selection import key_of

FAST_ALPHA, SLOW_ALPHA = 0.6667, 0.0952
FAST_WEIGHT, SLOW_WEIGHT = 0.731, 0.269
FAST, SLOW = 0, 1


@function
def decide(own, reads, writes, interval, n, arrivals, keys):
    for page in range(n):
        accesses = float(reads[interval, page]) + float(writes[interval, page])
        if arrivals[page] == interval:
            own[page, FAST] = accesses
            own[page, SLOW] = accesses
        else:
            own[page, FAST] += FAST_ALPHA * (accesses - own[page, FAST])
            own[page, SLOW] += SLOW_ALPHA * (accesses - own[page, SLOW])
        keys[page] = key_of(FAST_WEIGHT * own[page, FAST] + SLOW_WEIGHT * own[page, SLOW])
