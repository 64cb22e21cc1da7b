"""Sampling of accesses, as the processor's event-based sampling (PEBS) does it."""

import numpy as np

from vulcan.kernel_support import function, kernel, types

_U = np.uint64
_COUNTS = types.Array(types.uint32, 2, "C", readonly=True)
_SAMPLES = types.Array(types.uint32, 2, "C")

MANY = 4096
"""Accesses of a page in an interval from which on they are drawn 64 at a time."""

WORD = 64
_MULTIPLIER = _U(0x2545F4914F6CDD1D)  # of xorshift64* (Vigna, 2016): words that follow one another are alike without it


@function
def _count_ones(word):
    """Count the bits of a word that are set (Warren, Hacker's Delight, 5-1)."""
    word = word - ((word >> _U(1)) & _U(0x5555555555555555))
    word = (word & _U(0x3333333333333333)) + ((word >> _U(2)) & _U(0x3333333333333333))
    word = (word + (word >> _U(4))) & _U(0x0F0F0F0F0F0F0F0F)
    return (word * _U(0x0101010101010101)) >> _U(56)


@function
def _sample_many(count, period, state):
    """Return how many of `count` accesses are sampled, and the generator's state.

    An access is sampled where a random number of 32 bits is below 2^32 / period. Those of 64 accesses are drawn
    together from the leading bit on, one word for a bit of each, until all are seen to be above or below.
    """
    below = ((_U(1) << _U(32)) + period - _U(1)) // period
    found = _U(0)
    for first in range(0, count, WORD):
        left = count - first
        open_ = ~_U(0) if left >= WORD else (_U(1) << _U(left)) - _U(1)
        taken = _U(0)
        bit = 32
        while open_ != _U(0) and bit > 0:
            bit -= 1
            state ^= state << _U(13)
            state ^= state >> _U(7)
            state ^= state << _U(17)
            word = state * _MULTIPLIER
            word ^= word >> _U(32)
            if (below >> _U(bit)) & _U(1):
                taken |= open_ & ~word
                open_ &= word
            else:
                open_ &= ~word
        found += _count_ones(taken)
    return np.uint32(found), state


@kernel(types.uint64(_COUNTS, types.uint64, types.uint64, _SAMPLES))
def sample(counts, period, state, samples):
    """Sample each access with probability 1 / period, independently, and store the counts in `samples`.

    The generator is xorshift64, started at `state`, which must not be 0; returns its state at the end.
    """
    for i in range(counts.shape[0]):
        for page in range(counts.shape[1]):
            found = np.uint32(0)
            if counts[i, page] >= MANY:
                samples[i, page], state = _sample_many(np.int64(counts[i, page]), period, state)
                continue
            for _ in range(counts[i, page]):
                state ^= state << _U(13)
                state ^= state >> _U(7)
                state ^= state << _U(17)
                found += np.uint32(((state >> _U(32)) * period) >> _U(32) == _U(0))
            samples[i, page] = found
    return state
