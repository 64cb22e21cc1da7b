"""Calls of compiled policies from simulators' kernels that numba compiles.

A policy's functions are called by their addresses in `Native`, which also makes the `globals` and `statistics` arrays;
a task without an entity passes any array for `records`, and an empty one for `statistics`.
"""

from __future__ import annotations

from typing import Any

from vulcan.kernel_support import helper, intrinsic, ir, types

_BYTE = ir.IntType(8)

WORST = 1e300
"""The largest number, and with its sign changed the smallest, that candidates are ranked by."""


def element_address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of an element, without numba's handling of negative indices."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _BYTE.as_pointer())


def _call_policy(result: Any) -> Any:
    @intrinsic
    def call(typing_context, address, globals_, records, record, statistics, row, key):  # type: ignore[no-untyped-def]
        signature = result(address, globals_, records, types.uint64, statistics, types.uint64, types.float64)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, globals_type, records_type, _, statistics_type, _, _ = signature.args
            pointer, number = _BYTE.as_pointer(), ir.DoubleType()
            returned = ir.VoidType() if result is types.void else number
            function = ir.FunctionType(returned, [pointer, pointer, pointer, number])
            zero = ir.Constant(ir.IntType(64), 0)
            called = builder.call(
                builder.inttoptr(arguments[0], function.as_pointer()),
                [
                    element_address(context, builder, globals_type, arguments[1], zero),
                    element_address(context, builder, records_type, arguments[2], arguments[3]),
                    element_address(context, builder, statistics_type, arguments[4], arguments[5]),
                    arguments[6],
                ],
            )
            return context.get_dummy_value() if result is types.void else called

        return signature, generate

    return call


call_score = _call_policy(types.float64)
"""call_score(address, globals, records, index of the record's first slot, statistics, index, key) -> score"""

call_event = _call_policy(types.void)
"""The same for `enter`, `update`, `leave` and the functions of `Native.occasions`, without a result."""


@helper
def call_rank(address, globals_, records, record, statistics, row, key):  # type: ignore[no-untyped-def]
    """Call a score, and hold it within +-`WORST`."""
    score = call_score(address, globals_, records, record, statistics, row, key)
    above = WORST if score > WORST else score
    return -WORST if above < -WORST else above
