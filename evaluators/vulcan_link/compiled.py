"""How the simulator's functions are compiled: for calls from its kernel, where each stays a function of its own."""

from __future__ import annotations

from vulcan.paths import keep_compiled_kernels_in_cache

keep_compiled_kernels_in_cache()

from typing import Any  # noqa: E402

from numba import njit  # noqa: E402 - numba reads the cache's place when it is imported

function = njit(nogil=True, error_model="numpy", _nrt=False)
"""Without numba's counting of references; never inlined by numba, LLVM judges that."""


def kernel(signature: Any) -> Any:
    """Decorates what Python calls: compiled when it is imported, and kept in the cache."""
    return njit(signature, cache=True, nogil=True, error_model="numpy", _nrt=False)
