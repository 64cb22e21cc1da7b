"""Percentiles over all live entities, exact on log-linear buckets, at amortised constant cost.

A population is a block of int64 words: a header, a cursor for each percentile asked of it, two levels of bitmap
over the buckets that are not empty, and the count of each bucket. A cursor knows how many values lie below its
bucket; adding or removing a value moves the bucket that holds the wanted rank by at most one non-empty bucket, which
the bitmaps find in a few steps. The functions here are called by compiled policies through their addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from vulcan.anvil import quantise
from vulcan.paths import keep_compiled_kernels_in_cache

keep_compiled_kernels_in_cache()

import numba  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.core import cgutils  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

# Words of the header
LIVE, FIRST_BUCKET, LOWEST, RESOLUTION, BUCKETS, WORDS_AT, TOP_AT, COUNTS_AT, UNKNOWN, HEADER = range(10)


@dataclass(frozen=True, slots=True)
class PopulationShape:
    """The size of the population of one feature, whose values lie from `low` to `high`."""

    low: float
    high: float
    resolution: int
    unknown: float
    cursors: int

    @property
    def lowest(self) -> int:
        return quantise.bucket_of(self.low, self.resolution)

    @property
    def buckets(self) -> int:
        return quantise.bucket_of(self.high, self.resolution) - self.lowest + 1

    @property
    def words(self) -> int:
        leaves = -(-self.buckets // 64)
        return HEADER + 2 * self.cursors + leaves + -(-leaves // 64) + self.buckets

    def write(self, block: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Write an empty population to a block of `words` int64, all 0."""
        leaves = -(-self.buckets // 64)
        block[FIRST_BUCKET] = quantise.first_bucket(self.resolution)
        block[LOWEST] = self.lowest
        block[RESOLUTION] = self.resolution
        block[BUCKETS] = self.buckets
        block[WORDS_AT] = HEADER + 2 * self.cursors
        block[TOP_AT] = block[WORDS_AT] + leaves
        block[COUNTS_AT] = block[TOP_AT] + -(-leaves // 64)
        block[UNKNOWN] = np.float64(self.unknown).view(np.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


def _count_zeros(name: str) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def count(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            i64 = ir.IntType(64)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(i64, [i64, ir.IntType(1)]), f"llvm.{name}.i64"
            )
            return builder.call(function, [arguments[0], ir.Constant(ir.IntType(1), 0)])

        return types.int64(types.int64), generate

    return count


@intrinsic  # type: ignore[untyped-decorator]
def _bits_of(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _float_of(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


_trailing_zeros = _count_zeros("cttz")
_leading_zeros = _count_zeros("ctlz")

_kernel = numba.njit(cache=True, error_model="numpy", boundscheck=False)


@_kernel
def _words(address):  # type: ignore[no-untyped-def]
    return numba.carray(_pointer(address), (1 << 40,), np.int64)


@_kernel
def _index(words, value):  # type: ignore[no-untyped-def]
    """The index of a value's bucket, as `quantise.bucket_of` has it; kept within the population's range."""
    resolution = words[RESOLUTION]
    magnitude = abs(value)
    bucket = np.int64(0)
    if magnitude >= 2.0**quantise.LEAST_EXPONENT:
        bucket = (_bits_of(magnitude) >> (52 - resolution)) - words[FIRST_BUCKET]
        if value < 0.0:
            bucket = -bucket
    return min(max(bucket - words[LOWEST], 0), words[BUCKETS] - 1)


@_kernel
def _count(words, index, step):  # type: ignore[no-untyped-def]
    """Add or take away one value in the bucket, keeping bitmaps and cursors true."""
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
    for cursor in range(HEADER, words[WORDS_AT], 2):
        if index < words[cursor]:
            words[cursor + 1] += step


@_kernel
def _next(words, index):  # type: ignore[no-untyped-def]
    """The first non-empty bucket above the index; there must be one."""
    i = index + 1
    leaf = i >> 6
    rest = words[words[WORDS_AT] + leaf] & (-1 << (i & 63)) if i < words[BUCKETS] else 0
    if rest != 0:
        return (leaf << 6) + _trailing_zeros(rest)
    leaf += 1
    top = leaf >> 6
    rest = words[words[TOP_AT] + top] & (-1 << (leaf & 63))
    while rest == 0:
        top += 1
        rest = words[words[TOP_AT] + top]
    leaf = (top << 6) + _trailing_zeros(rest)
    return (leaf << 6) + _trailing_zeros(words[words[WORDS_AT] + leaf])


@_kernel
def _previous(words, index):  # type: ignore[no-untyped-def]
    """The first non-empty bucket below the index; there must be one."""
    leaf = index >> 6
    rest = words[words[WORDS_AT] + leaf] & ~(-1 << (index & 63))
    if rest != 0:
        return (leaf << 6) + 63 - _leading_zeros(rest)
    top = leaf >> 6
    rest = words[words[TOP_AT] + top] & ~(-1 << (leaf & 63))
    while rest == 0:
        top -= 1
        rest = words[words[TOP_AT] + top]
    leaf = (top << 6) + 63 - _leading_zeros(rest)
    return (leaf << 6) + 63 - _leading_zeros(words[words[WORDS_AT] + leaf])


def _add(address, value):  # type: ignore[no-untyped-def]
    words = _words(address)
    index = _index(words, value)
    _count(words, index, 1)
    return float(index)


def _move(address, old, value):  # type: ignore[no-untyped-def]
    words = _words(address)
    index = _index(words, value)
    if index != np.int64(old):
        _count(words, np.int64(old), -1)
        _count(words, index, 1)
    return float(index)


def _remove(address, old):  # type: ignore[no-untyped-def]
    _count(_words(address), np.int64(old), -1)
    return 0.0


def _percentile(address, cursor, share):  # type: ignore[no-untyped-def]
    words = _words(address)
    if words[LIVE] == 0:
        return _float_of(words[UNKNOWN])
    rank = max(1, np.int64(np.ceil(share * words[LIVE])))
    at = HEADER + 2 * np.int64(cursor)
    index = words[at]
    below = words[at + 1]
    counts = words[COUNTS_AT]
    while below >= rank:
        index = _previous(words, index)
        below -= words[counts + index]
    while below + words[counts + index] < rank:
        below += words[counts + index]
        index = _next(words, index)
    words[at] = index
    words[at + 1] = below
    bucket = index + words[LOWEST]
    if bucket == 0:
        return 0.0
    value = _float_of((abs(bucket) + words[FIRST_BUCKET]) << (52 - words[RESOLUTION]))
    return value if bucket > 0 else -value


RUNTIME = {
    "anvil_population_add": (_add, types.float64(types.int64, types.float64)),
    "anvil_population_move": (_move, types.float64(types.int64, types.float64, types.float64)),
    "anvil_population_remove": (_remove, types.float64(types.int64, types.float64)),
    "anvil_population_percentile": (_percentile, types.float64(types.int64, types.float64, types.float64)),
}


@cache
def runtime_addresses() -> dict[str, int]:
    """The addresses of the functions above, compiled once a machine and then read from the cache."""
    return {
        name: numba.cfunc(signature, cache=True, error_model="numpy")(function).address
        for name, (function, signature) in RUNTIME.items()
    }
