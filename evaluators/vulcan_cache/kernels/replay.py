"""Kernel that replays a program's decisions on a trace, one at a time, and checks each.

It goes over the trace as far as the next decision that is due and writes down, as rows, what the policy is to be
told on the way: every row but the last has happened already, so that whoever decides has been told of no later request.
Hits, misses and what is in the cache are known here alone; a decision that cannot be carried out ends the run.
"""

import numpy as np

from vulcan.kernel_support import allocating_kernel, types
from vulcan_cache.kernels.common import ADMITTED, HALF_WORDS, OBJECTS, OUTCOME_BITS, REFUSED, SIZES

ABSENT = -1

# What a row tells, or asks for. A row is the kind, the object, its size and the number of the request
ON_HIT, ON_MISS, EVICT, ADMIT = range(4)
ROW = 4

# What is due when `advance` returns: more rows, a decision, nothing any more; or a decision could not be carried out
GO_ON, WANTS_ADMISSION, WANTS_VICTIM, FINISHED, NOT_THERE = range(5)

# Places in the state: int64. TAKEN is how many of the answers were used
POSITION, DUE, USED, RESIDENTS, MISSES, MISSED_BYTES, BYPASSED, DIGEST, TAKEN, STATE = range(10)

_ROWS = types.Array(types.int64, 2, "C")
_NUMBERS = types.Array(types.int64, 1, "C")
_ANSWERS = types.Array(types.int64, 1, "C", readonly=True)
_PRIME = 1099511628211  # of the hash FNV-1a
_I64 = types.int64


@allocating_kernel(_I64(OBJECTS, SIZES, _I64, _I64, _I64, _I64, _NUMBERS, _NUMBERS, _ROWS, _ANSWERS, HALF_WORDS))
def advance(objects, sizes, stop, capacity, measure_from, hooks, resident_size, state, rows, answers, history):
    """Go on to request `stop`, taking the answers as decisions are due, or to the first decision beyond the answers.

    Returns how many rows are filled, a decision that is due being the last. `hooks` is the sum of `1 << kind` of the
    kinds of rows that are wanted; with that of ADMIT admission is decided too. `resident_size` is per object, ABSENT
    where it is not in the cache. `history` is empty, or zeros of shape (requests + objects,): the outcome of each
    request and the departure of its object, as in `kernels.common`, then the last request of each resident.
    """
    keeps, last = history.shape[0] > 0, objects.shape[0]
    position, due, used = state[POSITION], state[DUE], state[USED]
    filled = taken = 0
    while position < stop:
        obj, size = np.int64(objects[position]), np.int64(sizes[position])
        if due == GO_ON:
            if filled == rows.shape[0]:
                break
            if resident_size[obj] != ABSENT:
                if keeps:
                    history[last + obj] = position
                if hooks & (1 << ON_HIT):
                    rows[filled, 0], rows[filled, 1], rows[filled, 2], rows[filled, 3] = ON_HIT, obj, size, position
                    filled += 1
                position += 1
                continue
            if position >= measure_from:
                state[MISSES] += 1
                state[MISSED_BYTES] += size
            if keeps:
                history[position] = REFUSED
            if size > capacity:
                state[BYPASSED] += position >= measure_from
                position += 1
                continue
            due = WANTS_ADMISSION if hooks & (1 << ADMIT) else WANTS_VICTIM
        if due == WANTS_ADMISSION:
            if taken == answers.size:
                rows[filled, 0], rows[filled, 1], rows[filled, 2], rows[filled, 3] = ADMIT, obj, size, position
                filled += 1
                break
            taken += 1
            state[DIGEST] = (state[DIGEST] ^ (answers[taken - 1] != 0)) * _PRIME
            if answers[taken - 1] == 0:
                state[BYPASSED] += position >= measure_from
                position += 1
                due = GO_ON
                continue
            due = WANTS_VICTIM
        while used + size > capacity and taken < answers.size:
            victim = answers[taken]
            if victim < 0 or victim >= resident_size.size or resident_size[victim] == ABSENT:
                due = NOT_THERE
                break
            taken += 1
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
            if keeps:
                history[history[last + victim]] |= np.uint32(position << OUTCOME_BITS)
            state[RESIDENTS] -= 1
            state[DIGEST] = (state[DIGEST] ^ (victim + 2)) * _PRIME
        if due == NOT_THERE:
            break
        if used + size > capacity:
            rows[filled, 0], rows[filled, 1], rows[filled, 2], rows[filled, 3] = EVICT, obj, size, position
            filled += 1
            break
        resident_size[obj] = size
        used += size
        if keeps:
            history[position] = ADMITTED
            history[last + obj] = position
        state[RESIDENTS] += 1
        if hooks & (1 << ON_MISS):
            rows[filled, 0], rows[filled, 1], rows[filled, 2], rows[filled, 3] = ON_MISS, obj, size, position
            filled += 1
        position += 1
        due = GO_ON
    state[POSITION], state[USED], state[TAKEN] = position, used, taken
    state[DUE] = FINISHED if position == stop and due == GO_ON else due
    return filled
