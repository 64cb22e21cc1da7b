"""Cache directories for data that can be regenerated: decoded traces, compiled kernels, baseline results.

Also of tables that a program hands over as pandas frames.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from vulcan import __version__
from vulcan.errors import UserError

TABLES = "tables"
"""The kind of cached data that cannot be regenerated: frames, which a program handed over."""

TAG = "CACHEDIR.TAG"
"""Marks a directory as one of this cache, which `vulcan cache` may empty; backups skip it (bford.info/cachedir)."""

_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This directory belongs to the cache of vulcan-policies.\n"


def cache_root() -> Path:
    """Return the path of the user's cache directory, which `VULCAN_CACHE_DIR` overrides."""
    return Path(os.environ.get("VULCAN_CACHE_DIR") or platformdirs.user_cache_dir("vulcan-policies"))


def cache_directory(*parts: str) -> Path:
    """Return a directory of the cache, created if missing; the first part is the kind of data in it.

    Raises UserError where it cannot be written.
    """
    root = cache_root()
    path = root.joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write the cache directory {path}: {error.strerror}; set VULCAN_CACHE_DIR to a writable place"
        ) from error
    if parts and not (root / parts[0] / TAG).exists():
        with suppress(OSError):  # a sandboxed process may be allowed to read it only
            (root / parts[0] / TAG).write_text(_TAG_TEXT, encoding="utf-8")
    return path


@dataclass(frozen=True, slots=True)
class CachedKind:
    """A kind of cached data: its directory, and the number and size of the files in it."""

    name: str
    path: Path
    files: int
    bytes: int

    def clear(self) -> None:
        """Delete the data. Raises UserError for what cannot be deleted."""
        try:
            for entry in self.path.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                elif entry.name != TAG:
                    entry.unlink()
        except OSError as error:
            raise UserError(f"cannot delete {error.filename or self.path}: {error.strerror}") from error


def cached_kinds() -> tuple[CachedKind, ...]:
    """Return each kind of data in the cache, sorted by name; directories of other programs are ignored."""
    found = sorted(tag.parent for tag in cache_root().glob(f"*/{TAG}"))
    return tuple(CachedKind(path.name, path, *_contents(path)) for path in found)


def _contents(directory: Path) -> tuple[int, int]:
    sizes = list(_sizes(directory))
    return len(sizes), sum(sizes)


def _sizes(directory: Path) -> Iterator[int]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            with suppress(FileNotFoundError):  # another process may replace files meanwhile
                if path != directory / TAG:
                    yield path.lstat().st_size


def table_file(table: Any) -> Path:
    """Write a pandas DataFrame as CSV with a header to the cache directory, under its content, and return the path.

    So a run that was started on it can be resumed and replayed. Raises UserError where there are no rows or no names.
    """
    if not len(table) or not all(isinstance(name, str) for name in table.columns):
        raise UserError("a DataFrame needs rows, and columns with names such as time, id and size")
    text: str = table.to_csv(index=False)
    place = cache_directory(TABLES) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.csv"
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
