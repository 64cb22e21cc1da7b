"""LLVM intrinsics of the cache kernels: prefetch, branch-free comparison, and which way a branch mostly goes."""

from __future__ import annotations

from typing import Any

from vulcan.anvil.native.policy_calls import element_address
from vulcan.kernel_support import cgutils, intrinsic, ir, types

_BIT = ir.IntType(1)
_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """Ask for the cache line of array[index], to be written."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32 = ir.IntType(32)
        place = element_address(context, builder, signature.args[0], arguments[0], arguments[1])
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), i32, i32, i32]), "llvm.prefetch.p0"
        )
        builder.call(function, [place, ir.Constant(i32, 1), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), generate


@intrinsic
def precedes(typing_context, high, low, other_high, other_low):  # type: ignore[no-untyped-def]
    """Check whether (high, low) < (other_high, other_low): one comparison of 128 bits, without a jump."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)

        def joined(upper: Any, lower: Any) -> Any:
            shifted = builder.shl(builder.zext(upper, wide), ir.Constant(wide, 64))
            return builder.or_(shifted, builder.zext(lower, wide))

        return builder.icmp_unsigned("<", joined(*arguments[:2]), joined(*arguments[2:]))

    return types.boolean(types.uint64, types.uint64, types.uint64, types.uint64), generate


def _expected(value):  # type: ignore[no-untyped-def]
    @intrinsic
    def expect(typing_context, condition):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            function = builder.module.declare_intrinsic("llvm.expect", (_BIT,), ir.FunctionType(_BIT, [_BIT, _BIT]))
            return builder.call(function, [*arguments, _BIT(value)])

        return types.boolean(types.boolean), generate

    return expect


likely, unlikely = _expected(1), _expected(0)
"""The condition itself. LLVM gives registers to what follows it if it is as expected, and moves the rest elsewhere."""


@intrinsic
def choose(typing_context, condition, yes, no):  # type: ignore[no-untyped-def]
    """`yes if condition else no`, as a conditional move."""
    return types.uint64(
        types.boolean, types.uint64, types.uint64
    ), lambda context, builder, signature, arguments: builder.select(*arguments)


@intrinsic
def count_of(typing_context, condition):  # type: ignore[no-untyped-def]
    """1 or 0, hidden from LLVM, which turns arithmetic on conditions into jumps."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = builder.zext(arguments[0], _WORD)
        return builder.asm(ir.FunctionType(_WORD, [_WORD]), "", "=r,0", [number], False)

    return types.uint64(types.boolean), generate
