"""Traces that are built in memory, without files."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.kernels.numbering import link_next_accesses
from vulcan_traces.notes import SKIPPED, NoteCounts, notes_of
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.request_trace import Trace
from vulcan_traces.storage.dense_ids import DenseIds


def skipped(trace: Trace) -> int:
    """Return the number of malformed lines that were left out."""
    return sum(note.count for note in trace.notes if note.kind == SKIPPED)


def join(parts: Iterable[RawRequests]) -> RawRequests:
    """Return the parts one after another, in memory."""
    parts = list(parts)
    empty = RawRequests(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.float64))
    everything = parts or [empty]
    return RawRequests(
        np.concatenate([part.keys for part in everything]),
        np.concatenate([part.sizes for part in everything]),
        np.concatenate([part.times for part in everything]),
        sum((part.notes for part in parts), NoteCounts()),
    )


def build_trace(name: str, digest: str, raw: RawRequests) -> Trace:
    """Build a trace in memory from a reader's or a generator's columns. Raises UserError if there is no request."""
    if not len(raw.keys):
        raise UserError(f"{name}: the trace holds no request")
    ids, following = DenseIds(), np.empty(len(raw.keys), np.int64)
    objects = ids.number(raw.keys)
    link_next_accesses(objects, 0, np.full(ids.count, -1, np.int64), following)
    columns = (objects, raw.sizes, raw.times, following, ids.keys)
    for column in columns:
        column.flags.writeable = False
    return Trace(name, digest, *columns, notes=notes_of(raw.notes))
