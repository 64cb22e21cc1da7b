"""Kernel that attributes every request of a simulation to a cause and to classes of what its object was.

It reads the history that a simulation records (`kernels.common`) beside the misses of others: an oracle, which knows
the future, a baseline, and the policy's parent. Requests before `measure_from` advance the state of objects and are not
counted.
"""

import numpy as np

from vulcan.anvil.native.runtime import bits_of
from vulcan.kernel_support import allocating_kernel, helper, types
from vulcan_cache.kernels.common import ADMITTED, HALF_WORDS, HIT, OBJECTS, OUTCOME_BITS, REFUSED, SIZES, U
from vulcan_cache.kernels.intrinsics import prefetch

FIRST, TOO_LARGE, ORACLE_TOO, REFUSED_BEFORE, LEFT_BEFORE, CAUSES = range(6)
"""Causes of a miss: the object's first request; it is larger than the cache; the oracle misses too; the oracle hits,
and the object had been refused, or had left. The latter two are the regret."""

SIZE, SO_FAR, IDLE, DIMENSIONS = range(4)
"""By the object's size over the mean, its requests before this one, and the requests since its last one over the number
of objects that fit."""

CLASSES, STRETCHES = 8, 32
"""Classes of a dimension, and equal stretches of the measured requests."""

MISSED, SAVED, BASELINE, PARENT, CODES = 1, 2, 4, 8, 16
"""Bits of a request's code: the policy misses; the oracle hits; the baseline misses; the policy's parent misses."""

FROM_ORACLE, FROM_BASELINE, FROM_PARENT = 1, 2, 4
"""Bits of `others`: who misses a request."""

EVICTIONS, EVICTED_FOR_GOOD, EVICTED_EARLY, NEVER_HIT, REFUSALS, REFUSED_WRONGLY, FACTS = range(7)
"""EVICTED_EARLY are followed by a miss where the oracle hits; NEVER_HIT left without a hit since they entered."""

NEXT_HIT, AT_END, AFTER_HITS, UNHIT, USES = range(5)
"""What bytes were held for: until a hit; until the end; until an eviction, by objects hit since they entered; and by
objects that were not."""

ORACLE_USE, BASELINE_USE, PARENT_USE, OTHERS = range(4)
"""Bytes times requests that others hold until a hit."""

LAST, SEEN, HITS, FIELDS = 0, 1, 2, 4
_AHEAD, _NEAR = U(24), U(8)
_MANY = 33
_U8 = types.Array(types.uint8, 1, "C")
_I64_1, _I64_2, _I64_3 = (types.Array(types.int64, n, "C") for n in (1, 2, 3))
_F64_1 = types.Array(types.float64, 1, "C")
_SO_FAR = np.array([0, 1, 2, 3, 3] + [4] * 4 + [5] * 8 + [6] * 16 + [7], np.int64)
"""The class of an object by its requests so far, up to `_MANY`."""


@helper
def _doublings(value, low):
    """Return how many of `low` and its first five doublings are exceeded, without a branch, which would be guessed.

    The bits of positive floats are in their order, and a doubling adds 1 to the exponent, above the 52 bits.
    """
    above = bits_of(value) - bits_of(low)
    return min(max((above - 1) >> 52, -1), 5) + 1


