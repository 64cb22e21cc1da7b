"""Random numbers inside kernels: the minimal standard generator, whose state is exact in a float64.

Park and Miller, "Random number generators: good ones are hard to find", CACM 31(10), 1988, with the multiplier 48271
that they recommend since 1993.
"""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import function

MODULUS = 2147483647


def generator_state(seed: int, stream: int = 0) -> float:
    """Return a generator's initial state: splitmix64 of seed and stream, from 1 to MODULUS - 1."""
    mask = (1 << 64) - 1
    z = (seed * 0x9E3779B97F4A7C15 + (stream + 1) * 0xD1B54A32D192ED03) & mask
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    return float((z ^ (z >> 31)) % (MODULUS - 1) + 1)


@function
def uniform(row, slot):
    """Return the next number in [0, 1) of the generator whose state is row[slot]."""
    row[slot] = (row[slot] * 48271.0) % 2147483647.0
    return (row[slot] - 1.0) / 2147483646.0


@function
def below(row, slot, bound):
    """Return the next whole number in [0, bound), as a float."""
    return float(int(uniform(row, slot) * bound))


@function
def noise(seed, step):
    """Return a number in [0, 1) that depends on the seed and this step alone: splitmix64's mixing of the two."""
    z = np.uint64(seed) + np.uint64(step) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0
