"""Random numbers as a function of how many have been drawn: SplitMix64 (Steele, Lea, Flood, 2014)."""

import numpy as np

from vulcan.kernel_support import allocating_helper


@allocating_helper
def random_bits(draw):
    """Return the 64 random bits of draw number `draw`."""
    bits = (np.uint64(draw) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@allocating_helper
def random_below(draw, bound):
    """Return a random integer in [0, bound), `bound` being at most 2**32."""
    return np.int64(((random_bits(draw) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@allocating_helper
def random_share(draw):
    """Return a random number in [0, 1) with 53 bits."""
    return np.float64(random_bits(draw) >> np.uint64(11)) * 2.0**-53
