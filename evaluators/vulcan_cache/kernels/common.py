"""Signatures and helpers shared by the kernels of all mechanisms.

What makes them fast: objects are dense ids, so that there is no hash table; an object's record is one cache line,
fetched a dozen requests ahead; indices are unsigned, for numba wraps signed ones; the policy is called by its address.

They start with an empty cache at request 0 and count from `measure_from`. Records come zeroed, statistics as the policy
wants them at first.

On a spatial sample of a trace each object weighs as much as the `weight` objects it stands for, and `times` has the
number that each request has in the trace. Whole numbers of this size are exact in float64, so that a full run, which
weighs 1 and has no times, is the same in every bit as without them.

Besides the counts (misses, missed bytes, bypassed), a kernel gives a hash of the sequence of objects that left or were
not admitted.
"""

import numpy as np

from vulcan.anvil.native.policy_calls import call_event
from vulcan.kernel_support import B1, F1, RF1, RI1, allocating_helper, allocating_kernel, helper, kernel, types
from vulcan_cache.kernels.intrinsics import prefetch

U = np.uint64
AHEAD = U(16)
A_LINE = U(8)  # float64 slots of a cache line

WORDS = types.Array(types.uint64, 1, "C")
HALF_WORDS = types.Array(types.uint32, 1, "C")
ADDRESS = types.int64
"""Of a function of the policy; 0 where there is none, or nothing to call it for."""

OBJECTS, SIZES = types.Array(types.uint32, 1, "C", readonly=True), RI1
"""Columns of a trace."""

_COUNTS = types.Tuple((types.int64, types.int64, types.int64, types.uint64))
_RUN = (
    OBJECTS,
    SIZES,
    RF1,  # times; empty where the time is the request's index
    types.float64,  # weight
    F1,  # globals
    F1,  # records
    F1,  # statistics
    types.uint64,  # statistics an object
    types.int64,  # capacity, bytes
    types.int64,  # measure from
    HALF_WORDS,  # history: empty, or of shape (requests,) and zeroed (`note_miss`, `note_eviction`)
)

HIT, ADMITTED, REFUSED = 0, 1, 2
"""Outcomes of a request in a history: refused objects are those larger than the cache too."""

OUTCOME_BITS = 2
"""Low bits of a history that hold the outcome of a request; the others hold the request at which the object left."""


def policy_kernel(addresses, *own):
    """Compile a kernel of that many policy addresses, the arguments that all kernels have, and arguments of its own."""
    return kernel(_COUNTS(types.UniTuple(ADDRESS, addresses), *_RUN, *own))


baseline_kernel = allocating_kernel(
    types.UniTuple(types.int64, 3)(
        OBJECTS,
        SIZES,
        RI1,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        B1,
    )
)
"""Decorator of a baseline's `simulate`."""


@helper
def with_one_more(evicted, victim):
    """Return the hash of the sequence with one more: Knuth's multiplier for 64 bits (TAOCP 2, 3.3.4)."""
    return evicted * U(6364136223846793005) + victim + U(1)


@helper
def note_miss(history, request, is_admitted):
    """Record a miss in the history, if one is kept."""
    if request < U(history.shape[0]):
        history[request] = np.uint32(ADMITTED) if is_admitted else np.uint32(REFUSED)


@helper
def note_eviction(history, last_access, request):
    """Record at an object's last request that it left at a later one; means nothing where times are no indices."""
    if U(np.int64(last_access)) < U(history.shape[0]):
        history[U(np.int64(last_access))] |= np.uint32(request << U(OUTCOME_BITS))


@allocating_helper
def miss(counts, missed, request, size, largest, measure_from):
    """Count a baseline's miss: misses, their bytes, and those of objects that are too large. Returns whether it fits.

    `missed` is empty, or of shape (requests,).
    """
    if request < missed.shape[0]:
        missed[request] = 1
    if request >= measure_from:
        counts[0] += 1
        counts[1] += size
        counts[2] += size > largest
    return size <= largest


@helper
def time_of(times, request):
    return times[request] if times.shape[0] else float(np.int64(request))


@helper
def fetch(statistics, row, width):
    """Ask for the first cache line of an object's statistics, and the line it may continue in."""
    if width > U(0):
        prefetch(statistics, row)
        prefetch(statistics, row + min(width, A_LINE) - U(1))


@helper
def tell(handler, globals_, records, statistics, width, key):
    """Call the policy's handler of an event of the object, or `release`, if there is one."""
    if handler != 0:
        call_event(handler, globals_, records, key << U(3), statistics, key * width, float(np.int64(key)))


@helper
def fetch_object(records, statistics, width, key):
    prefetch(records, key << U(3))
    fetch(statistics, key * width, width)
