"""The kernel that `benchmarks.engine_ratios` measures engines against. What is recorded is lost if it is changed."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import njit


@njit(cache=True, error_model="numpy")
def least_recently_used(objects, count, room, passes):  # type: ignore[no-untyped-def]
    """Misses of a least-recently-used cache for `room` objects of one size, over this many passes of the requests."""
    misses = 0
    for _ in range(passes):
        before = np.full(count + 1, -1, np.int64)  # `count` is the list's own place: its first and last
        after = np.full(count + 1, -1, np.int64)
        before[count] = after[count] = count
        held = 0
        for request in range(objects.shape[0]):
            key = np.int64(objects[request])
            if after[key] >= 0:
                after[before[key]] = after[key]
                before[after[key]] = before[key]
            else:
                misses += 1
                if held == room:
                    last = before[count]
                    before[count] = before[last]
                    after[before[last]] = count
                    after[last] = -1
                else:
                    held += 1
            first = after[count]
            after[key] = first
            before[key] = count
            before[first] = key
            after[count] = key
    return misses
