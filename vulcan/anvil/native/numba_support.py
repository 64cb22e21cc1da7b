"""Helpers for the runtime functions of statistics: memory by address, and bits as numbers.

numba compiles them once per machine, and compiled policies call them by address.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
