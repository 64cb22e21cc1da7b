"""The environment of a child: nothing of the parent's but what Python and numba need to load."""

from __future__ import annotations

import os
import sys

from vulcan.paths import cache_directory, keep_compiled_kernels_in_cache

_INHERITED = ("HOME", "TMPDIR", "LD_LIBRARY_PATH")
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def child_environment() -> dict[str, str]:
    """Every variable a child sees. API keys, tokens and proxies are not among them.

    The child imports from where its parent does; it hashes texts alike in every run; it uses one thread.
    Raises UserError where the cache directory cannot be written.
    """
    keep_compiled_kernels_in_cache()
    return {
        "PATH": os.defpath,
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
        "PYTHONHASHSEED": "0",
        "VULCAN_CACHE_DIR": str(cache_directory()),
        "NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"],
        **dict.fromkeys(_ONE_THREAD, "1"),
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
    }
