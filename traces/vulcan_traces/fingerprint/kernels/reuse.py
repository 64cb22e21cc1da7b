"""Reuse distances of a trace; compiled, so import it late."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import allocating_kernel, types


@allocating_kernel(types.int64(types.Array(types.uint32, 1, "C", readonly=True), types.int64, types.uint32[::1]))
def reuse_distances(objects, object_count, distances):
    """Write the reuse distance of each request but the first of an object to `distances`; returns how many there are.

    Mattson et al., Evaluation Techniques for Storage Hierarchies, IBM Systems Journal 1970.

    `objects` are dense ids, of shape (requests,). The distance counts the other objects since the object's request
    before. A Fenwick tree has a one at the newest request of each object so far.
    """
    n = len(objects)
    tree = np.zeros(n + 1, np.int32)
    newest = np.zeros(object_count, np.int64)
    seen = 0
    for i in range(1, n + 1):
        obj = objects[i - 1]
        before = newest[obj]
        if before:
            up_to_it, place = 0, before
            while place:
                up_to_it += tree[place]
                place &= place - 1
            distances[i - 1 - seen] = seen - up_to_it
            place = before
            while place <= n:
                tree[place] -= 1
                place += place & -place
        else:
            seen += 1
        place = i
        while place <= n:
            tree[place] += 1
            place += place & -place
        newest[obj] = i
    return n - seen
