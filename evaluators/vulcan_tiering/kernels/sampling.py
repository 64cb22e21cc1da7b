"""Sampling of accesses, as the processor's event-based sampling (PEBS) does it."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import kernel, types

_U = np.uint64
_COUNTS = types.Array(types.uint32, 2, "C", readonly=True)
_SAMPLES = types.Array(types.uint32, 2, "C")


@kernel(types.uint64(_COUNTS, types.uint64, types.uint64, _SAMPLES))
def sample(counts, period, state, samples):
    """Sample each access with probability 1 / period, independently, and store the counts in `samples`.

    The generator is xorshift64, started at `state`, which must not be 0; returns its state at the end.
    """
    for i in range(counts.shape[0]):
        for page in range(counts.shape[1]):
            found = np.uint32(0)
            for _ in range(counts[i, page]):
                state ^= state << _U(13)
                state ^= state >> _U(7)
                state ^= state << _U(17)
                found += np.uint32(((state >> _U(32)) * period) >> _U(32) == _U(0))
            samples[i, page] = found
    return state
