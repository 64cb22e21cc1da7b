"""Kernel of a guarded cache: what it holds and misses, from the histories of two policies on the same requests.

Its rules are those of `vulcan_cache.exported.guarded_cache`, which has the account of them and the bound.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper, allocating_kernel, types
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, newer, oldest, push_newest, unlink
from vulcan_cache.kernels.common import ADMITTED, HALF_WORDS, HIT, INTEGERS, OBJECTS, OUTCOME_BITS, SIZES

POLICY, SAFE = 0, 1
ABSENT = -1
NOTHING = np.int64(-1)

_F64, _I64 = types.float64, types.int64
_HISTORY = (HALF_WORDS, INTEGERS)


@allocating_helper
def list_strays(links, is_stray, recency, holds):
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
    types.UniTuple(_I64, 5)(OBJECTS, SIZES, *_HISTORY, *_HISTORY, _I64, _I64, _I64, _F64, _F64, _F64, HALF_WORDS)
)
def guarded(
    objects, sizes, of_policy, left_policy, of_safe, left_safe, object_count, capacity, measure_from, tolerance,
    allowance, evidence, outcome,
):  # fmt: skip
    """Return misses, missed bytes, bypassed requests, changes of the policy followed, and the most the safe one held.

    `of_policy` and `of_safe` are histories (`kernels.common`), with the last requests of the objects that leave, in the
    order in which they do. `outcome`, of shape (requests,), receives 1 for a miss,
    plus 2 where the safe policy is followed after the request.
    """
    strays = object_count
    links, recency = empty_lists(object_count, 1), empty_lists(object_count, 1)
    is_stray = np.zeros(object_count, np.bool_)
    resident_size = np.full(object_count, ABSENT, np.int64)
    holds = np.zeros((2, object_count), np.bool_)
    lacks = np.zeros(2, np.int64)  # objects that a policy holds and the cache does not
    held = np.zeros(2, np.int64)
    next_left = np.zeros(2, np.int64)
    missed = np.zeros(2, np.bool_)
    used = cacheful = 0
    behind = gain = 0.0
    followed = POLICY
    misses = missed_bytes = bypassed = switches = 0
    for now in range(objects.size):
        obj, size = np.int64(objects[now]), np.int64(sizes[now])
        is_hit = resident_size[obj] != ABSENT
        if is_hit:
            move_to_newest(recency, object_count, obj)
        for which in range(2):
            history = of_policy if which == POLICY else of_safe
            order = left_policy if which == POLICY else left_safe
            told = history[now] & np.uint32((1 << OUTCOME_BITS) - 1)
            missed[which] = told != HIT
            if told == ADMITTED:
                holds[which, obj] = True
                held[which] += 1
                if not is_hit:
                    lacks[which] += 1
                elif which == followed and is_stray[obj]:
                    is_stray[obj] = False
                    unlink(links, obj)
            while next_left[which] < order.size and np.int64(history[order[next_left[which]]] >> OUTCOME_BITS) == now:
                gone = np.int64(objects[order[next_left[which]]])
                next_left[which] += 1
                holds[which, gone] = False
                held[which] -= 1
                if resident_size[gone] == ABSENT:
                    lacks[which] -= 1
                elif which == followed:
                    is_stray[gone] = True
                    push_newest(links, strays, gone)
        cacheful = max(cacheful, held[SAFE])
        allowed = allowance * cacheful
        behind = max(0.0, behind + (np.float64(not is_hit) - np.float64(missed[SAFE])) - tolerance)
        gain = max(0.0, gain + (np.float64(missed[SAFE]) - np.float64(missed[POLICY])) - tolerance)
        change = NOTHING
        if followed == POLICY:
            if behind + lacks[SAFE] > allowed:
                change = SAFE
        elif gain >= max(evidence, np.float64(lacks[POLICY])) and behind + 2.0 * lacks[POLICY] <= allowed:
            change = POLICY
        if change != NOTHING:
            followed, gain, switches = change, 0.0, switches + 1
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
                if followed == POLICY and holds[SAFE, victim] and behind + lacks[SAFE] + 1.0 > allowed:
                    followed, gain, switches = SAFE, 0.0, switches + 1
                    list_strays(links, is_stray, recency, holds[followed])
                    continue
                unlink(links, victim)
                unlink(recency, victim)
                is_stray[victim] = False
                used -= resident_size[victim]
                resident_size[victim] = ABSENT
                for which in range(2):
                    lacks[which] += holds[which, victim]
            if fits:
                resident_size[obj] = size
                used += size
                push_newest(recency, object_count, obj)
                for which in range(2):
                    lacks[which] -= holds[which, obj]
            else:
                bypassed += now >= measure_from
        if outcome.size:
            outcome[now] = np.uint32(not is_hit) + np.uint32(2 * followed)
    return misses, missed_bytes, bypassed, switches, cacheful
