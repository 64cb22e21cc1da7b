"""Compiled loops over the objects of a trace: their numbers, and when each comes again. Import it late, as `kernels`.

The signatures stand here, for a part of a file is read-only and one in memory is not: one kernel serves both.
"""

import numpy as np

from vulcan.kernel_support import njit, types
from vulcan_traces.kernels.text import mix

_KEYS = types.Array(types.uint64, 1, "C", readonly=True)
_OBJECTS = types.Array(types.uint32, 1, "C", readonly=True)


@njit(types.void(_OBJECTS, types.int64, types.int64[::1], types.int64[::1]), cache=True)
def link_next_accesses(objects, start, seen_at, following):
    """Make one pass from the end of a block whose first request is number `start`.

    `seen_at` has, of each object, the first request behind the block, -1 for none; blocks come from the last one on.
    """
    for i in range(len(objects) - 1, -1, -1):
        following[i] = seen_at[objects[i]]
        seen_at[objects[i]] = start + i


@njit(types.int64(_KEYS, types.uint32[::1], types.uint64[::1], types.int64, types.uint32[::1]), cache=True)
def number_keys(keys, table, known, count, objects):
    """Number each key as `known` has it, and append to that what it does not have. Returns how many it then has.

    `table`, of a power of two places of which at least one stays empty, has a number and 1 for each known key at the
    first place from its hash on that was free (linear probing).
    """
    mask = np.uint64(len(table) - 1)
    for i in range(len(keys)):
        place = mix(keys[i]) & mask
        while table[place] != 0 and known[table[place] - np.uint32(1)] != keys[i]:
            place = (place + np.uint64(1)) & mask
        if table[place] == 0:
            known[count] = keys[i]
            count += 1
            table[place] = count
        objects[i] = table[place] - np.uint32(1)
    return count


@njit(types.void(types.uint64[::1], types.int64, types.uint32[::1]), cache=True)
def fill_table(known, count, table):
    """Enter the first `count` known keys into an empty table, as `number_keys` has it."""
    mask = np.uint64(len(table) - 1)
    for number in range(count):
        place = mix(known[number]) & mask
        while table[place] != 0:
            place = (place + np.uint64(1)) & mask
        table[place] = number + 1


@njit(types.void(_OBJECTS, types.int64[::1], types.int64[::1]), cache=True)
def fill_sizes(objects, sizes, last):
    """Give each request of size 0 the size of the last one for its object before, which `last` has of those earlier."""
    for i in range(len(objects)):
        if sizes[i] == 0:
            sizes[i] = last[objects[i]]
        else:
            last[objects[i]] = sizes[i]
