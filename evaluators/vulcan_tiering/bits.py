"""Numbers as bits, for sorting by digits."""

from __future__ import annotations

from typing import Any

from vulcan.kernel_support import intrinsic, ir, types


@intrinsic
def bits_of(typing_context, number):  # type: ignore[no-untyped-def]
    """The bits of a float64, as uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), generate
