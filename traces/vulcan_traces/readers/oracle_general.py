"""oracleGeneral, the binary format of libCacheSim (Yang et al., github.com/cacheMon/libCacheSim).

Packed little-endian records of 24 bytes: time u32 in seconds, object id u64, size u32 in bytes, and the
request index of the object's next access i64 (-1 or 2^63 - 1: never). The id and the size are taken as they
are; a size of 0 is unknown (libCacheSim by default leaves such requests out). The next access is recomputed, for
the file's own is stale in a trace that was cut or sampled; below -1 it shows that the file is not of this
format.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from vulcan_traces.parsing.record_table import Records, head_records, read_records
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, without_choices

_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_NEVER = (-1, 2**63 - 1)
_MAX_REQUESTS = 2**40


def _convert(records: Records) -> tuple[RawRequests, npt.NDArray[np.bool_]]:
    requests = RawRequests(
        records["id"].astype(np.uint64), records["size"].astype(np.int64), records["time"].astype(np.float64)
    )
    return requests, records["next"] < -1


def _read(source: Source) -> Iterator[RawRequests]:
    return read_records(source, _RECORD, _convert, "not an oracleGeneral record: its next access is below -1")


def _recognises(source: Source) -> bool:
    """Check that each next access lies ahead at a plausible distance, and that times do not go back."""
    records = head_records(source, _RECORD)
    following = records["next"]
    ahead = np.isin(following, _NEVER) | ((following > np.arange(len(records))) & (following < _MAX_REQUESTS))
    in_order = np.all(np.diff(records["time"].astype(np.int64)) >= 0)
    return bool(len(records) and ahead.all() and in_order)


FORMAT = Format(
    "oracleGeneral",
    "libCacheSim's binary trace: time, id, size, next access",
    without_choices(_read),
    _recognises,
    (".oraclegeneral", ".oraclegeneral.bin"),
)
