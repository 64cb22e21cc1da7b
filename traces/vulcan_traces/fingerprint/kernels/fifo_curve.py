"""FIFO caches of several capacities at once; compiled, so import it late.

FIFO never looks at a resident object, so that what it holds is always the newest run of what was inserted. It is
enough to remember, of each object, how many bytes had been inserted when it was: it is resident as long as no more
than the capacity has been inserted since, itself among it. No queue is kept, and nothing is ever evicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vulcan.kernel_support import allocating_kernel, intrinsic, ir, types
from vulcan_traces.fingerprint.kernels.intrinsics import address, prefetch, splat

CAPACITIES = 16
"""Capacities simulated at once: one vector, which LLVM splits to the processor's vector width."""

AHEAD = 12

_VECTOR = ir.VectorType(ir.IntType(64), CAPACITIES)
_CAPACITY, _MAX, _INSERTED, _MISSES, _MISSED_BYTES, _ROWS = range(6)

_OBJECTS = types.Array(types.uint32, 1, "C", readonly=True)
_NUMBERS = types.Array(types.int64, 1, "C", readonly=True)


@intrinsic
def _request(typing_context, inserted_before, state, size, request_bytes):  # type: ignore[no-untyped-def]
    """Return a request for the object of the row `inserted_before`, at all capacities."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = address(context, builder, signature.args[0], arguments[0], None, _VECTOR)

        def place(line: int) -> Any:
            return address(context, builder, signature.args[1], arguments[1], line, _VECTOR)

        def load(pointer: Any) -> Any:
            return builder.load(pointer, align=8)

        def store(value: Any, pointer: Any) -> None:
            builder.store(value, pointer, align=8)

        none = ir.Constant(_VECTOR, None)
        size_of_all, bytes_of_all = (splat(builder, number, _VECTOR) for number in arguments[2:])
        before, inserted = load(row), load(place(_INSERTED))
        is_miss = builder.icmp_signed(">", builder.sub(inserted, before), load(place(_CAPACITY)))
        enters = builder.and_(is_miss, builder.icmp_signed("<=", size_of_all, load(place(_MAX))))
        store(builder.add(load(place(_MISSES)), builder.zext(is_miss, _VECTOR)), place(_MISSES))
        missed_bytes = builder.add(load(place(_MISSED_BYTES)), builder.select(is_miss, bytes_of_all, none))
        store(missed_bytes, place(_MISSED_BYTES))
        store(builder.select(enters, inserted, before), row)
        store(builder.add(inserted, builder.select(enters, size_of_all, none)), place(_INSERTED))
        return context.get_dummy_value()

    return types.void(inserted_before, state, types.int64, types.int64), generate


@allocating_kernel(
    types.void(_OBJECTS, _NUMBERS, types.int64, types.boolean, _NUMBERS, _NUMBERS, types.int64[::1], types.int64[::1])
)
def simulate_fifo(objects, sizes, object_count, by_bytes, capacities, largest, misses, missed_bytes):
    """Misses and missed bytes, of shape (CAPACITIES,), of FIFO caches of that many `capacities`.

    Capacities are bytes, or objects unless `by_bytes`. An object larger than `largest`, of the same shape and unit,
    passes by: a miss that inserts nothing. A resident object occupies the size of the request that inserted it.
    """
    inserted_before = np.zeros((object_count, CAPACITIES), np.int64)
    state = np.zeros((_ROWS, CAPACITIES), np.int64)
    for k in range(CAPACITIES):
        state[_CAPACITY, k] = capacities[k]
        state[_MAX, k] = largest[k]
        state[_INSERTED, k] = capacities[k] + 1  # so that what never was inserted, of 0, is not resident
    n = len(objects)
    for i in range(n):
        if i + AHEAD < n:
            ahead = inserted_before[np.uint64(objects[i + AHEAD])]
            prefetch(ahead, np.uint64(0))
            prefetch(ahead, np.uint64(CAPACITIES // 2))
        request_bytes = sizes[i]
        _request(
            inserted_before[np.uint64(objects[i])], state, request_bytes if by_bytes else np.int64(1), request_bytes
        )
    for k in range(CAPACITIES):
        misses[k] = state[_MISSES, k]
        missed_bytes[k] = state[_MISSED_BYTES, k]
