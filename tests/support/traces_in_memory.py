"""Traces that are built in memory, without files."""

from __future__ import annotations

import numpy as np

from vulcan_traces.kernels.numbering import link_next_accesses
from vulcan_traces.notes import SKIPPED, notes_of
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.request_trace import Trace, without_request
from vulcan_traces.storage.dense_ids import DenseIds


def skipped(trace: Trace) -> int:
    """Return the number of malformed lines that were left out."""
    return sum(note.count for note in trace.notes if note.kind == SKIPPED)


def build_trace(name: str, digest: str, raw: RawRequests) -> Trace:
    """Build a trace in memory from a reader's or a generator's columns. Raises UserError if there is no request."""
    if not len(raw.keys):
        raise without_request(name, notes_of(raw.notes))
    ids, following = DenseIds(), np.empty(len(raw.keys), np.int64)
    objects = ids.number(raw.keys)
    link_next_accesses(objects, 0, np.full(ids.count, -1, np.int64), following)
    columns = (objects, raw.sizes, raw.times, following, ids.keys)
    for column in columns:
        column.flags.writeable = False
    return Trace(name, digest, *columns, notes=notes_of(raw.notes))
