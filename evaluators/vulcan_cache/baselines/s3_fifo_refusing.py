"""S3-FIFO that refuses what is larger than the small queue, as libCacheSim has it; with equal sizes it is S3-FIFO."""

import numpy as np

from vulcan_cache.baselines.s3_fifo import replay
from vulcan_cache.kernels.common import baseline_kernel


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    largest = max(np.int64(1), min(capacity, np.int64(np.int64(np.float64(capacity) * 0.1))))
    return replay(objects, sizes, object_count, capacity, measure_from, largest, missed)
