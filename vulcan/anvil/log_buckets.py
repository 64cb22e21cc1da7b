"""Log-linear buckets: the resolution of population percentiles.

A value keeps `resolution` bits after its leading one and is truncated towards zero: at most 2**-resolution of it
is lost, and integers below 2**(resolution + 1) are exact. Magnitudes below 2**-20 count as 0.
"""

from __future__ import annotations

import struct

MIN_EXPONENT = -20


def bucket_of(value: float, resolution: int) -> int:
    """Return the log-linear bucket of a value: 0 for values that count as 0, negative for negative values."""
    magnitude = abs(value)
    if magnitude < 2.0**MIN_EXPONENT:
        return 0
    (bits,) = struct.unpack("<q", struct.pack("<d", magnitude))
    bucket = int(bits >> (52 - resolution)) - first_bucket(resolution)
    return bucket if value > 0.0 else -bucket


def first_bucket(resolution: int) -> int:
    """Return the offset that turns a bucket's number into the leading bits of its float64."""
    return ((MIN_EXPONENT + 1023) << resolution) - 1
