"""Binary traces of fixed-size records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vulcan_traces.notes import SKIPPED, NoteCounts
from vulcan_traces.parsing.compression import decompressed
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests

Records = npt.NDArray[np.void]
Convert = Callable[[Records], tuple[RawRequests, npt.NDArray[np.bool_]]]
"""From records to requests, and which records are malformed; both of shape (records,)."""

_BLOCK = 1 << 24


def read_records(source: Source, record: np.dtype[np.void], convert: Convert, why: str) -> Iterator[RawRequests]:
    """Yield all requests of the file, in blocks. `why` explains a record that `convert` calls malformed.

    Raises UserError naming the first malformed or cut record, numbered from 1, unless they are skipped.
    """
    records_before = 0
    data = bytearray()

    def whole_records() -> RawRequests:
        nonlocal records_before
        count = len(data) // record.itemsize
        requests, malformed = convert(np.frombuffer(bytes(data[: count * record.itemsize]), record))
        if malformed.any():
            if not source.skip_bad_lines:
                raise source.malformed("record", records_before + int(np.argmax(malformed)) + 1, why)
            kept = ~malformed
            notes = NoteCounts({(SKIPPED, why.partition(":")[0]): int(malformed.sum())})
            requests = RawRequests(
                requests.keys[kept], requests.sizes[kept], requests.times[kept], requests.notes + notes, len(kept)
            )
        records_before += count
        del data[: count * record.itemsize]
        return requests

    for chunk in decompressed(source.path):
        data += chunk
        if len(data) >= _BLOCK:
            yield whole_records()
    last = whole_records()
    if data:
        if not source.skip_bad_lines:
            cut = f"cut short: {len(data)} of {record.itemsize} bytes"
            raise source.malformed("record", records_before + 1, cut)
        notes = last.notes + NoteCounts({(SKIPPED, "cut short"): 1})
        last = replace(last, notes=notes, lines=1 + (len(last.keys) if last.lines is None else last.lines))
    yield last


def head_records(source: Source, record: np.dtype[np.void]) -> Records:
    """Return the whole records within the head of the file."""
    return np.frombuffer(source.head, record, len(source.head) // record.itemsize)
