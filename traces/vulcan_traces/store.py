"""Decoded traces on disk, so that each is parsed once and held in memory once for all processes of a host."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan.paths import cache_directory
from vulcan_traces.trace import Trace

FORMAT_VERSION = 1
"""Part of every digest: to be raised when the stored columns, or what a reader makes of a file, change."""

_COLUMNS = {
    "objects": np.uint32,
    "sizes": np.uint32,
    "times": np.float64,
    "next_access": np.int64,
    "keys": np.uint64,
}
_META = "meta.json"

log = logging.getLogger(__name__)

Column = npt.NDArray[Any]


def stored_trace(name: str, digest: str) -> Trace | None:
    """The trace of that digest from the cache directory, None where it is not there or is damaged."""
    entry = _entry(digest)
    if not entry.exists():
        return None
    trace = _open(entry, name, digest)
    if trace is None:
        log.warning("the cached trace %s is damaged; it is decoded anew", entry)
    return trace


def keep_trace(trace: Trace) -> Trace:
    """Writes the trace to the cache directory, in one step, and returns it memory-mapped from there.

    Where another process has just done the same, its entry is used. Raises UserError where writing fails.
    """
    entry = _entry(trace.digest)
    try:
        work = Path(tempfile.mkdtemp(prefix=".writing-", dir=entry.parent))
        try:
            _write(work, trace)
            _install(work, entry, trace)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"cannot keep the decoded trace in {entry.parent}: {error.strerror or error}; "
            "make room, or set VULCAN_CACHE_DIR to another place"
        ) from error
    return _open(entry, trace.name, trace.digest) or trace


def _entry(digest: str) -> Path:
    return cache_directory("traces", digest[:2]) / digest


def _write(folder: Path, trace: Trace) -> None:
    checksums = {}
    for column in _COLUMNS:
        values = getattr(trace, column)
        np.save(folder / f"{column}.npy", values, allow_pickle=False)
        checksums[column] = _checksum(values)
    meta = {
        "format_version": FORMAT_VERSION,
        "digest": trace.digest,
        "requests": trace.requests,
        "objects": trace.object_count,
        "skipped_lines": trace.skipped_lines,
        "crc32": checksums,
    }
    (folder / _META).write_text(json.dumps(meta, indent=1), encoding="utf-8")


def _install(work: Path, entry: Path, trace: Trace) -> None:
    """Moves the written folder into place. A directory cannot replace one that holds files, so an entry that
    is in the way is used if it is good, and else moved aside first."""
    for _ in range(3):
        try:
            os.replace(work, entry)
            return
        except OSError:
            if not entry.exists():
                raise
        if _open(entry, trace.name, trace.digest) is not None:
            return
        aside = Path(tempfile.mkdtemp(prefix=".damaged-", dir=entry.parent))
        try:
            os.replace(entry, aside / entry.name)
        except FileNotFoundError:
            log.info("%s was removed by another process", entry)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _open(entry: Path, name: str, digest: str) -> Trace | None:
    """The trace in a folder, None where anything about it is not as it was written."""
    try:
        meta = json.loads((entry / _META).read_text(encoding="utf-8"))
        columns = {column: _load(entry / f"{column}.npy") for column in _COLUMNS}
        skipped_lines = int(meta["skipped_lines"])
        intact = meta["digest"] == digest and all(
            column.dtype == _COLUMNS[what]
            and column.shape == (meta["objects"] if what == "keys" else meta["requests"],)
            and _checksum(column) == meta["crc32"][what]
            for what, column in columns.items()
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    if not intact:
        return None
    return Trace(name, digest, **columns, skipped_lines=skipped_lines)


def _load(path: Path) -> Column:
    column: Column = np.load(path, mmap_mode="r", allow_pickle=False)
    return column


def _checksum(column: Column) -> int:
    """CRC-32 of the values: an index out of range in a damaged column would crash compiled code."""
    return zlib.crc32(np.ascontiguousarray(column).view(np.uint8).data)
