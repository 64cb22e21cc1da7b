"""Cache of decoded traces on disk: each is parsed once per host, and memory-mapped by all its processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.notes import Note, notes_of, one_line
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.request_trace import Trace
from vulcan_traces.storage.array_store import Array, ArrayStore
from vulcan_traces.storage.column_files import write_columns

FORMAT_VERSION = 3
"""Part of every digest: to be raised when the stored columns, or what a reader makes of a file, change."""


def cached_trace(name: str, digest: str, make: Callable[[], Iterable[RawRequests]]) -> Trace:
    """Return the trace of that digest, memory-mapped from the cache directory; it is made from its requests if missing.

    Made once on a host, and never wholly in memory: see `column_files`. Raises UserError where `make` or what it gives
    does, there is no request, or writing fails.
    """

    def write(folder: Path) -> Mapping[str, Any]:
        requests, objects, counts = write_columns(folder, make())
        notes = notes_of(counts)
        if not requests:
            raise UserError(f"{name}: the trace holds no request" + (f" ({one_line(notes)})" if notes else ""))
        return {
            "format_version": FORMAT_VERSION,
            "requests": requests,
            "objects": objects,
            "notes": [asdict(note) for note in notes],
        }

    return _STORE.find_or_make(name, digest, write)


def _trace(name: str, digest: str, meta: Mapping[str, Any], columns: Mapping[str, Array]) -> Trace | None:
    for column, values in columns.items():
        if values.shape != (meta["objects"] if column == "keys" else meta["requests"],):
            return None
    return Trace(name, digest, **columns, notes=tuple(Note(**note) for note in meta["notes"]))


_STORE = ArrayStore(
    "traces",
    "decoded trace",
    {"objects": np.uint32, "sizes": np.int64, "times": np.float64, "next_access": np.int64, "keys": np.uint64},
    _trace,
)
