"""The bucket of a number, for kernels: see `vulcan_traces.fingerprint.log_histogram`."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_traces.fingerprint.kernels.intrinsics import highest_bit
from vulcan_traces.fingerprint.log_histogram import STEP_BITS, STEPS

_STEPS = np.uint64(STEPS)
_STEP_BITS = np.uint64(STEP_BITS)
_MASK = np.uint64(STEPS - 1)
_ONE = np.uint64(1)


@allocating_helper
def bucket_of(number):
    """The bucket, uint64, of a uint64."""
    if number < _STEPS:
        return number
    shift = highest_bit(number) - _STEP_BITS
    return ((shift + _ONE) << _STEP_BITS) + ((number >> shift) & _MASK)
