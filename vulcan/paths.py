"""Cache directories for data that can be regenerated: decoded traces, compiled kernels, baseline results."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from vulcan import __version__
from vulcan.errors import UserError


def cache_directory(*parts: str) -> Path:
    """Return Vulcan's cache directory of the user (`VULCAN_CACHE_DIR` overrides it), created if missing.

    Raises UserError where it cannot be written.
    """
    root = os.environ.get("VULCAN_CACHE_DIR") or platformdirs.user_cache_dir("vulcan-policies")
    path = Path(root, *parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write the cache directory {path}: {error.strerror}; set VULCAN_CACHE_DIR to a writable place"
        ) from error
    return path


def keep_compiled_kernels_in_cache() -> None:
    """Have numba cache compiled kernels in the user's cache directory; call it before importing numba.

    numba's default, next to the source, fails in a read-only installation.
    """
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_directory("kernels", _kernels_version())))


_COMPILED = ("policy_calls", "runtime")
"""Modules of `vulcan.anvil.native` that numba compiles."""


def _kernels_version() -> str:
    """Return a version that changes with the source of any kernel.

    numba itself only checks whether the kernel's own file has changed, not the files of the helpers that it calls.
    """
    checkout = Path(__file__).parent.parent
    if not (checkout / "pyproject.toml").is_file():
        return __version__
    anvil = checkout / "vulcan" / "anvil"
    files = [anvil / "native" / f"{name}.py" for name in _COMPILED]
    files += [checkout / "vulcan" / "kernel_support.py"]
    files += [file for folder in ("evaluators", "traces") for file in (checkout / folder).rglob("*.py")]
    newest = max(file.stat().st_mtime_ns for file in files)
    return f"{__version__}-{newest:x}"
