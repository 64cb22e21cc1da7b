"""Traces that are built in memory, without files."""

from __future__ import annotations

from vulcan_traces.notes import SKIPPED, notes_of
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.request_trace import Trace, dense_ids, next_accesses, without_request


def skipped(trace: Trace) -> int:
    """Return the number of malformed lines that were left out."""
    return sum(note.count for note in trace.notes if note.kind == SKIPPED)


def build_trace(name: str, digest: str, raw: RawRequests) -> Trace:
    """Build a trace in memory from a reader's or a generator's columns. Raises UserError if there is no request."""
    if not len(raw.keys):
        raise without_request(name, notes_of(raw.notes))
    objects, keys = dense_ids(raw.keys)
    columns = (objects, raw.sizes, raw.times, next_accesses(objects, len(keys)), keys)
    for column in columns:
        column.flags.writeable = False
    return Trace(name, digest, *columns, notes=notes_of(raw.notes))
