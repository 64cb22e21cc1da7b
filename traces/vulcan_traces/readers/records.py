"""Binary traces of fixed-size records.

oracleGeneral, of libCacheSim (Yang et al., github.com/cacheMon/libCacheSim): packed little-endian records of 24 bytes,
time u32 in seconds, object id u64, size u32 in bytes, and the request index of the object's next access i64 (-1 or
2^63 - 1: never). A size of 0 is unknown (libCacheSim by default leaves such requests out). The next access is
recomputed, for the file's own is stale in a trace that was cut or sampled; below -1 it shows that the file is not of
this format.

vscsi, the disk traces of VMware's vscsiStats, as in the CloudPhysics traces (Waldspurger et al., FAST 2015):
little-endian records, recognised by the version in the high byte of `ver`. As in libCacheSim an object is the first
block number of an I/O and its size the length of the I/O; reads, writes and other commands count alike. With a page
size, blocks being of 512 bytes, a request is one for each page that the I/O touches. Times keep their microseconds.

Bare big-endian integers, one object id each, as the caching simulator of Caffeine reads them
(github.com/ben-manes/caffeine): `be-u32` (CloudPhysics w106), `be-i64` (Scarab, Corda) and `be-i32` (cache2k).
Negative ids are kept in 64-bit two's complement. There is no clock and no size: a request's time is its index, its size
1. Any file could be of these formats, so they have to be named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.notes import SKIPPED, NoteCounts
from vulcan_traces.parsing.column_spec import ColumnSpec
from vulcan_traces.parsing.compression import decompressed
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests, in_pages, without_clock
from vulcan_traces.readers.format import Format, no_operations, without_choices

Records = npt.NDArray[np.void]
Malformed = Callable[[Records], npt.NDArray[np.bool_]]
"""Tells which records are malformed, of shape (records,)."""

_BLOCK = 1 << 24


def _read(
    source: Source,
    record: np.dtype[np.void],
    malformed: Malformed = lambda records: np.zeros(len(records), np.bool_),
    why: str = "",
    ticks_per_second: float = 1.0,
) -> Iterator[RawRequests]:
    """Yield all requests of the file, in blocks. `why` explains a malformed record.

    A record has an `id`, and where they are known a `time` and a `size`. Raises UserError naming the first malformed or
    cut record, numbered from 1, unless they are skipped.
    """
    before, data = 0, bytearray()
    for chunk in chain(decompressed(source.path), [b""]):
        data += chunk
        if chunk and len(data) < _BLOCK:
            continue
        count = len(data) // record.itemsize
        records = np.frombuffer(bytes(data[: count * record.itemsize]), record)
        del data[: count * record.itemsize]
        bad, notes = malformed(records), NoteCounts()
        faults = {int(np.argmax(bad)): why} if bad.any() else {}
        if data and not chunk:
            faults[count] = f"cut short: {len(data)} of {record.itemsize} bytes"
        for place, fault in faults.items():
            if not source.skip_bad_lines:
                raise source.malformed("record", before + place + 1, fault)
            notes[SKIPPED, fault.partition(":")[0]] += int(bad.sum()) if place < count else 1
        before += count
        yield _requests(records[~bad], notes, count + (count in faults), ticks_per_second)


def _requests(records: Records, notes: NoteCounts, lines: int, ticks_per_second: float) -> RawRequests:
    known = records.dtype.names or ()
    ids, ones = records["id"], np.ones(len(records), np.int64)
    return RawRequests(
        ids.astype(np.int64 if ids.dtype.kind == "i" else np.uint64).view(np.uint64),
        records["size"].astype(np.int64) if "size" in known else ones,
        records["time"] / ticks_per_second if "time" in known else ones.astype(np.float64),
        notes,
        lines,
    )


def _head(source: Source, record: np.dtype[np.void]) -> Records:
    """Return the whole records within the head of the file."""
    return np.frombuffer(source.head, record, len(source.head) // record.itemsize)


_ORACLE = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_NEVER = (-1, 2**63 - 1)
_MAX_REQUESTS = 2**40


def _is_oracle_general(source: Source) -> bool:
    """Check that each next access lies ahead at a plausible distance, and that times do not go back."""
    records = _head(source, _ORACLE)
    following = records["next"]
    ahead = np.isin(following, _NEVER) | ((following > np.arange(len(records))) & (following < _MAX_REQUESTS))
    in_order = np.all(np.diff(records["time"].astype(np.int64)) >= 0)
    return bool(len(records) and ahead.all() and in_order)


ORACLE_GENERAL = Format(
    "oracleGeneral",
    "libCacheSim's binary trace: time, id, size, next access",
    without_choices(
        lambda source: _read(
            source,
            _ORACLE,
            lambda records: records["next"] < -1,
            "not an oracleGeneral record: its next access is below -1",
        )
    ),
    _is_oracle_general,
    (".oraclegeneral", ".oraclegeneral.bin"),
)

_VSCSI = {
    1: np.dtype(
        {
            "names": ["sn", "size", "sg", "cmd", "ver", "id", "time"],
            "formats": ["<u4", "<u4", "<u4", "<u2", "<u2", "<u8", "<u8"],
        }
    ),
    2: np.dtype(
        {
            "names": ["cmd", "ver", "sn", "size", "sg", "id", "time", "response"],
            "formats": ["<u2", "<u2", "<u4", "<u4", "<u4", "<u8", "<u8", "<u8"],
        }
    ),
}
"""By version; times are in microseconds."""

_LOOKED_AT = 100
_SECTOR = 512


def _vscsi_version(source: Source, records: int = _LOOKED_AT) -> int:
    """Return the version that the first records have: 1 or 2, or 0 where they are of neither."""
    for version in (2, 1):
        first = _head(source, _VSCSI[version])[:records]
        if len(first) and np.all(first["ver"] >> 8 == version):
            return version
    return 0


def _read_vscsi(source: Source, spec: ColumnSpec) -> Iterator[RawRequests]:
    if spec.taken:
        raise no_operations(source)
    version = _vscsi_version(source) or _vscsi_version(source, 1)
    if not version:
        raise UserError(f"{source.path}: not a vscsi trace: record 1 is of neither version 1 nor version 2")
    why = f"malformed vscsi record: its version is not {version}, that of the first"
    parts = _read(source, _VSCSI[version], lambda records: records["ver"] >> 8 != version, why, 1e6)
    return in_pages(parts, _SECTOR, spec.page)


VSCSI = Format(
    "vscsi",
    "VMware's disk trace, versions 1 and 2: block, length, time",
    _read_vscsi,
    lambda source: _vscsi_version(source) > 0,
    (".vscsi",),
)


def _integers(name: str, code: str, meaning: str) -> Format:
    record = np.dtype([("id", code)])
    return Format(name, meaning, without_choices(lambda source: without_clock(_read(source, record))))


BE_U32 = _integers("be-u32", ">u4", "big-endian unsigned 32-bit ids, nothing else")
BE_I32 = _integers("be-i32", ">i4", "big-endian signed 32-bit ids, nothing else")
BE_I64 = _integers("be-i64", ">i8", "big-endian signed 64-bit ids, nothing else")
