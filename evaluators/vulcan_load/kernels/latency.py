"""Latencies that a server reports: means of the last requests that found as many in flight as there are now."""

from __future__ import annotations

from vulcan.kernel_support import helper

RECENT = 32
"""Latencies that a server remembers: of its last requests, or of the last that found as many there (`BY_QUEUE`)."""

BY_QUEUE, QUEUES, PER_QUEUE = 1, 64, 8
"""What a report's latency is of: the last requests that found as many in flight as there are now, or about as many.

Of the last requests whatever they found (0, in runs from before there was a choice), a server that got none for a while
has latencies from when its queue was long: nobody who goes by latency comes back, and it stands idle.
"""


@helper
def usual_latency(recent, samples, s, known, flying):
    """Return the mean latency of the recent requests that found as many in flight as there are, or nearly as many."""
    total, count, nearest = 0.0, 0, 1e18
    for j in range(known):
        apart = abs(samples[s, j] - flying)
        if apart < nearest:
            total, count, nearest = 0.0, 0, apart
        if apart == nearest:
            total += recent[s, j]
            count += 1
    return total / count if count > 0 else 0.0


@helper
def latency_at(by_queue, kept, s, flying):
    """Return the mean of the last latencies at the number in flight, or at the nearest one at which there are any."""
    at = min(int(flying), QUEUES - 1)
    for apart in range(QUEUES):
        for level in (at - apart, at + apart):
            if 0 <= level < QUEUES and kept[s, level] > 0:
                known = min(kept[s, level], PER_QUEUE)
                total = 0.0
                for j in range(known):
                    total += by_queue[s, level, j]
                return total / known
    return 0.0
