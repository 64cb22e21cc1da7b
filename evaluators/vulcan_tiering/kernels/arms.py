"""ARMS, adaptive and robust memory tiering (Yadalam et al., 2025), with the constants of its authors' program.

A page's score is a fast and a slow moving average of its sampled accesses, where a write counts as often as the slow
tier reads faster than it writes. The slow average has the greater weight, until a change of the hot set is detected: a
Page-Hinkley test of the slow tier's bandwidth, every other interval, of which one is half a second there. Then the fast
one has, for 20 tests at the least.

The pages with the highest scores, as many as the fast tier holds, should be there. One that is not is promoted once it
has been among them for two intervals and its score has not fallen, the best first, in place of the worst page of the
fast tier, until one of these stops it: an average of the page is below one of the page that it replaces; what it
brings, the difference of the scores for as many further intervals as it has been hot and at the latencies under load,
is less than one and a half times what copying both pages costs; or more cannot be copied within the interval. Of four
threads that copy, each with a sixth of the slow tier's bandwidth, as many work as it has bandwidth left, one at least.

Simplified: a copy takes what it takes on an idle machine, where ARMS measures it, which is never less. The period of
sampling is not halved while the hot set changes.
"""

import math

import numpy as np

from vulcan.kernel_support import function, helper
from vulcan_tiering.kernels.cost import PAGE, SLOW_READ, SLOW_WRITE, STALL, WEIGHT
from vulcan_tiering.kernels.selection import key_of, pop_first, push_down
from vulcan_tiering.kernels.state import FAST_NS, FAST_PAGES, INTERVAL_NS, SLOW_BYTES_PER_NS, SLOW_NS, mark_best

FAST_ALPHA, SLOW_ALPHA = 0.6667, 0.0952
USUAL_FAST_WEIGHT, CHANGING_FAST_WEIGHT = 0.4, 0.731
CHANGING_SLOW_WEIGHT = 0.269

MEAN_ALPHA, DEVIATION_ALPHA = 0.3, 0.1
DRIFT, THRESHOLD = 0.1, 3.0  # of the Page-Hinkley test, in standard deviations
MIN_SLOW_BANDWIDTH = 0.3  # GB/s, with less no change is seen
MIN_CHANGING = 20  # tests

COPYING_THREADS, THREAD_SHARE = 4.0, 6.0
CAUTION = 1.5

# What is kept of a page
FAST, SLOW, SCORE, HOT_FOR, LASTS = range(5)

# What is kept of the memory
MEAN, DEVIATION, SUM, CHANGING, SINCE = range(5)


@helper
def _detect(memory, bandwidth):
    """Decide whether the hot set is changing, by the bandwidth of the slow tier in GB/s."""
    memory[MEAN] = (1.0 - MEAN_ALPHA) * memory[MEAN] + MEAN_ALPHA * bandwidth
    off = bandwidth - memory[MEAN]
    variance = (1.0 - DEVIATION_ALPHA) * memory[DEVIATION] * memory[DEVIATION] + DEVIATION_ALPHA * off * off
    memory[DEVIATION] = math.sqrt(max(variance, 1e-12))
    memory[SUM] = max(memory[SUM] + (off - DRIFT * memory[DEVIATION]), 0.0)
    if memory[SUM] > THRESHOLD * memory[DEVIATION]:
        if memory[CHANGING] == 0.0 and bandwidth > MIN_SLOW_BANDWIDTH:
            memory[CHANGING] = 1.0
            memory[SINCE] = 0.0
        memory[SUM] = 0.0
    elif memory[CHANGING] == 1.0:
        memory[SINCE] += 1.0
        if memory[SINCE] >= MIN_CHANGING and memory[SUM] <= 0.0:
            memory[CHANGING] = 0.0


