"""Calls whatever manages the bottleneck's queue, by its address: the simulator's kernel need not know which it is."""

from __future__ import annotations

from typing import Any

from vulcan.anvil.native.policy_calls import element_address
from vulcan.kernel_support import intrinsic, ir, types

ARRIVAL, DEPARTURE = 0, 1
ADMIT, DROP, MARK = 0, 1, 2


@intrinsic
def call_manager(typing_context, address, link, settings, state, now, event, number):  # type: ignore[no-untyped-def]
    """call_manager(its address, link, settings, its state's address, now, event, number) -> verdict

    `number` is the size of a packet that arrives, and the time that one waited which departs.
    """
    whole = types.int64
    signature = whole(whole, link, settings, whole, whole, whole, whole)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(64)
        zero = ir.Constant(integer, 0)
        function = ir.FunctionType(integer, [byte, byte, byte, integer, integer, integer])
        return builder.call(
            builder.inttoptr(arguments[0], function.as_pointer()),
            [
                element_address(context, builder, signature.args[1], arguments[1], zero),
                element_address(context, builder, signature.args[2], arguments[2], zero),
                builder.inttoptr(arguments[3], byte),
                *arguments[4:],
            ],
        )

    return signature, generate
