"""Decoded traces on disk, so that each is parsed once and held in memory once for all processes of a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vulcan_traces.array_store import Array, ArrayStore
from vulcan_traces.trace import Trace

FORMAT_VERSION = 1
"""Part of every digest: to be raised when the stored columns, or what a reader makes of a file, change."""


def stored_trace(name: str, digest: str) -> Trace | None:
    """The trace of that digest from the cache directory, None where it is not there or is damaged."""
    return _STORE.find(name, digest)


def keep_trace(trace: Trace) -> Trace:
    """Writes the trace to the cache directory, and returns it memory-mapped from there.

    See `ArrayStore.keep`. Raises UserError where writing fails.
    """
    columns = {column: getattr(trace, column) for column in _STORE.types}
    meta = {
        "format_version": FORMAT_VERSION,
        "requests": trace.requests,
        "objects": trace.object_count,
        "skipped_lines": trace.skipped_lines,
    }
    return _STORE.keep(trace.name, trace.digest, columns, meta) or trace


def _trace(name: str, digest: str, meta: Mapping[str, Any], columns: Mapping[str, Array]) -> Trace | None:
    for column, values in columns.items():
        if values.shape != (meta["objects"] if column == "keys" else meta["requests"],):
            return None
    return Trace(name, digest, **columns, skipped_lines=int(meta["skipped_lines"]))


_STORE = ArrayStore(
    "traces",
    "decoded trace",
    {"objects": np.uint32, "sizes": np.uint32, "times": np.float64, "next_access": np.int64, "keys": np.uint64},
    _trace,
)
