"""W-TinyLFU that refuses what is larger than the window, as libCacheSim has it; with equal sizes it is W-TinyLFU."""

import numpy as np

from vulcan_cache.baselines.w_tinylfu import replay
from vulcan_cache.kernels.common import baseline_kernel


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    largest = max(np.int64(1), min(capacity, np.int64(max(1, capacity // 100))))
    return replay(objects, sizes, object_count, capacity, measure_from, largest, missed)
