"""Helpers for the runtime functions of statistics: memory by address, and bits as numbers.

numba compiles them once per machine, and compiled policies call them by address.

Runtime functions that compiled policies call by address: population percentiles and windows.

Percentiles over all live entities are exact on log-linear buckets, at amortised constant cost. A population is a block
of int64 words: a header, a cursor per percentile, two levels of bitmap over the non-empty buckets, and the count of
each bucket. A cursor stores the number of values below its bucket; adding or removing a value moves the bucket that
holds the wanted rank by at most one non-empty bucket, which the bitmaps find in a few steps.

The last n observations of a stream are scanned, summed, sorted, and counted by value. The memory layout of rings,
sorted windows and tables is in `state_layout`; operations of a few instructions are inlined in the policies.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

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
from vulcan.kernel_support import carray, cfunc, cgutils, intrinsic, ir, njit, types

kernel = njit(cache=True, error_model="numpy", boundscheck=False)

I64 = types.int64
F64 = types.float64


def function_pointer(function: Any, signature: Any) -> Any:
    """Compile the function for C; the result's `address` is valid while it lives."""
    return cfunc(signature, cache=True, error_model="numpy")(function)


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def move_words(typing_context: Any, to: Any, source: Any, count: Any) -> Any:
    """Copy `count` words of 8 bytes from one address to another; they may overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, source = (builder.inttoptr(a, cgutils.voidptr_t) for a in arguments[:2])
        cgutils.raw_memmove(builder, to, source, arguments[2], 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


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


trailing_zeros = _count_zeros("cttz")
leading_zeros = _count_zeros("ctlz")


@intrinsic  # type: ignore[untyped-decorator]
def bits_of(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def float_of(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@kernel
def words_at(address):  # type: ignore[no-untyped-def]
    return carray(pointer(address), (1 << 40,), np.int64)


@kernel
def floats_at(address):  # type: ignore[no-untyped-def]
    return carray(pointer(address), (1 << 40,), np.float64)


@kernel
def _count(words, index, step):  # type: ignore[no-untyped-def]
    """Add a value to the bucket (`step` 1) or remove one (-1), and update bitmaps and cursors."""
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
    """Return the first non-empty bucket above the index; there must be one."""
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
    """Return the first non-empty bucket below the index; there must be one."""
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
    """Move a value from one bucket to another; they are numbered from 1, and 0 is none."""
    words = words_at(address)
    if old > 0:
        _count(words, old - 1, -1)
    if new > 0:
        _count(words, new - 1, 1)
    return 0.0


@kernel
def _value(words, index):  # type: ignore[no-untyped-def]
    """Return the value in the bucket that is nearest to zero, as in `log_buckets.value_of`."""
    bucket = index + words[MIN]
    if bucket == 0:
        return 0.0
    value = float_of((abs(bucket) + words[FIRST_BUCKET]) << (52 - words[RESOLUTION]))
    return value if bucket > 0 else -value


def _percentile(address, at, share):  # type: ignore[no-untyped-def]
    """Return the percentile and store it in the cursor whose words begin at `at`."""
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


_POPULATION_FUNCTIONS = {
    "anvil_population_move": (_move, F64(I64, I64, I64)),
    "anvil_population_percentile": (_percentile, F64(I64, I64, F64)),
}


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _ring_sum(address, start, count, length):  # type: ignore[no-untyped-def]
    """Sum `count` observations from `start` on, oldest first; the order affects rounding."""
    ring = floats_at(address)
    total = 0.0
    for i in range(start, min(start + count, length)):
        total += ring[i]
    for i in range(start + count - length):
        total += ring[i]
    return total


def _ring_count(address, start, count, length, value):  # type: ignore[no-untyped-def]
    """Count the observations equal to the value, among `count` from `start` on."""
    ring = floats_at(address)
    found = 0
    for i in range(start, min(start + count, length)):
        found += ring[i] == value
    for i in range(start + count - length):
        found += ring[i] == value
    return float(found)


@kernel
def _below(values, count, bound):  # type: ignore[no-untyped-def]
    """Count the sorted values that are less than the bound."""
    first = 0
    while count > 0:
        half = count >> 1
        if values[first + half] < bound:
            first += half + 1
            count -= half + 1
        else:
            count = half
    return first


@kernel
def _not_above(values, count, bound):  # type: ignore[no-untyped-def]
    """Count the sorted values that are at most the bound."""
    first = 0
    while count > 0:
        half = count >> 1
        if values[first + half] <= bound:
            first += half + 1
            count -= half + 1
        else:
            count = half
    return first


def _sorted_insert(address, count, value):  # type: ignore[no-untyped-def]
    """Insert the value after its equals in `count` sorted values."""
    values = floats_at(address)
    at = _not_above(values, count, value)
    move_words(address + 8 * (at + 1), address + 8 * at, count - at)
    values[at] = value
    return 0.0


def _sorted_replace(address, count, leaving, value):  # type: ignore[no-untyped-def]
    """Remove the first value equal to `leaving` from `count` sorted values, and insert the value after its equals."""
    values = floats_at(address)
    hole = _below(values, count, leaving)
    at = _not_above(values, count, value)
    if at > hole:
        at -= 1  # the leaving value is before it
        move_words(address + 8 * hole, address + 8 * (hole + 1), at - hole)
    else:
        move_words(address + 8 * (at + 1), address + 8 * at, hole - at)
    values[at] = value
    return 0.0


@kernel
def _home(key, bits):  # type: ignore[no-untyped-def]
    """Return the slot, in a table of 2**bits, at which the probing for a key begins."""
    word = np.uint64(key)
    return np.int64(((word ^ (word >> np.uint64(32))) * _GOLDEN) >> np.uint64(64 - bits))


@kernel
def _key(value):  # type: ignore[no-untyped-def]
    return bits_of(value + 0.0)  # -0.0 equals 0.0


@kernel
def _find(table, bits, key):  # type: ignore[no-untyped-def]
    """Return the word of the key's slot, or of the empty one where it belongs; the count is in the next word."""
    mask = (2 << bits) - 1
    at = 2 * _home(key, bits)
    while table[at + 1] != 0 and table[at] != key:
        at = (at + 2) & mask
    return at


