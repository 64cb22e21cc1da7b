"""numba's decorator for what the kernels call but need not inline: it is compiled once for each kernel."""

from __future__ import annotations

from vulcan.paths import keep_compiled_kernels_in_cache

keep_compiled_kernels_in_cache()

from numba import njit  # noqa: E402 - it reads the cache's place when it is imported

called = njit(nogil=True, error_model="numpy", _nrt=False)
