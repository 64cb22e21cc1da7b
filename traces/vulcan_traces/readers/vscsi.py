"""vscsi, the disk traces of VMware's vscsiStats, as in the CloudPhysics traces (Waldspurger et al., FAST
2015).

Little-endian records, recognised by the version in the high byte of `ver`. Version 1, 32 bytes: serial number
u32, length u32 in bytes, scatter-gather entries u32, command u16, ver u16, block u64, time u64 in
microseconds. Version 2, 40 bytes: command u16, ver u16, serial number u32, length u32, entries u32, block
u64, time u64, response time u64. As in libCacheSim an object is the first block number of an I/O and its size
the length of the I/O; reads, writes and other commands count alike unless operations are given. With a page size,
blocks being of 512 bytes, a request is one for each page that the I/O touches. Times keep their microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.notes import OPERATION, NoteCounts
from vulcan_traces.parsing.column_spec import ColumnSpec
from vulcan_traces.parsing.record_table import Records, head_records, read_records
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests, in_pages
from vulcan_traces.readers.format import Format

_VERSION_1 = np.dtype(
    [
        ("sn", "<u4"),
        ("size", "<u4"),
        ("sg", "<u4"),
        ("cmd", "<u2"),
        ("ver", "<u2"),
        ("id", "<u8"),
        ("us", "<u8"),
    ]
)
_VERSION_2 = np.dtype(
    [
        ("cmd", "<u2"),
        ("ver", "<u2"),
        ("sn", "<u4"),
        ("size", "<u4"),
        ("sg", "<u4"),
        ("id", "<u8"),
        ("us", "<u8"),
        ("response", "<u8"),
    ]
)
_COMMANDS = {"read": (0x08, 0x28, 0x88, 0xA8), "write": (0x0A, 0x2A, 0x8A, 0xAA)}
"""Operation codes of SCSI (SBC-3) by what they do to blocks, with 6 to 16 bytes."""
_SHORT = {"r": "read", "w": "write"}
_LOOKED_AT = 100
_SECTOR = 512


def _version(source: Source, records: int) -> int:
    """Return the version that the first records have: 1 or 2, or 0 where they are of neither."""
    for version, record in ((2, _VERSION_2), (1, _VERSION_1)):
        first = head_records(source, record)[:records]
        if len(first) and np.all(first["ver"] >> 8 == version):
            return version
    return 0


def _read(source: Source, spec: ColumnSpec) -> Iterator[RawRequests]:
    taken = {_SHORT.get(name, name) for name in spec.taken}
    if taken - {*_COMMANDS}:
        raise UserError(f"{source.path}: vscsi has reads and writes: give ops=read or ops=write")
    version = _version(source, _LOOKED_AT) or _version(source, 1)
    if not version:
        raise UserError(f"{source.path}: not a vscsi trace: record 1 is of neither version 1 nor version 2")

    def convert(records: Records) -> tuple[RawRequests, npt.NDArray[np.bool_]]:
        malformed = records["ver"] >> 8 != version
        times, notes = records["us"] / 1e6, NoteCounts()
        if taken:
            of = {name: np.isin(records["cmd"] & 0xFF, codes) for name, codes in _COMMANDS.items()}
            of["other"] = ~(of["read"] | of["write"])
            for name, are in of.items():
                if name not in taken:
                    times[are] = np.nan
                    notes[OPERATION, name] += int((are & ~malformed).sum())
        return RawRequests(records["id"].astype(np.uint64), records["size"].astype(np.int64), times, notes), malformed

    why = f"malformed vscsi record: its version is not {version}, that of the first"
    parts = read_records(source, _VERSION_1 if version == 1 else _VERSION_2, convert, why)
    return in_pages(map(_timed, parts) if taken else parts, _SECTOR, spec.page)


def _timed(part: RawRequests) -> RawRequests:
    """Return the part without the rows that are no requests."""
    kept = ~np.isnan(part.times)
    lines = len(kept) if part.lines is None else part.lines
    return replace(part, keys=part.keys[kept], sizes=part.sizes[kept], times=part.times[kept], lines=lines)


FORMAT = Format(
    "vscsi",
    "VMware's disk trace, versions 1 and 2: block, length, time",
    _read,
    lambda source: _version(source, _LOOKED_AT) > 0,
    (".vscsi",),
)
