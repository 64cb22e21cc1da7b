"""Kernel that attributes every request of a simulation to a cause and to classes of what its object was.

It reads the history that a simulation records (`kernels.common`) beside the misses of an oracle, which knows the
future, and of a baseline. Requests before `measure_from` advance the state of objects and are not counted.
"""

import numpy as np

from vulcan.kernel_support import allocating_kernel, helper, types
from vulcan_cache.kernels.common import ADMITTED, COLUMN_U32, HALF_WORDS, HIT, OUTCOME_BITS, REFUSED, U
from vulcan_cache.kernels.intrinsics import prefetch

FIRST, TOO_LARGE, ORACLE_TOO, REFUSED_BEFORE, LEFT_BEFORE, CAUSES = range(6)
"""Causes of a miss: the object's first request; it is larger than the cache; the oracle misses too; the oracle hits,
and the object had been refused, or had left. The latter two are the regret."""

SIZE, SO_FAR, IDLE, PHASE, DIMENSIONS = range(5)
"""By the object's size over the mean, its requests before this one, the requests since its last one over the number of
objects that fit, and the part of the trace."""

REQUESTS, MISSES, REGRET, LOST, WON, COUNTS = range(6)
"""What is counted in each class: LOST are misses where the baseline hits, WON hits where it misses."""

CLASSES = 8

(
    EVICTIONS, EVICTED_FOR_GOOD, EVICTED_EARLY, INSERTIONS, NEVER_HIT, REFUSALS, REFUSED_WRONGLY, ORACLE_MISSES,
    BASELINE_MISSES, FACTS,
) = range(10)  # fmt: skip
"""EVICTED_EARLY are followed by a miss where the oracle hits; NEVER_HIT left without a hit since they entered."""

HELD, HELD_IDLE, HELD_UNHIT, SPACES = range(4)
"""Bytes times requests held by all residents; by those that leave before another hit, since their last request; and the
part of the latter of objects never hit since they entered."""

LAST, SEEN, HITS, FIELDS = 0, 1, 2, 4
_AHEAD = U(16)
_U8 = types.Array(types.uint8, 1, "C")
_I64_1, _I64_3 = types.Array(types.int64, 1, "C"), types.Array(types.int64, 3, "C")


@helper
def _octave(ratio, low):
    """Return 0 up to `low`, and one more for each doubling; at most the last class."""
    number = 0
    while ratio > low and number < CLASSES - 1:
        low *= 2.0
        number += 1
    return number


@allocating_kernel(
    types.void(
        COLUMN_U32,
        COLUMN_U32,
        types.Array(types.int64, 1, "C", readonly=True),
        HALF_WORDS,
        _U8,
        _U8,
        types.int64,
        types.float64,
        types.float64,
        types.int64,
        HALF_WORDS,
        _I64_1,
        _I64_3,
        _I64_1,
        types.Array(types.float64, 1, "C"),
    )
)
def attribute(
    objects,
    sizes,
    following,
    history,
    oracle_missed,
    baseline_missed,
    capacity,
    mean_size,
    held_objects,
    measure_from,
    records,
    causes,
    classes,
    facts,
    spaces,
):
    """Fill in `causes`, `classes` (dimension, class, count), `facts` and `spaces`.

    `records` is zeros, FIELDS words an object.
    """
    end = objects.shape[0]
    per_phase = max(1.0, (end - measure_from) / CLASSES)
    held = held_idle = held_unhit = 0.0
    for r in range(end):
        if U(r) + _AHEAD < U(end):
            prefetch(records, U(objects[U(r) + _AHEAD]) * U(FIELDS))
        at = U(objects[r]) * U(FIELDS)
        size = float(sizes[r])
        outcome = history[r] & np.uint32((1 << OUTCOME_BITS) - 1)
        left = np.int64(history[r] >> np.uint32(OUTCOME_BITS))
        counted = r >= measure_from
        seen = np.int64(records[at + U(SEEN)])
        last = np.int64(records[at + U(LAST)])
        if outcome == HIT:
            records[at + U(HITS)] += np.uint32(1)
        elif outcome == ADMITTED:
            records[at + U(HITS)] = np.uint32(0)
        if counted:
            by_oracle, by_baseline = oracle_missed[r] != 0, baseline_missed[r] != 0
            facts[ORACLE_MISSES] += by_oracle
            facts[BASELINE_MISSES] += by_baseline
            regret = False
            if outcome != HIT:
                facts[INSERTIONS] += outcome == ADMITTED
                facts[REFUSALS] += outcome == REFUSED
                if seen == 0:
                    cause = FIRST
                elif size > capacity:
                    cause = TOO_LARGE
                elif by_oracle:
                    cause = ORACLE_TOO
                else:
                    regret = True
                    cause = LEFT_BEFORE if history[last] >> np.uint32(OUTCOME_BITS) else REFUSED_BEFORE
                causes[cause] += 1
            idle = 0
            so_far = 0
            if seen > 0:
                idle = 1 + min(_octave((r - last) / held_objects, 0.25), CLASSES - 2)
                so_far = 1 + min(_octave(float(seen), 1.0), CLASSES - 2)
            where = (
                min(_octave(size / mean_size, 0.125), CLASSES - 1),
                so_far,
                idle,
                min(int((r - measure_from) / per_phase), CLASSES - 1),
            )
            for dimension in range(DIMENSIONS):
                chosen = where[dimension]
                classes[dimension, chosen, REQUESTS] += 1
                if outcome != HIT:
                    classes[dimension, chosen, MISSES] += 1
                    classes[dimension, chosen, REGRET] += regret
                    classes[dimension, chosen, LOST] += not by_baseline
                elif by_baseline:
                    classes[dimension, chosen, WON] += 1
        upcoming = following[r]
        comes = 0 <= upcoming < end
        if left > 0:
            held += size * (left - r)
            held_idle += size * (left - r)
            if left >= measure_from:
                facts[EVICTIONS] += 1
                facts[EVICTED_FOR_GOOD] += not comes
                facts[EVICTED_EARLY] += comes and oracle_missed[upcoming] == 0
                facts[NEVER_HIT] += records[at + U(HITS)] == 0
            if records[at + U(HITS)] == 0:
                held_unhit += size * (left - r)
        elif outcome != REFUSED:
            held += size * ((upcoming if comes else end) - r)
        elif counted and comes and oracle_missed[upcoming] == 0 and size <= capacity:
            facts[REFUSED_WRONGLY] += 1
        records[at + U(LAST)] = np.uint32(r)
        records[at + U(SEEN)] = np.uint32(seen + 1)
    spaces[HELD], spaces[HELD_IDLE], spaces[HELD_UNHIT] = held, held_idle, held_unhit
