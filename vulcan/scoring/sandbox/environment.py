"""The environment variables of a child: only those that Python and numba need to load."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

from vulcan.errors import UserError
from vulcan.paths import cache_directory, keep_compiled_kernels_in_cache
from vulcan.scoring.sandbox.layers import Layer, Layers

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
    """Return the environment of a child, without API keys, tokens and proxies.

    The child has its parent's import path, a fixed hash seed, and a single thread.
    Raises UserError if the cache directory is not writable.
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


def spawn(
    module: str, directory: str, layers: Layers, *, close_fds: bool = True, **options: Any
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a child that runs a module of Vulcan's with one end of a socket; return it with the other end.

    `options` are those of `subprocess.Popen`. Raises UserError where it cannot be started.
    """
    environment = child_environment()
    if Layer.ENVIRONMENT not in layers:
        environment = {**os.environ, **environment}
    mine, childs = socket.socketpair()
    childs.set_inheritable(True)
    descriptor = childs.fileno()
    try:
        # -P: a file in the working directory must not stand in for a module
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(descriptor)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=directory,
            close_fds=close_fds,
            pass_fds=(descriptor,) if close_fds else (),
            **options,
        )
    except OSError as error:
        mine.close()
        raise UserError(f"cannot start {module} in {directory}: {error.strerror}") from error
    finally:
        childs.close()
    return process, mine
