"""STREAM's triad (McCalpin, 1995): a = b + scalar * c over arrays much larger than any cache, again and again."""

from vulcan.kernel_support import lazy_kernel
from vulcan_traces.memory.kernels.recorder import is_full, touch, touch_all

ELEMENT = 8


@lazy_kernel
def run_stream(recorder, a, b, c, scalar):
    """Return the arrays of float64 lie behind one another. Returns how many whole passes were made."""
    length = a.shape[0]
    at_b, at_c = length * ELEMENT, 2 * length * ELEMENT
    touch_all(recorder, 0, 3 * length * ELEMENT, True)
    passes = 0
    while True:
        for i in range(length):
            touch(recorder, at_b + i * ELEMENT, False)
            touch(recorder, at_c + i * ELEMENT, False)
            touch(recorder, i * ELEMENT, True)
            a[i] = b[i] + scalar * c[i]
        if is_full(recorder):
            return passes
        passes += 1
