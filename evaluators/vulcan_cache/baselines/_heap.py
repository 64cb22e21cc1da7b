"""4-ary min-heap of objects by (key, tie), whose entries can be updated in place.

Entry i is three numbers from `3 * i` on: key, tie and object, all of them floats (exact for integers to 2**53)
so that an entry is one place in memory. `places[object]` is the index of the object's entry.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper, njit

_inlined = njit(nogil=True, error_model="numpy", inline="always")
"""Inlined by numba itself: LLVM leaves a large helper as a call, which counts references of its arrays."""


@allocating_helper
def empty_heap(object_count):
    """Allocate (entries, places) of a heap with room for all objects."""
    return np.empty(3 * object_count, np.float64), np.empty(object_count, np.uint32)


@_inlined
def _put(entries, places, index, key, tie, obj):
    entries[3 * index] = key
    entries[3 * index + 1] = tie
    entries[3 * index + 2] = obj
    places[np.int64(obj)] = index


@_inlined
def _before(entries, index, key, tie):
    """Check whether the entry at the index comes before (key, tie)."""
    there = entries[3 * index]
    return there < key or (there == key and entries[3 * index + 1] < tie)


@_inlined
def _settle(entries, places, size, index, key, tie, obj):
    """Let an entry rise or sink from a free index to where it belongs."""
    start = index
    while index > 0:
        parent = (index - 1) >> 2
        if _before(entries, parent, key, tie):
            break
        _put(entries, places, index, entries[3 * parent], entries[3 * parent + 1], entries[3 * parent + 2])
        index = parent
    if index == start:
        child = 4 * index + 1
        while child < size:
            least = child
            for other in range(child + 1, min(child + 4, size)):
                if _before(entries, other, entries[3 * least], entries[3 * least + 1]):
                    least = other
            if not _before(entries, least, key, tie):
                break
            _put(entries, places, index, entries[3 * least], entries[3 * least + 1], entries[3 * least + 2])
            index = least
            child = 4 * index + 1
    _put(entries, places, index, key, tie, obj)


@_inlined
def insert(entries, places, size, obj, key, tie):
    """Add an object to a heap of `size` entries."""
    _settle(entries, places, size + 1, size, key, np.float64(tie), np.float64(obj))


@_inlined
def change(entries, places, size, obj, key, tie):
    """Give an object of the heap another (key, tie)."""
    _settle(entries, places, size, np.int64(places[obj]), key, np.float64(tie), np.float64(obj))


@_inlined
def remove(entries, places, size, obj):
    """Take an object out of a heap of `size` entries."""
    last = 3 * (size - 1)
    index = np.int64(places[obj])
    if index != size - 1:
        _settle(entries, places, size - 1, index, entries[last], entries[last + 1], entries[last + 2])


@allocating_helper
def top(entries):
    """Return the object with the smallest (key, tie)."""
    return np.int64(entries[2])
