"""The last n observations of a stream: looked through, summed, kept in order, and counted by value.

Rings, sorted windows and tables lie in memory as `statistic_slots` says. The functions here are called by compiled
policies through their addresses; what takes a few instructions is in the policies themselves.
"""

from __future__ import annotations

import numpy as np

from vulcan.anvil.native.numba_support import F64, I64, bits_of, floats_at, kernel, move_words, words_at

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _ring_sum(address, start, count, length):  # type: ignore[no-untyped-def]
    """The sum of `count` observations from the one at `start` on, the oldest first; the order matters to rounding."""
    ring = floats_at(address)
    total = 0.0
    for i in range(start, min(start + count, length)):
        total += ring[i]
    for i in range(start + count - length):
        total += ring[i]
    return total


def _ring_count(address, start, count, length, value):  # type: ignore[no-untyped-def]
    """How many of `count` observations from the one at `start` on are equal to the value."""
    ring = floats_at(address)
    found = 0
    for i in range(start, min(start + count, length)):
        found += ring[i] == value
    for i in range(start + count - length):
        found += ring[i] == value
    return float(found)


@kernel
def _below(values, count, bound):  # type: ignore[no-untyped-def]
    """How many of the sorted values are less than the bound."""
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
    """How many of the sorted values are at most the bound."""
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
    """Put the value behind its equals in `count` sorted values."""
    values = floats_at(address)
    at = _not_above(values, count, value)
    move_words(address + 8 * (at + 1), address + 8 * at, count - at)
    values[at] = value
    return 0.0


def _sorted_replace(address, count, leaving, value):  # type: ignore[no-untyped-def]
    """Take the first of those equal to `leaving` out of `count` sorted values, and put the value behind its equals."""
    values = floats_at(address)
    hole = _below(values, count, leaving)
    at = _not_above(values, count, value)
    if at > hole:
        at -= 1  # what leaves is before it
        move_words(address + 8 * hole, address + 8 * (hole + 1), at - hole)
    else:
        move_words(address + 8 * (at + 1), address + 8 * at, hole - at)
    values[at] = value
    return 0.0


@kernel
def _home(key, bits):  # type: ignore[no-untyped-def]
    """The place of a table of 2**bits at which the search for a key begins."""
    word = np.uint64(key)
    return np.int64(((word ^ (word >> np.uint64(32))) * _GOLDEN) >> np.uint64(64 - bits))


@kernel
def _key(value):  # type: ignore[no-untyped-def]
    return bits_of(value + 0.0)  # -0.0 equals 0.0


@kernel
def _find(table, bits, key):  # type: ignore[no-untyped-def]
    """The word of the key's place, or of the empty one where it belongs; the count is in the next word."""
    mask = (2 << bits) - 1
    at = 2 * _home(key, bits)
    while table[at + 1] != 0 and table[at] != key:
        at = (at + 2) & mask
    return at


@kernel
def _take_out(table, bits, hole):  # type: ignore[no-untyped-def]
    """Empty a place, and let those move up that were behind it for want of a place."""
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


RUNTIME = {
    "anvil_ring_sum": (_ring_sum, F64(I64, I64, I64, I64)),
    "anvil_ring_count": (_ring_count, F64(I64, I64, I64, I64, F64)),
    "anvil_sorted_insert": (_sorted_insert, F64(I64, I64, F64)),
    "anvil_sorted_replace": (_sorted_replace, F64(I64, I64, F64, F64)),
    "anvil_table_insert": (_table_insert, F64(I64, I64, F64)),
    "anvil_table_replace": (_table_replace, F64(I64, I64, F64, F64)),
    "anvil_table_count": (_table_count, F64(I64, I64, F64)),
}
