"""Kernel that looks up what was requested of each request's object before it."""

import numpy as np

from vulcan.kernel_support import B1, allocating_kernel, types
from vulcan_cache.kernels.common import OBJECTS

MANY = 33
"""Earlier requests from which on they are not told apart."""


@allocating_kernel(types.void(OBJECTS, types.int64, types.Array(types.int32, 1, "C"), B1))
def look_back(objects, object_count, before, seen):
    """Set, of each request, the object's one before it, -1 for none, and how many there were, up to `MANY`."""
    last, count = np.full(object_count, -1, np.int32), np.zeros(object_count, np.uint8)
    for request in range(objects.shape[0]):
        obj = objects[request]
        before[request], seen[request] = last[obj], count[obj]
        last[obj] = request
        count[obj] = min(count[obj] + 1, MANY)
