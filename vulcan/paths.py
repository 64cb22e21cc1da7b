"""Cache directories for data that can be regenerated: decoded traces, compiled kernels, baseline results.

Also of tables that a program hands over as pandas frames.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from vulcan import __version__
from vulcan.errors import UserError
from vulcan.files import NOT_WRITABLE, write_file

log = logging.getLogger(__name__)

TABLES = "tables"
"""The kind of cached data that cannot be regenerated: frames, which a program handed over."""

TAG = "CACHEDIR.TAG"
"""Marks a directory as one of this cache; backups skip it (bford.info/cachedir)."""

_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# This directory belongs to the cache of vulcan-policies.\n"


def cache_root() -> Path:
    """Return the path of the user's cache directory, which `VULCAN_CACHE_DIR` overrides."""
    return Path(os.environ.get("VULCAN_CACHE_DIR") or platformdirs.user_cache_dir("vulcan-policies"))


def cache_directory(*parts: str) -> Path:
    """Return a directory of the cache, created if missing; the first part is the kind of data in it.

    Where it cannot be written, it is one of a temporary cache. Raises UserError where there cannot be that either.
    """
    root = cache_root()
    path = root.joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if not use_temporary_cache(error):
            raise UserError(
                f"cannot write the cache directory {path}: {error.strerror}; set VULCAN_CACHE_DIR to a writable place"
            ) from error
        return cache_directory(*parts)
    if parts and not (root / parts[0] / TAG).exists():
        with suppress(OSError):  # a sandboxed process may be allowed to read it only
            (root / parts[0] / TAG).write_text(_TAG_TEXT, encoding="utf-8")
    return path


_temporary: list[Path] = []


def use_temporary_cache(error: OSError) -> bool:
    """Have this process and its children use a temporary cache from now on, with a warning, where theirs takes no more.

    Return whether that changes anything: a temporary cache is not replaced by another one.
    """
    if error.errno not in NOT_WRITABLE or cache_root() in _temporary:
        return False
    place = _temporary_directory()
    log.warning("%s: %s; what would be cached there is in %s until the end", cache_root(), error.strerror, place)
    _temporary.append(place)
    os.environ["VULCAN_CACHE_DIR"] = str(place)
    return True


def _temporary_directory() -> Path:
    """Return a new directory that is deleted as this process ends. Raises UserError."""
    try:
        place = Path(tempfile.mkdtemp(prefix="vulcan-cache-"))
    except OSError as error:
        raise UserError(f"cannot make a temporary directory: {error.strerror or error}; set TMPDIR") from error
    owner = os.getpid()

    def delete() -> None:
        if os.getpid() == owner:
            shutil.rmtree(place, ignore_errors=True)

    atexit.register(delete)
    return place


def table_file(table: Any) -> Path:
    """Write a pandas DataFrame as CSV to the cache directory, under its content, and return the path.

    So its run can be resumed and replayed. One column is a list of ids. Raises UserError without rows or names.
    """
    if not len(table) or not all(isinstance(name, str) for name in table.columns):
        raise UserError("a DataFrame needs rows, and columns with names such as time, id and size")
    text: str = table.to_csv(index=False, header=len(table.columns) > 1)
    place = cache_directory(TABLES) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.csv"
    if not place.is_file():
        write_file(place, text)
    return place


def is_table(value: object) -> bool:
    """Check whether a value is a pandas DataFrame, without importing pandas."""
    return hasattr(value, "to_csv") and hasattr(value, "columns")


def keep_compiled_kernels_in_cache() -> None:
    """Have numba cache compiled kernels in the user's cache directory; call it before importing numba.

    numba's default, next to the source, fails in a read-only installation, and so does a cache that is read-only: its
    kernels are copied to a temporary one.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    place = cache_directory("kernels", kernels_version())
    if not os.access(place, os.W_OK):
        copy = _temporary_directory() / place.name
        log.warning("%s cannot be written: kernels are compiled to a temporary directory", place)
        shutil.copytree(place, copy)
        place = copy
    os.environ["NUMBA_CACHE_DIR"] = str(place)


_IMPORT = re.compile(r"^from (vulcan\w*)((?:\.\w+)*) import \(?\s*(\w+)", re.MULTILINE)


@cache
def kernels_version() -> str:
    """Return a digest of the source of every kernel and of all that it imports from Vulcan's packages.

    numba itself only checks whether the kernel's own file has changed, not the files of the helpers that it calls.
    """
    home = Path(__file__).parent.parent
    packages = [path for top in (home, home / "evaluators", home / "traces") for path in top.glob("vulcan_*/")]
    places = (*packages, home / "vulcan" / "anvil" / "native")
    sources = {file: file.read_text(encoding="utf-8") for place in places for file in place.rglob("*.py")}
    pending = [file for file, text in sources.items() if "vulcan.kernel_support" in text]
    roots = {package.name: package for package in (*packages, home / "vulcan")}
    reached: set[Path] = set()
    while pending:
        file = pending.pop()
        if file in reached:
            continue
        reached.add(file)
        text = sources.get(file) or file.read_text(encoding="utf-8")
        for package, module, name in _IMPORT.findall(text):
            if package not in roots:
                continue
            place = roots[package].joinpath(*module.split(".")[1:])
            candidates = (place.with_suffix(".py"), place / f"{name}.py", place / "__init__.py")
            pending += [file for file in candidates if file.is_file()][:1]
    digest = hashlib.sha256(__version__.encode())
    for source in sorted(file.read_bytes() for file in reached):  # wherever a checkout or a wheel has it
        digest.update(source)
    return f"{__version__}-{digest.hexdigest()[:16]}"