@allocating_kernel(
    types.int64(
        OBJECTS,
        SIZES,
        HALF_WORDS,
        _U8,
        types.int64,
        types.float64,
        types.float64,
        types.int64,
        HALF_WORDS,
        _I64_1,
        _I64_3,
        _I64_2,
        _I64_1,
        _F64_1,
        _F64_1,
        types.Array(types.float32, 1, "C"),
    )
)
def attribute(
    objects, sizes, history, others, capacity, mean_size, held_objects, measure_from, records, causes, classes, along,
    facts, holders, used, stays,
):  # fmt: skip
    """Fill in `causes`, `classes` (dimension, class, code), `along` (stretch, code), `facts`, `holders` and `used`.

    `records` is zeros, FIELDS words an object. `holders` is bytes times requests, by use. Returns the number of
    `stays`: of each miss of the regret whose object had been hit before it left, how many times as long it would have
    had to stay.

    What was held is counted as it ends, at the object's next request or after the last one.
    """
    end = objects.shape[0]
    per_stretch = max(1.0, (end - measure_from) / CLASSES) / (STRETCHES // CLASSES)
    smallest, shortest = mean_size / 8.0, held_objects / 4.0
    spaces = np.zeros(CODES)  # bytes times requests since the object's last request
    count = stretch = 0
    for r in range(end):
        if U(r) + _AHEAD < U(end):
            prefetch(records, U(objects[U(r) + _AHEAD]) * U(FIELDS))
        if U(r) + _NEAR < U(end):
            prefetch(history, U(records[U(objects[U(r) + _NEAR]) * U(FIELDS) + U(LAST)]))
        at = U(objects[r]) * U(FIELDS)
        size = float(sizes[r])
        outcome = history[r] & np.uint32((1 << OUTCOME_BITS) - 1)
        seen = np.int64(records[at + U(SEEN)])
        last = np.int64(records[at + U(LAST)])
        hits = records[at + U(HITS)]
        beside = others[r]
        missed, saved, is_first = outcome != HIT, (beside & FROM_ORACLE) == 0, seen == 0
        code = U(
            np.int64(missed) * MISSED
            + np.int64(saved) * SAVED
            + np.int64((beside & FROM_BASELINE) != 0) * BASELINE
            + np.int64((beside & FROM_PARENT) != 0) * PARENT
        )
        so_far = U(_SO_FAR[U(min(seen, _MANY))])
        spaces[code] += 0.0 if is_first else size * (r - last)
        if missed:
            cause = FIRST
            if not is_first:
                cause = TOO_LARGE if size > capacity else LEFT_BEFORE if saved else ORACLE_TOO
                left = np.int64(history[U(last)] >> np.uint32(OUTCOME_BITS))
                if left > 0:
                    holders[UNHIT if hits == 0 else AFTER_HITS] += size * (left - last)
                    is_measured = left >= measure_from
                    facts[EVICTIONS] += is_measured
                    facts[EVICTED_EARLY] += is_measured & saved
                    facts[NEVER_HIT] += is_measured & (hits == 0)
                    stays[count] = (r - last) / (left - last)
                    count += (cause == LEFT_BEFORE) & (hits > 0) & (r >= measure_from)
                elif cause == LEFT_BEFORE:
                    cause = REFUSED_BEFORE
                    facts[REFUSED_WRONGLY] += last >= measure_from
            if r >= measure_from:
                causes[cause] += 1
                facts[REFUSALS] += outcome == REFUSED
            hits = np.uint32(0) if outcome == ADMITTED else hits
        else:
            hits += np.uint32(1)
        if r >= measure_from:
            while r - measure_from >= (stretch + 1) * per_stretch:
                stretch += 1
            classes[SIZE, U(_doublings(size, smallest) + np.int64(size > 64.0 * smallest)), code] += 1
            classes[SO_FAR, so_far, code] += 1
            idle = np.int64(not is_first) * (1 + _doublings(float(r - last), shortest))
            classes[IDLE, U(idle), code] += 1
            along[U(stretch), code] += 1
        records[at + U(LAST)] = np.uint32(r)
        records[at + U(SEEN)] = np.uint32(seen + 1)
        records[at + U(HITS)] = hits
    for code in range(CODES):
        space = spaces[code]
        holders[NEXT_HIT] += 0.0 if code & MISSED else space
        used[ORACLE_USE] += space if code & SAVED else 0.0
        used[BASELINE_USE] += 0.0 if code & BASELINE else space
        used[PARENT_USE] += 0.0 if code & PARENT else space
    for at in range(0, records.shape[0], FIELDS):
        seen, last, hits = np.int64(records[at + SEEN]), np.int64(records[at + LAST]), records[at + HITS]
        if seen == 0:
            continue
        size = float(sizes[last])
        left = np.int64(history[last] >> np.uint32(OUTCOME_BITS))
        if left > 0:
            holders[UNHIT if hits == 0 else AFTER_HITS] += size * (left - last)
            if left >= measure_from:
                facts[EVICTIONS] += 1
                facts[EVICTED_FOR_GOOD] += 1
                facts[NEVER_HIT] += hits == 0
        elif history[last] & np.uint32((1 << OUTCOME_BITS) - 1) != REFUSED:
            holders[AT_END] += size * (end - last)
    return count
