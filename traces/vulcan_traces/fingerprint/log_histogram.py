"""Histograms of whole numbers whose buckets are as wide as a sixteenth of what they hold, as in HdrHistogram.

Numbers below 16 have a bucket each; from there on every octave has 16 buckets. A quantile that is read from such a
histogram is thus within 1/16 of the true one, whatever the range, and the histogram never grows. A histogram is an
array of counts, int64 of shape (BUCKETS,).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

STEPS = 16
"""Buckets an octave."""

STEP_BITS = 4
OCTAVES = 64 - STEP_BITS
BUCKETS = STEPS * (OCTAVES + 1)

Counts = npt.NDArray[np.int64]


def lower_edges() -> npt.NDArray[np.uint64]:
    """Return the smallest number of each bucket; shape (BUCKETS,)."""
    edges = list(range(STEPS)) + [(STEPS + step) << octave for octave in range(OCTAVES) for step in range(STEPS)]
    return np.array(edges, np.uint64)


def middles() -> npt.NDArray[np.float64]:
    """Return the middle of each bucket; shape (BUCKETS,)."""
    return _LOWER.astype(np.float64) + (_WIDTHS - 1) / 2


def buckets_of(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the bucket of each number, all at least 0."""
    return np.searchsorted(_LOWER, numbers.astype(np.uint64), side="right").astype(np.int64) - 1


def quantile(counts: Counts, share: float) -> float | None:
    """Return the middle of the bucket below or in which `share` of the numbers lie; None where there is none.

    Exact below 16, else within 1/32 of the quantile (half a bucket's width).
    """
    through = np.cumsum(counts)
    if not through[-1]:
        return None
    bucket = int(np.searchsorted(through, max(1.0, np.ceil(share * through[-1]))))
    return float(_LOWER[bucket]) + (float(_WIDTHS[bucket]) - 1) / 2


def octaves(counts: Counts) -> list[tuple[int, int, float]]:
    """Return (from, to, share) of each octave that holds a number: [0, 0], [1, 1], [2, 3], [4, 7], ..."""
    in_octave = np.bincount(_BITS, weights=counts)
    return [
        ((1 << exponent) // 2, (1 << exponent) - 1, int(in_octave[exponent]) / int(counts.sum()))
        for exponent in np.flatnonzero(in_octave).tolist()
    ]


_LOWER = lower_edges()
_BITS = np.array([int(edge).bit_length() for edge in _LOWER])
_WIDTHS = np.concatenate([np.ones(STEPS), *(np.full(STEPS, 2.0**octave) for octave in range(OCTAVES))])
