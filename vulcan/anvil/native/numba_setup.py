"""numba, as the kernels want it."""

from __future__ import annotations

import sys

from vulcan.paths import keep_compiled_kernels_in_cache

_BLAS = "scipy.linalg.cython_blas"


def load_numba() -> None:
    """Import numba where it has not been, with compiled kernels in the user's cache directory, and without SciPy.

    numba looks for SciPy's BLAS when it loads its functions of arrays, and so loads all of `scipy.linalg`: a quarter of
    a scoring child's start. Whoever needs BLAS has it all the same, for numba looks again where it is used; only its
    convolutions are then loops of its own.
    """
    keep_compiled_kernels_in_cache()
    looking = _BLAS not in sys.modules
    if looking:
        sys.modules[_BLAS] = None  # type: ignore[assignment] # Python's way to say that a module cannot be imported
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        if looking:
            del sys.modules[_BLAS]
