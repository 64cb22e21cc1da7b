"""Kernel of a cache that follows one of several policies: what it misses, from their histories on the same requests.

Its rules are those of `vulcan_cache.exported.directories`; whom it follows, those of `exported.following_cache` or, for
a policy that a safe one guards, `exported.guarded_cache`, which has the account of them and the bound.
"""

import numpy as np

from vulcan.kernel_support import I1, allocating_helper, allocating_kernel, types
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, newer, oldest, push_newest, unlink
from vulcan_cache.kernels.common import ADMITTED, HALF_WORDS, HIT, OBJECTS, OUTCOME_BITS, SIZES

POLICY, SAFE = 0, 1
"""The two policies, where one guards the other."""

ABSENT = -1

_F64, _I64 = types.float64, types.int64


@allocating_helper
def _list_strays(links, is_stray, recency, holds):
    """List what the cache holds and the policy followed does not, the longest unrequested first."""
    queue = is_stray.size
    links[2 * queue] = links[2 * queue + 1] = queue
    is_stray[:] = False
    obj = oldest(recency, queue)
    while obj != queue:
        if not holds[obj]:
            is_stray[obj] = True
            push_newest(links, queue, obj)
        obj = newer(recency, obj)


@allocating_kernel(
    types.UniTuple(_I64, 6)(
        OBJECTS, SIZES, types.Array(types.uint32, 2, "C"), I1, I1, _I64, _I64, _I64, types.boolean, _F64,
        types.boolean, _F64, _F64, HALF_WORDS,
    )
)  # fmt: skip
def following(
    objects, sizes, histories, departures, bounds, object_count, capacity, measure_from, by_bytes, evidence, guards,
    tolerance, allowance, outcome,
):  # fmt: skip
    """Return misses, missed bytes, bypassed requests, changes of the policy followed, the last one followed, most held.

    `histories` are those of the policies (`kernels.common`), the first to be followed first. `departures` are, policy
    by policy, the last requests of the objects that leave, in the order in which they do; those of policy `k` go from
    `bounds[k]` to `bounds[k + 1]`. If the second one `guards` the first, the last number is the most objects that it
    held. `outcome`, of shape (requests,) or empty, receives 1 for a miss, plus 2 times the policy followed after it.
    """
    policies, strays = histories.shape[0], object_count
    links, recency = empty_lists(object_count, 1), empty_lists(object_count, 1)
    is_stray = np.zeros(object_count, np.bool_)
    resident_size = np.full(object_count, ABSENT, np.int64)
    holds = np.zeros((policies, object_count), np.bool_)
    held = np.zeros(policies, np.int64)
    lacked = np.zeros((policies, object_count), np.float64)  # what a policy holds and the cache does not
    lacks = np.zeros(policies, np.float64)  # the sums of these
    missed = np.zeros(policies, np.float64)  # by the request
    lost = np.zeros(policies, np.float64)  # what a policy has missed
    next_left = bounds[:-1].copy()
    asked = behind = gain = allowed = 0.0
    used = followed = most_held = 0
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
            missed[which] = weight if told != HIT else 0.0
            lost[which] += missed[which]
            if told == ADMITTED:
                holds[which, obj] = True
                held[which] += 1
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
                held[which] -= 1
                if resident_size[gone] == ABSENT:
                    lacks[which] -= lacked[which, gone]
                    lacked[which, gone] = 0.0
                elif which == followed:
                    is_stray[gone] = True
                    push_newest(links, strays, gone)
        best = followed
        if guards:
            most_held = max(most_held, held[SAFE])
            allowed = allowance * most_held
            behind = max(0.0, behind + (np.float64(not is_hit) - missed[SAFE]) - tolerance)
            gain = max(0.0, gain + (missed[SAFE] - missed[POLICY]) - tolerance)
            if followed == POLICY:
                if behind + lacks[SAFE] > allowed:
                    best = SAFE
            elif gain >= max(evidence, lacks[POLICY]) and behind + 2.0 * lacks[POLICY] <= allowed:
                best = POLICY
        else:
            least = evidence * asked / (now + 1)
            for which in range(policies):
                lead = lost[followed] - lost[which]
                if lead >= max(least, lacks[which]) and lost[which] < lost[best]:
                    best = which
        if best != followed:
            followed, gain, switches = best, 0.0, switches + 1
            _list_strays(links, is_stray, recency, holds[followed])
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
                if guards and followed == POLICY and holds[SAFE, victim] and behind + lacks[SAFE] + 1.0 > allowed:
                    followed, gain, switches = SAFE, 0.0, switches + 1
                    _list_strays(links, is_stray, recency, holds[followed])
                    continue
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
        if outcome.size:
            outcome[now] = np.uint32(not is_hit) + np.uint32(2 * followed)
    return misses, missed_bytes, bypassed, switches, followed, most_held
