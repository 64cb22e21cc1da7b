"""The functions that compiled policies call: their declarations in LLVM IR, and their addresses."""

from __future__ import annotations

from functools import cache

from vulcan.anvil.native import population, windows
from vulcan.anvil.native.numba_support import F64, function_pointer

RUNTIME = {**population.RUNTIME, **windows.RUNTIME}


@cache
def runtime_addresses() -> dict[str, int]:
    """Compiled once a machine and then read from the cache."""
    return {name: function_pointer(function, signature).address for name, (function, signature) in RUNTIME.items()}


def runtime_declarations() -> dict[str, str]:
    """The line of LLVM IR that declares each function. All return a double."""
    return {
        name: f"declare double @{name}({', '.join('double' if a == F64 else 'i64' for a in signature.args)}) nounwind"
        for name, (_, signature) in RUNTIME.items()
    }