@function
def decide(
    own, memory, m, carried, period, reads, writes, interval, n, capacity, limit, fast, keys, rises, falls, pages,
    histogram, rest,
):  # fmt: skip
    """Set `rises` and `falls` to the pages that change places: no more than `limit` copies, and room for all."""
    if interval % 2 == 1:
        _detect(memory, carried[SLOW_BYTES_PER_NS])
    weight = CHANGING_FAST_WEIGHT if memory[CHANGING] == 1.0 else USUAL_FAST_WEIGHT
    write_weight = m[SLOW_READ] / m[SLOW_WRITE]
    for page in range(n):
        accesses = float(reads[interval, page]) + write_weight * float(writes[interval, page])
        own[page, FAST] += FAST_ALPHA * (accesses - own[page, FAST])
        own[page, SLOW] += SLOW_ALPHA * (accesses - own[page, SLOW])
        keys[page] = key_of(weight * own[page, FAST] + (1.0 - weight) * own[page, SLOW])
    mark_best(keys, n, capacity, rises, pages, histogram, rest)
    up = 0
    down = 0
    for page in range(n):
        score = weight * own[page, FAST] + (1.0 - weight) * own[page, SLOW]
        if rises[page] == 0:
            own[page, HOT_FOR] = 0.0
            own[page, LASTS] = 0.0
            if fast[page]:
                rest[n + down] = page
                down += 1
        elif score > 0.0:
            own[page, HOT_FOR] += 1.0
            if own[page, HOT_FOR] > 1.0 and score >= own[page, SCORE]:
                own[page, LASTS] = 1.0
            if own[page, LASTS] == 1.0 and not fast[page]:
                rest[up] = page
                up += 1
        own[page, SCORE] = score
        rises[page] = np.uint8(0)
        falls[page] = np.uint8(0)
    risers, fallers = rest[:n], rest[n:]
    for k in range(up // 2 - 1, -1, -1):
        push_down(keys, risers, up, k, False)
    for k in range(down // 2 - 1, -1, -1):
        push_down(keys, fallers, down, k, True)
    cost = (m[PAGE] / m[SLOW_READ] + m[PAGE] / m[SLOW_WRITE]) * THREAD_SHARE + 2.0 * m[STALL]
    knee = m[SLOW_WRITE] / THREAD_SHARE
    threads = max(1.0, math.floor((knee - carried[SLOW_BYTES_PER_NS]) / knee * COPYING_THREADS))
    worth = period * (carried[SLOW_NS] - carried[FAST_NS])
    free = capacity - np.int64(carried[FAST_PAGES])
    left = min(float(n), carried[INTERVAL_NS] / cost * threads / m[WEIGHT])
    copies = 0
    while up > 0 and left >= 1.0:
        hot = risers[0]
        gain = own[hot, SCORE]
        if free > 0:
            if copies + 1 > limit:
                break
        else:
            if down == 0 or copies + 2 > limit:
                break
            cold = fallers[0]
            gain -= own[cold, SCORE]
            if min(own[hot, FAST], own[hot, SLOW]) < max(own[cold, FAST], own[cold, SLOW]):
                break
        if gain * own[hot, HOT_FOR] * worth < CAUTION * cost:
            break
        if free > 0:
            free -= 1
            copies += 1
        else:
            falls[cold] = np.uint8(1)
            down = pop_first(keys, fallers, down, True)
            copies += 2
        rises[hot] = np.uint8(1)
        up = pop_first(keys, risers, up, False)
        left -= 1.0


@function
def score_by_recency(own, reads, writes, interval, n, arrivals, keys):
    """Fill in the scores of the recency mode alone, by which searches start, with the highest in the fast tier."""
    for page in range(n):
        accesses = float(reads[interval, page]) + float(writes[interval, page])
        if arrivals[page] == interval:
            own[page, FAST] = accesses
            own[page, SLOW] = accesses
        else:
            own[page, FAST] += FAST_ALPHA * (accesses - own[page, FAST])
            own[page, SLOW] += SLOW_ALPHA * (accesses - own[page, SLOW])
        keys[page] = key_of(CHANGING_FAST_WEIGHT * own[page, FAST] + CHANGING_SLOW_WEIGHT * own[page, SLOW])
