"""Kernel of a cache that follows the best of several policies: what it misses, from their histories.

Its rules are those of `vulcan_cache.exported.following_cache`.
"""

import numpy as np

from vulcan.kernel_support import allocating_kernel, types
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import ADMITTED, HIT, INTEGERS, OBJECTS, OUTCOME_BITS, SIZES
from vulcan_cache.kernels.guarded import ABSENT, list_strays

_I64 = types.int64
_HISTORIES = types.Array(types.uint32, 2, "C")


@allocating_kernel(
    types.UniTuple(_I64, 5)(
        OBJECTS, SIZES, _HISTORIES, INTEGERS, INTEGERS, _I64, _I64, _I64, types.boolean, types.float64
    )
)
def following(objects, sizes, histories, departures, bounds, object_count, capacity, measure_from, by_bytes, evidence):
    """Return misses, missed bytes, bypassed requests, changes of the policy followed, and the last one followed.

    `histories` are those of the policies (`kernels.common`), the first to be followed first. `departures` are, policy
    by policy, the last requests of the objects that leave, in the order in which they do; those of policy `k` go from
    `bounds[k]` to `bounds[k + 1]`.
    """
    policies, strays = histories.shape[0], object_count
    links, recency = empty_lists(object_count, 1), empty_lists(object_count, 1)
    is_stray = np.zeros(object_count, np.bool_)
    resident_size = np.full(object_count, ABSENT, np.int64)
    holds = np.zeros((policies, object_count), np.bool_)
    lacked = np.zeros((policies, object_count), np.float64)  # what a policy holds and the cache does not
    lacks = np.zeros(policies, np.float64)  # the sums of these
    lost = np.zeros(policies, np.float64)  # what a policy has missed
    next_left = bounds[:-1].copy()
    asked = 0.0
    used = followed = 0
    misses = missed_bytes = bypassed = switches = 0
    for now in range(objects.size):
        obj, size = np.int64(objects[now]), np.int64(sizes[now])
        weight = np.float64(size) if by_bytes else 1.0
        asked += weight
        is_hit = resident_size[obj] != ABSENT
        if is_hit:
            move_to_newest(recency, object_count, obj)
        for which in range(policies):
            told = histories[which, now] & np.uint32((1 << OUTCOME_BITS) - 1)
            if told != HIT:
                lost[which] += weight
            if told == ADMITTED:
                holds[which, obj] = True
                if not is_hit:
                    lacked[which, obj] = weight
                    lacks[which] += weight
                elif which == followed and is_stray[obj]:
                    is_stray[obj] = False
                    unlink(links, obj)
            while next_left[which] < bounds[which + 1]:
                left = departures[next_left[which]]
                if np.int64(histories[which, left] >> OUTCOME_BITS) != now:
                    break
                gone = np.int64(objects[left])
                next_left[which] += 1
                holds[which, gone] = False
                if resident_size[gone] == ABSENT:
                    lacks[which] -= lacked[which, gone]
                    lacked[which, gone] = 0.0
                elif which == followed:
                    is_stray[gone] = True
                    push_newest(links, strays, gone)
        best = followed
        least = evidence * asked / (now + 1)
        for which in range(policies):
            lead = lost[followed] - lost[which]
            if lead >= max(least, lacks[which]) and lost[which] < lost[best]:
                best = which
        if best != followed:
            followed, switches = best, switches + 1
            list_strays(links, is_stray, recency, holds[followed])
        if not is_hit:
            if now >= measure_from:
                misses += 1
                missed_bytes += size
            fits = False
            while holds[followed, obj]:
                fits = used + size <= capacity
                victim = oldest(links, strays)
                if fits or victim == strays:
                    break
                unlink(links, victim)
                unlink(recency, victim)
                is_stray[victim] = False
                used -= resident_size[victim]
                for which in range(policies):
                    if holds[which, victim]:
                        lacked[which, victim] = np.float64(resident_size[victim]) if by_bytes else 1.0
                        lacks[which] += lacked[which, victim]
                resident_size[victim] = ABSENT
            if fits:
                resident_size[obj] = size
                used += size
                push_newest(recency, object_count, obj)
                for which in range(policies):
                    lacks[which] -= lacked[which, obj]
                    lacked[which, obj] = 0.0
            else:
                bypassed += now >= measure_from
    return misses, missed_bytes, bypassed, switches, followed
