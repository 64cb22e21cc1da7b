"""Cache directories for data that can be regenerated: decoded traces, compiled kernels, baseline results.

Also of tables that a program hands over as pandas frames.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

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


def table_file(table: Any) -> Path:
    """Write a pandas DataFrame as CSV with a header to the cache directory, under its content, and return the path.

    So a run that was started on it can be resumed and replayed. Raises UserError where there are no rows or no names.
    """
    if not len(table) or not all(isinstance(name, str) for name in table.columns):
        raise UserError("a DataFrame needs rows, and columns with names such as time, id and size")
    text: str = table.to_csv(index=False)
    place = cache_directory("tables") / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.csv"
    if not place.is_file():
        unfinished = place.with_suffix(f".{os.getpid()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(place)
    return place


def is_table(value: object) -> bool:
    """Check whether a value is a pandas DataFrame, without importing pandas."""
    return hasattr(value, "to_csv") and hasattr(value, "columns")


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
