"""Time model of an interval.

With L loads and S stores of each tier (fast f, slow s), P promotions and D demotions of pages of B bytes, latency l,
bandwidths R of reads and W of writes, M loads outstanding on the whole machine, c ns of computing for each load on the
whole machine, g ns of stall for each migrated page and the queueing constant q:

    busy_f = (64 L_f + B D) / R_f + (64 S_f + B P) / W_f        a promotion reads the slow tier and writes the fast one,
    busy_s = (64 L_s + B P) / R_s + (64 S_s + B D) / W_s        a demotion the other way round
    latency under load of a tier = l (1 + q u / (1 - u)),  u = busy / T
    T = c (L_f + L_s) + g (P + D) + (L_f latency_f + L_s latency_s) / M,  and T is never below busy_f or busy_s

Loads stall the program; stores are posted and only take bandwidth. The right side falls as T grows, so that T is
unique; it is found by bisection to the last bit. Only sums, products and quotients: every machine finds the same.
"""

from vulcan.kernel_support import function, helper
from vulcan_tiering.machine import LINE

# Places in `Machine.numbers`
(
    FAST_LATENCY, FAST_READ, FAST_WRITE, SLOW_LATENCY, SLOW_READ, SLOW_WRITE, OUTSTANDING, COMPUTE, STALL, PAGE, QUEUE,
    WEIGHT,
) = range(12)  # fmt: skip

MAX_LATENCY = 1e6
"""Nanoseconds: what a policy is shown where a tier is busy all the time."""


@helper
def busy_fast(m, loads, stores, promotions, demotions):
    return (LINE * loads + m[PAGE] * demotions) / m[FAST_READ] + (LINE * stores + m[PAGE] * promotions) / m[FAST_WRITE]


@helper
def busy_slow(m, loads, stores, promotions, demotions):
    return (LINE * loads + m[PAGE] * promotions) / m[SLOW_READ] + (LINE * stores + m[PAGE] * demotions) / m[SLOW_WRITE]


@helper
def _stalled(m, idle, busy, time):
    """Return the time that loads wait for a tier; `idle` is what it would be without queueing."""
    return idle + idle * (m[QUEUE] * (busy / (time - busy))) if idle > 0.0 else 0.0


@function
def interval_time(m, fast_loads, slow_loads, fast_busy, slow_busy, migrations):
    """T of the module's description."""
    base = m[COMPUTE] * (fast_loads + slow_loads) + m[STALL] * migrations
    fast = fast_loads * m[FAST_LATENCY] / m[OUTSTANDING]
    slow = slow_loads * m[SLOW_LATENCY] / m[OUTSTANDING]
    low = max(base + fast + slow, fast_busy, slow_busy)
    if low == 0.0 or (
        (fast == 0.0 or low > fast_busy)
        and (slow == 0.0 or low > slow_busy)
        and low >= base + _stalled(m, fast, fast_busy, low) + _stalled(m, slow, slow_busy, low)
    ):
        return low
    high = 2.0 * low
    while high < base + _stalled(m, fast, fast_busy, high) + _stalled(m, slow, slow_busy, high):
        low = high
        high = 2.0 * high
    while True:
        middle = low + 0.5 * (high - low)
        if middle <= low or middle >= high:
            return high
        if (
            (fast > 0.0 and middle <= fast_busy)
            or (slow > 0.0 and middle <= slow_busy)
            or middle < base + _stalled(m, fast, fast_busy, middle) + _stalled(m, slow, slow_busy, middle)
        ):
            low = middle
        else:
            high = middle


@helper
def loaded_latency(m, latency, busy, time):
    """Return the mean latency of a load of the tier."""
    if busy <= 0.0:
        return latency
    if busy >= time:
        return MAX_LATENCY
    return min(latency + latency * (m[QUEUE] * (busy / (time - busy))), MAX_LATENCY)
