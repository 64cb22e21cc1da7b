"""numba for kernels: set up once, with the decorators that every kernel is compiled with.

Kernels take numba and LLVM's builder from here, never from numba itself, which reads where its cache is when it is
first imported.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from llvmlite import ir

from vulcan.paths import keep_compiled_kernels_in_cache

__all__ = [
    "allocating_helper",
    "allocating_kernel",
    "carray",
    "cfunc",
    "cgutils",
    "from_dtype",
    "function",
    "helper",
    "intrinsic",
    "ir",
    "kernel",
    "lazy_kernel",
    "njit",
    "types",
]

_BLAS = "scipy.linalg.cython_blas"


def _load_numba() -> Any:
    """Import numba with its cache in the user's cache directory, and without SciPy.

    numba looks for SciPy's BLAS when it loads its functions of arrays, and so loads all of `scipy.linalg`: a quarter of
    a scoring child's start. Code that needs BLAS still gets it, because numba looks again where it is used; only
    numba's convolutions then use loops of their own.
    """
    keep_compiled_kernels_in_cache()
    hide_blas = _BLAS not in sys.modules
    if hide_blas:
        sys.modules[_BLAS] = None  # type: ignore[assignment] # Python's way to say that a module cannot be imported
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        if hide_blas:
            del sys.modules[_BLAS]
    return importlib.import_module("numba")


_numba = _load_numba()
njit, cfunc, types, carray, from_dtype = _numba.njit, _numba.cfunc, _numba.types, _numba.carray, _numba.from_dtype
intrinsic: Any = importlib.import_module("numba.extending").intrinsic
cgutils: Any = importlib.import_module("numba.core.cgutils")

# Without numba's reference counting (`_nrt=False`), which costs two atomic operations wherever an array changes hands;
# what is compiled so cannot allocate arrays.
lazy_kernel: Any = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
"""Decorator of a function that Python calls: compiled when it is first called, and cached on disk."""

helper: Any = njit(nogil=True, error_model="numpy", forceinline=True, _nrt=False)
"""Decorator of a function that kernels call: inlined by LLVM, which by itself would leave a large one as a call."""

function: Any = njit(nogil=True, error_model="numpy", _nrt=False)
"""Decorator of a function that kernels call: compiled once for each kernel; LLVM decides whether to inline it."""

allocating_helper: Any = njit(nogil=True, error_model="numpy")
"""Like `function`, for a function that may allocate arrays."""


def kernel(signature: Any) -> Any:
    """Decorate a function that Python calls: compiled when its module is imported, or loaded from the cache on disk."""
    return njit(signature, cache=True, nogil=True, error_model="numpy", _nrt=False)


def allocating_kernel(signature: Any) -> Any:
    """Like `kernel`, for a function that may allocate arrays."""
    return njit(signature, cache=True, nogil=True, error_model="numpy")
