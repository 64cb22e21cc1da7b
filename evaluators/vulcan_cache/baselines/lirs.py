"""LIRS: objects of low inter-reference recency (LIR) fill 99 % of the cache, the others (HIR) pass through.

Stack S orders objects by their last request, down to the least recent LIR object; it remembers HIR objects
that are no longer resident. Queue Q holds the resident HIR objects; victims are its oldest. A HIR object
requested while in S becomes LIR, and LIR objects from the bottom of S become HIR until the LIR set fits.

S holds at most twice the capacity (the paper leaves the bound open): the non-resident object that was
evicted first is forgotten first. With sizes: any missed object for which the LIR set has room becomes LIR (the
paper's rule for filling the cache), one larger than the whole LIR set never does, and the HIR share is
`max(1, capacity // 100)` bytes; if Q is empty when space is needed, the bottom LIR object is demoted to it.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, miss

RESIDENT, LIR, STACKED = 1, 2, 4
IN_CACHE, IN_LIR_SET, IN_STACK = 0, 1, 2


@allocating_helper
def _leave_stack(stack, queues, state, kept_size, totals, obj):
    """Take a HIR object out of S; a non-resident one is thereby forgotten."""
    unlink(stack, obj)
    totals[IN_STACK] -= kept_size[obj]
    state[obj] &= ~STACKED
    if not state[obj] & RESIDENT:
        unlink(queues, obj)


@allocating_helper
def _prune(stack, queues, bottom, state, kept_size, totals):
    """Take HIR objects off the bottom of S until a LIR one lies there."""
    obj = oldest(stack, bottom)
    while obj != bottom and not state[obj] & LIR:
        _leave_stack(stack, queues, state, kept_size, totals, obj)
        obj = oldest(stack, bottom)


@allocating_helper
def _demote(stack, queues, bottom, state, kept_size, totals):
    """Make the LIR object at the bottom of S a resident HIR one at the newest end of Q."""
    obj = oldest(stack, bottom)
    unlink(stack, obj)
    totals[IN_STACK] -= kept_size[obj]
    totals[IN_LIR_SET] -= kept_size[obj]
    state[obj] = RESIDENT
    push_newest(queues, bottom, obj)
    _prune(stack, queues, bottom, state, kept_size, totals)


@allocating_helper
def _evict(stack, queues, bottom, ghosts, state, kept_size, totals):
    """Evict the oldest object of Q; while it is in S it is remembered."""
    if oldest(queues, bottom) == bottom:
        _demote(stack, queues, bottom, state, kept_size, totals)
    obj = oldest(queues, bottom)
    unlink(queues, obj)
    state[obj] &= ~RESIDENT
    totals[IN_CACHE] -= kept_size[obj]
    if state[obj] & STACKED:
        push_newest(queues, ghosts, obj)


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    stack = empty_lists(object_count, 1)
    queues = empty_lists(object_count, 2)
    bottom, ghosts = (object_count, object_count + 1)  # the sentinels of S and of Q, and of the non-resident objects
    state = np.zeros(object_count, np.int8)
    kept_size = np.zeros(object_count, np.int64)
    totals = np.zeros(3, np.int64)
    lir_capacity = capacity - max(1, capacity // 100)
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if state[obj] & LIR:
            move_to_newest(stack, bottom, obj)
            _prune(stack, queues, bottom, state, kept_size, totals)
            continue
        size = kept_size[obj]
        if state[obj] & RESIDENT:
            becomes_lir = state[obj] & STACKED != 0 and size <= lir_capacity
            unlink(queues, obj)
        else:
            size = np.int64(sizes[now])
            if not miss(counts, missed, now, size, largest, measure_from):
                continue
            while totals[IN_CACHE] + size > capacity:
                _evict(stack, queues, bottom, ghosts, state, kept_size, totals)
            remembered = state[obj] & STACKED != 0  # unless making space has pruned it
            becomes_lir = size <= lir_capacity and (remembered or totals[IN_LIR_SET] + size <= lir_capacity)
            totals[IN_CACHE] += size
        if state[obj] & STACKED:
            _leave_stack(stack, queues, state, kept_size, totals, obj)
        kept_size[obj] = size
        state[obj] = RESIDENT | STACKED
        push_newest(stack, bottom, obj)
        totals[IN_STACK] += size
        if becomes_lir:
            state[obj] |= LIR
            totals[IN_LIR_SET] += size
            while totals[IN_LIR_SET] > lir_capacity:
                _demote(stack, queues, bottom, state, kept_size, totals)
        else:
            push_newest(queues, bottom, obj)
        _prune(stack, queues, bottom, state, kept_size, totals)
        while totals[IN_STACK] > 2 * capacity and oldest(queues, ghosts) != ghosts:
            _leave_stack(stack, queues, state, kept_size, totals, oldest(queues, ghosts))
    return counts[0], counts[1], counts[2]
