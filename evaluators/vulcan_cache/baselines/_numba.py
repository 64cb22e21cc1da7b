"""numba's decorators as every kernel here uses them; nothing else in this package imports numba."""

from vulcan.paths import keep_compiled_kernels_in_cache

keep_compiled_kernels_in_cache()

from numba import njit, types  # noqa: E402 - it reads the cache's place when it is imported

_COLUMN_U32 = types.Array(types.uint32, 1, "C", readonly=True)
_COLUMN_I64 = types.Array(types.int64, 1, "C", readonly=True)
_SIGNATURE = types.UniTuple(types.int64, 3)(
    _COLUMN_U32, _COLUMN_U32, _COLUMN_I64, types.int64, types.int64, types.int64
)

kernel = njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")
"""Decorates a policy's `simulate`: compiled when its module is imported, or loaded from the cache on disk."""

helper = njit(nogil=True, error_model="numpy")
"""Decorates what kernels call: compiled, and inlined by LLVM, only where a kernel is compiled."""

inlined = njit(nogil=True, error_model="numpy", inline="always")
"""A helper that numba itself inlines: LLVM leaves a large one as a call, which counts references of its arrays."""
