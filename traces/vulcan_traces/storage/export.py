"""Export of traces: oracleGeneral and CSV, plain or compressed."""

from __future__ import annotations

import gzip
import lzma
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from vulcan.errors import UserError, did_you_mean
from vulcan.zstd import ZstdFile
from vulcan_traces.request_trace import Trace

FORMATS = ("oracleGeneral", "csv")

_ENDINGS = {".oraclegeneral": "oracleGeneral", ".oraclegeneral.bin": "oracleGeneral", ".csv": "csv"}
_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_ROWS = 1 << 18
_TOO_LARGE = 2**32


def write_requests(
    trace: Trace, path: Path, *, first: int | None = None, to: str | None = None, replace: bool = False
) -> None:
    """Write the requests of a trace, or its `first` ones; `to` is one of FORMATS, or None to derive it from the path.

    oracleGeneral is libCacheSim's: whole seconds, and the next access counted from 1. CSV has the header time,id,size;
    read again, its times are within one part in 2^51 of what they were.
    An ending .zst, .gz or .xz has the file compressed. Raises UserError where the format is not clear, times or sizes
    do not fit into it, or the file exists (unless `replace`) or cannot be written.
    """
    stem, compression = path.name.lower(), ""
    for ending in (".gz", ".xz", ".zst"):
        if stem.endswith(ending):
            stem, compression = stem.removesuffix(ending), ending
    if to is None:
        to = next((form for ending, form in _ENDINGS.items() if stem.endswith(ending)), None)
        if to is None:
            raise UserError(f"{path}: its name does not say its format; end it in .csv or .oracleGeneral, or give --to")
    if to not in FORMATS:
        raise UserError(f"no format {to!r} to write{did_you_mean(to, FORMATS)} (one of {', '.join(FORMATS)})")
    count = trace.requests if first is None else min(first, trace.requests)
    blocks = _records(trace, count, path) if to == "oracleGeneral" else _lines(trace, count)
    with _new_file(path, replace=replace) as plain, _compressed(plain, compression) as file:
        for block in blocks:
            file.write(block)


@contextmanager
def _compressed(plain: BinaryIO, compression: str) -> Iterator[Any]:
    """Return a writer that compresses. The output is deterministic: gzip stores no time."""
    if compression == ".gz":
        with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as file:
            yield file
    elif compression == ".xz":
        with lzma.LZMAFile(plain, "wb") as file:
            yield file
    elif compression == ".zst":
        with ZstdFile(plain, "wb") as file:
            yield file
    else:
        yield plain


def _records(trace: Trace, count: int, path: Path) -> Iterator[bytes]:
    times = trace.times[:count]
    if not 0 <= np.floor(times.min()) <= times.max() < _TOO_LARGE:
        raise UserError(f"{path}: oracleGeneral has times from 0 to 2^32 - 1 seconds, and the trace has others")
    if trace.sizes[:count].max() >= _TOO_LARGE:
        raise UserError(
            f"{path}: oracleGeneral has sizes up to 2^32 - 1 bytes, and the trace has larger ones: write CSV"
        )
    for rows in _blocks(count):
        records = np.empty(len(times[rows]), _RECORD)
        records["time"], records["size"] = np.floor(times[rows]), trace.sizes[rows]
        records["id"], following = trace.keys[trace.objects[rows]], trace.next_access[rows]
        records["next"] = np.where((following < 0) | (following >= count), -1, following + 1)
        yield records.tobytes()


def _lines(trace: Trace, count: int) -> Iterator[bytes]:
    yield b"time,id,size\n"
    for rows in _blocks(count):
        columns = (trace.times[rows].tolist(), trace.keys[trace.objects[rows]].tolist(), trace.sizes[rows].tolist())
        yield "".join(
            f"{int(time) if time.is_integer() else repr(time)},{key},{size}\n"
            for time, key, size in zip(*columns, strict=True)
        ).encode()


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _ROWS, count)) for start in range(0, count, _ROWS))


@contextmanager
def _new_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Yield a temporary file next to `path`, which replaces it on success and is removed on failure.

    Raises UserError where `path` exists and is not to be replaced, or no file (a device would be replaced by one), and
    where writing fails.
    """
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is {'a directory' if path.is_dir() else 'no regular file'}; name a file")
    if path.exists() and not replace:
        raise UserError(f"{path} exists; give --force to replace it")
    temporary = path.with_name(f".{secrets.token_hex(6)}.writing")
    try:
        try:
            with temporary.open("xb") as file:
                yield file
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}; nothing is kept of it") from error
