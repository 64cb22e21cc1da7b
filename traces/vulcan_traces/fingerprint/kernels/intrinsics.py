"""LLVM intrinsics of the fingerprint's kernels: prefetch and population count."""

from __future__ import annotations

from typing import Any

import numpy as np

from vulcan.kernel_support import allocating_helper, cgutils, intrinsic, ir, types
from vulcan_traces.fingerprint.log_histogram import STEP_BITS, STEPS

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """Ask for the cache line of the first number of array[index], to be written."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32 = ir.IntType(32)
        column = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = builder.mul(arguments[1], builder.extract_value(column.strides, 0))
        place = builder.gep(builder.bitcast(column.data, _BYTE.as_pointer()), [offset])
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), i32, i32, i32]),
            "llvm.prefetch.p0",
        )
        builder.call(function, [place, ir.Constant(i32, 1), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@intrinsic
def highest_bit(typing_context, number):  # type: ignore[no-untyped-def]
    """Return the number of the highest bit that is set, from 0; 63 less the leading zeros. Of 0 it is undefined."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(_WORD, 63), zeros)

    return types.uint64(types.uint64), generate


@intrinsic
def bit_count(typing_context, number):  # type: ignore[no-untyped-def]
    """Return how many bits are set."""
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


# Bucket of a number in a `vulcan_traces.fingerprint.log_histogram`.

_STEPS = np.uint64(STEPS)
_STEP_BITS = np.uint64(STEP_BITS)
_MASK = np.uint64(STEPS - 1)
_ONE = np.uint64(1)


@allocating_helper
def bucket_of(number):
    """Return the bucket, uint64, of a uint64."""
    if number < _STEPS:
        return number
    shift = highest_bit(number) - _STEP_BITS
    return ((shift + _ONE) << _STEP_BITS) + ((number >> shift) & _MASK)
