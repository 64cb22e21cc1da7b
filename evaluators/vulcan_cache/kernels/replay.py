"""Kernel that replays a program's decisions on a trace, and checks each.

Hits, misses and what is in the cache are known here alone; a decision that cannot be carried out ends the run.
"""

import numpy as np

from vulcan.kernel_support import I1, RI1, allocating_kernel, types
from vulcan_cache.kernels.common import ADMITTED, HALF_WORDS, OBJECTS, OUTCOME_BITS, REFUSED, SIZES

ABSENT = -1

# How `replay` ends: it went through; a decision was due beyond the answers; or one could not be carried out
FINISHED, DUE, NOT_THERE = range(3)

# Places in the state: int64. TAKEN is how many of the answers were used
POSITION, END, USED, MISSES, MISSED_BYTES, BYPASSED, DIGEST, TAKEN, STATE = range(9)

_PRIME = 1099511628211  # of the hash FNV-1a
_I64 = types.int64


@allocating_kernel(types.void(OBJECTS, SIZES, _I64, _I64, _I64, _I64, I1, I1, RI1, HALF_WORDS))
def replay(objects, sizes, stop, capacity, measure_from, admits, resident_size, state, answers, history):
    """Go on to request `stop`, taking the answers as decisions are due.

    With `admits`, admission is decided too. `resident_size` is per object, ABSENT where it is not in the cache.
    `history` is empty, or zeros of shape (requests + objects,): the outcome of each request and the departure of its
    object, as in `kernels.common`, then the last request of each resident.
    """
    keeps, last = history.shape[0] > 0, objects.shape[0]
    position, used, taken, end = state[POSITION], state[USED], 0, FINISHED
    while position < stop:
        obj, size = np.int64(objects[position]), np.int64(sizes[position])
        if resident_size[obj] != ABSENT:
            if keeps:
                history[last + obj] = position
            position += 1
            continue
        if position >= measure_from:
            state[MISSES] += 1
            state[MISSED_BYTES] += size
        if keeps:
            history[position] = REFUSED
        admitted = size <= capacity
        if admitted and admits:
            if taken == answers.size:
                end = DUE
                break
            admitted = answers[taken] != 0
            taken += 1
            state[DIGEST] = (state[DIGEST] ^ admitted) * _PRIME
        if not admitted:
            state[BYPASSED] += position >= measure_from
            position += 1
            continue
        while used + size > capacity and end == FINISHED:
            victim = answers[taken] if taken < answers.size else 0
            if taken == answers.size:
                end = DUE
            elif victim < 0 or victim >= resident_size.size or resident_size[victim] == ABSENT:
                end = NOT_THERE
            else:
                taken += 1
                used -= resident_size[victim]
                resident_size[victim] = ABSENT
                if keeps:
                    history[history[last + victim]] |= np.uint32(position << OUTCOME_BITS)
                state[DIGEST] = (state[DIGEST] ^ (victim + 2)) * _PRIME
        if end != FINISHED:
            break
        resident_size[obj] = size
        used += size
        if keeps:
            history[position] = ADMITTED
            history[last + obj] = position
        position += 1
    state[POSITION], state[USED], state[TAKEN], state[END] = position, used, taken, end
