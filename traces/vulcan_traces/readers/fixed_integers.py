"""Bare big-endian integers, one object id each, as the caching simulator of Caffeine reads them.

`be-u32` (CloudPhysics w106), `be-i64` (Scarab, Corda) and `be-i32` (cache2k), from
github.com/ben-manes/caffeine. Negative ids are kept in 64-bit two's complement. There is no clock and no
size: a request's time is its index, its size 1. Any file could be of these formats, so they have to be named.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from vulcan_traces.parsing.record_table import Records, read_records
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests, unit_requests, without_clock
from vulcan_traces.readers.format import Format, without_choices


def _format(name: str, code: str, meaning: str) -> Format:
    signed = np.int64 if code[1] == "i" else np.uint64

    def convert(records: Records) -> tuple[RawRequests, npt.NDArray[np.bool_]]:
        keys = records["id"].astype(signed).view(np.uint64)
        return unit_requests(keys), np.zeros(len(records), np.bool_)

    def read(source: Source) -> Iterator[RawRequests]:
        return without_clock(read_records(source, np.dtype([("id", code)]), convert, ""))

    return Format(name, meaning, without_choices(read))


BE_U32 = _format("be-u32", ">u4", "big-endian unsigned 32-bit ids, nothing else")
BE_I32 = _format("be-i32", ">i4", "big-endian signed 32-bit ids, nothing else")
BE_I64 = _format("be-i64", ">i8", "big-endian signed 64-bit ids, nothing else")