@kernel
def _take_out(table, bits, hole):  # type: ignore[no-untyped-def]
    """Empty a slot, and shift displaced entries after it back."""
    mask = (2 << bits) - 1
    at = hole
    while True:
        at = (at + 2) & mask
        if table[at + 1] == 0:
            break
        if (at - 2 * _home(table[at], bits)) & mask >= (at - hole) & mask:
            table[hole] = table[at]
            table[hole + 1] = table[at + 1]
            hole = at
    table[hole + 1] = 0


def _table_insert(address, bits, value):  # type: ignore[no-untyped-def]
    table = words_at(address)
    key = _key(value)
    at = _find(table, bits, key)
    table[at] = key
    table[at + 1] += 1
    return 0.0


def _table_replace(address, bits, leaving, value):  # type: ignore[no-untyped-def]
    table = words_at(address)
    key = _key(value)
    old = _key(leaving)
    if key == old:
        return 0.0
    at = _find(table, bits, old)
    table[at + 1] -= 1
    if table[at + 1] == 0:
        _take_out(table, bits, at)
    at = _find(table, bits, key)
    table[at] = key
    table[at + 1] += 1
    return 0.0


def _table_count(address, bits, value):  # type: ignore[no-untyped-def]
    table = words_at(address)
    return float(table[_find(table, bits, _key(value)) + 1])


_WINDOW_FUNCTIONS = {
    "anvil_ring_sum": (_ring_sum, F64(I64, I64, I64, I64)),
    "anvil_ring_count": (_ring_count, F64(I64, I64, I64, I64, F64)),
    "anvil_sorted_insert": (_sorted_insert, F64(I64, I64, F64)),
    "anvil_sorted_replace": (_sorted_replace, F64(I64, I64, F64, F64)),
    "anvil_table_insert": (_table_insert, F64(I64, I64, F64)),
    "anvil_table_replace": (_table_replace, F64(I64, I64, F64, F64)),
    "anvil_table_count": (_table_count, F64(I64, I64, F64)),
}


RUNTIME: dict[str, Any] = {**_POPULATION_FUNCTIONS, **_WINDOW_FUNCTIONS}


@cache
def runtime_addresses() -> dict[str, int]:
    """Return the functions' addresses; they are compiled once per machine, then loaded from the cache."""
    return {name: function_pointer(function, signature).address for name, (function, signature) in RUNTIME.items()}


def runtime_declarations() -> dict[str, str]:
    """Return the LLVM IR declaration of each function. All return a double."""
    return {
        name: f"declare double @{name}({', '.join('double' if a == F64 else 'i64' for a in signature.args)}) nounwind"
        for name, (_, signature) in RUNTIME.items()
    }
