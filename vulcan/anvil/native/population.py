"""Percentiles over all live entities, exact on log-linear buckets, at amortised constant cost.

A population is a block of int64 words: a header, a cursor for each percentile asked of it, two levels of bitmap
over the buckets that are not empty, and the count of each bucket. A cursor knows how many values lie below its
bucket; adding or removing a value moves the bucket that holds the wanted rank by at most one non-empty bucket, which
the bitmaps find in a few steps. The functions here are called by compiled policies through their addresses.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.numba_support import (
    F64,
    I64,
    bits_of,
    float_of,
    kernel,
    leading_zeros,
    trailing_zeros,
    words_at,
)
from vulcan.anvil.state_layout import (
    ANSWER,
    ANSWERED,
    BELOW,
    BUCKET,
    BUCKETS,
    COUNTS_AT,
    CURSOR,
    FIRST_BUCKET,
    HEADER,
    LIVE,
    MIN,
    RESOLUTION,
    TOP_AT,
    UNKNOWN,
    WORDS_AT,
)


@kernel
def _count(words, index, step):  # type: ignore[no-untyped-def]
    """Add a value to the bucket (`step` 1) or take one away (-1), keeping bitmaps and cursors true."""
    at = words[COUNTS_AT] + index
    words[at] += step
    words[LIVE] += step
    leaf = words[WORDS_AT] + (index >> 6)
    top = words[TOP_AT] + (index >> 12)
    if words[at] == 0:
        words[leaf] &= ~(1 << (index & 63))
        if words[leaf] == 0:
            words[top] &= ~(1 << ((index >> 6) & 63))
    elif step == 1 and words[at] == 1:
        words[leaf] |= 1 << (index & 63)
        words[top] |= 1 << ((index >> 6) & 63)
    for cursor in range(HEADER, words[WORDS_AT], CURSOR):
        words[cursor + ANSWERED] = 0
        if index < words[cursor + BUCKET]:
            words[cursor + BELOW] += step


@kernel
def _next(words, index):  # type: ignore[no-untyped-def]
    """The first non-empty bucket above the index; there must be one."""
    i = index + 1
    leaf = i >> 6
    rest = words[words[WORDS_AT] + leaf] & (-1 << (i & 63)) if i < words[BUCKETS] else 0
    if rest != 0:
        return (leaf << 6) + trailing_zeros(rest)
    leaf += 1
    top = leaf >> 6
    rest = words[words[TOP_AT] + top] & (-1 << (leaf & 63))
    while rest == 0:
        top += 1
        rest = words[words[TOP_AT] + top]
    leaf = (top << 6) + trailing_zeros(rest)
    return (leaf << 6) + trailing_zeros(words[words[WORDS_AT] + leaf])


@kernel
def _previous(words, index):  # type: ignore[no-untyped-def]
    """The first non-empty bucket below the index; there must be one."""
    leaf = index >> 6
    rest = words[words[WORDS_AT] + leaf] & ~(-1 << (index & 63))
    if rest != 0:
        return (leaf << 6) + 63 - leading_zeros(rest)
    top = leaf >> 6
    rest = words[words[TOP_AT] + top] & ~(-1 << (leaf & 63))
    while rest == 0:
        top -= 1
        rest = words[words[TOP_AT] + top]
    leaf = (top << 6) + 63 - leading_zeros(rest)
    return (leaf << 6) + 63 - leading_zeros(words[words[WORDS_AT] + leaf])


def _move(address, old, new):  # type: ignore[no-untyped-def]
    """A value goes from one bucket to another; they are numbered from 1, and 0 is none."""
    words = words_at(address)
    if old > 0:
        _count(words, old - 1, -1)
    if new > 0:
        _count(words, new - 1, 1)
    return 0.0


@kernel
def _value(words, index):  # type: ignore[no-untyped-def]
    """The value in the bucket that is nearest to zero, as `quantise.value_of` has it."""
    bucket = index + words[MIN]
    if bucket == 0:
        return 0.0
    value = float_of((abs(bucket) + words[FIRST_BUCKET]) << (52 - words[RESOLUTION]))
    return value if bucket > 0 else -value


def _percentile(address, at, share):  # type: ignore[no-untyped-def]
    """The value at that share, found and noted by the cursor whose words begin at `at`."""
    words = words_at(address)
    if words[LIVE] == 0:
        return float_of(words[UNKNOWN])
    rank = max(1, np.int64(np.ceil(share * words[LIVE])))
    index = words[at + BUCKET]
    below = words[at + BELOW]
    counts = words[COUNTS_AT]
    while below >= rank:
        index = _previous(words, index)
        below -= words[counts + index]
    while below + words[counts + index] < rank:
        below += words[counts + index]
        index = _next(words, index)
    words[at + BUCKET] = index
    words[at + BELOW] = below
    value = _value(words, index)
    words[at + ANSWER] = bits_of(value)
    words[at + ANSWERED] = 1
    return value


RUNTIME = {
    "anvil_population_move": (_move, F64(I64, I64, I64)),
    "anvil_population_percentile": (_percentile, F64(I64, I64, F64)),
}
