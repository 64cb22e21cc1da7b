"""Page counts from recordings of a running program: sampled accesses, DAMON's regions, and tables of pages.

Four texts are read, told apart by their first line or line by line:

- `perf script -F time,event,addr` of `perf mem record`: one sampled access a line,
  `12.345678: cpu/mem-loads/P:  7f0b5c0a2010`. Further fields may be there: a period before the event, which multiplies
  the sample, and `data_src` after the address. A sample is a store where its event's name or its data source says so,
  else a load.
- `perf script` of DAMON's tracepoint `damon:damon_aggregated` (Linux 5.15 and later): one region a line,
  `target_id=0 nr_regions=11 122509119488-135708762112: 3 0`. DAMON takes all pages of a region to be accessed alike, so
  each has the region's `nr_accesses`.
- Idle pages, as the kernel's `tools/mm/page-types` lists them: `page-types -p PID -L -N -i` again and again, each time
  a header, `voffset offset flags`, and a line for each page, in hexadecimal numbers of 4 KiB pages. Each listing is an
  epoch; a page in memory without the flag `i` was accessed since the one before, which marked all idle (one load).
  Ranges (`-l`, with `len`) are read too.
- CSV with a header that names `epoch` and `page`, and `loads` and `stores` where they are known. A row without counts
  is one load.

None of these has every access. `scale` says how many accesses one that was recorded stands for: the sampling period of
perf where the samples do not have it; for DAMON a guess, as it only tells that a page was accessed since its last
check.
"""

from __future__ import annotations

import csv
import io
import logging
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan.inputs import whole_number
from vulcan_traces.memory.npz import COLUMNS, MAX_CELLS, MAX_ROWS
from vulcan_traces.parsing.source import Source

log = logging.getLogger(__name__)

_SAMPLE = re.compile(
    r"(?P<time>\d+\.\d+):\s+(?:(?P<period>\d+)\s+)?(?P<event>\S+):\s+(?:0x)?(?P<address>[0-9a-f]+)(?P<rest>\s.*)?$"
)
_REGION = re.compile(
    r"(?P<time>\d+\.\d+):\s+(?:damon:)?damon_aggregated:\s+target_id=(?P<target>\d+)\s+nr_regions=\d+\s+"
    r"(?P<start>\d+)-(?P<end>\d+):\s+(?P<accesses>\d+)(?:\s+\d+)?\s*$"
)
_IDLE_HEADER, _IDLE_OR_SWAPPED = "voffset", "iw"
_SPACES = 1 << 52
"""Pages of an address space: those of a further target of DAMON are numbered from here, and so on."""

_MAX_PAGE = 1 << 62
_NO_ACCESS = ("PERF_RECORD_", "[LOST ")
"""Parts of lines in which perf, or the kernel's tracer, says that it lost events, or lists something else."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Page counts as the columns of an `.npz` file: arrays of shape (rows,), one row for an epoch and a page."""

    columns: dict[str, NDArray[np.int64]]

    @property
    def epochs(self) -> int:
        return int(self.columns["epoch"].max()) + 1

    @property
    def pages(self) -> int:
        return len(np.unique(self.columns["page"]))

    def write(self, path: Path) -> None:
        """Write the file that `load_page_counts` reads. Raises UserError where it cannot be written."""
        try:
            with path.open("xb") as file:
                np.savez_compressed(file, **self.columns)  # type: ignore[arg-type]
        except FileExistsError:
            raise UserError(f"{path} is there already; remove it, or name another file") from None
        except OSError as error:
            raise UserError(f"{path}: cannot be written: {error.strerror}") from error


def read_recording(path: Path, *, epoch_seconds: float, page_size: int, scale: int = 1) -> Recording:
    """Count the accesses of each page in each epoch of `epoch_seconds`, from the first record.

    `page_size` is a power of two in bytes. Lines in which perf says that it lost events, or lists something other than
    samples, are skipped, with a log warning. Raises UserError for a file that cannot be read, has a line of no known
    form or no access at all, or covers too many pages.
    """
    if not epoch_seconds > 0:
        raise UserError(f"epochs of {epoch_seconds:g} s: more than 0 is needed")
    if scale < 1 or page_size < 1 or page_size & (page_size - 1):
        raise UserError(f"scale {scale} and page size {page_size}: a whole number from 1 and a power of two are needed")
    source = Source(path)
    source.check()
    lines = _Lines(source)
    ranges = array("q")
    pages = 0
    try:
        for epoch, first, last, loads, stores in _records(lines, epoch_seconds, page_size.bit_length() - 1):
            if last > _MAX_PAGE or epoch >= MAX_CELLS or max(loads, stores) * scale >= 2**32:
                raise ValueError("a number is too large")
            pages += last - first
            if pages > MAX_ROWS:
                raise UserError(f"{path}: more than {MAX_ROWS:,} pages and epochs; use larger pages, or a part of it")
            ranges.extend((epoch, first, last, loads * scale, stores * scale))
    except (ValueError, OverflowError) as error:
        raise source.malformed("line", lines.number, str(error)) from error
    if not ranges:
        raise UserError(f"{path}: has no access of a page")
    if lines.skipped:
        log.warning("%s: %d lines of lost events, or of no access, were skipped", path, lines.skipped)
    return Recording(dict(zip(COLUMNS, _sums(np.array(ranges).reshape(-1, 5)), strict=True)))


def _sums(ranges: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return epochs and pages, sorted, and the loads and stores of each, from rows of a range of pages."""
    lengths = ranges[:, 2] - ranges[:, 1]
    rows = np.repeat(np.arange(len(ranges)), lengths)
    pages = ranges[rows, 1] + np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    order = np.lexsort((pages, ranges[rows, 0]))
    rows, pages = rows[order], pages[order]
    epochs = ranges[rows, 0]
    starts = np.flatnonzero((np.diff(epochs, prepend=-1) != 0) | (np.diff(pages, prepend=-1) != 0))
    loads, stores = (np.add.reduceat(ranges[rows, column], starts) for column in (3, 4))
    return epochs[starts], pages[starts], loads, stores


class _Lines:
    """The lines of a text, with the number of the last one and how many were skipped."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.number = 0
        self.skipped = 0

    def __iter__(self) -> Iterator[str]:
        for _, block in self.source.line_blocks():
            for line in io.BytesIO(block):
                self.number += 1
                yield line.decode("utf-8", "replace").rstrip("\r\n")


def _records(lines: _Lines, epoch_seconds: float, bits: int) -> Iterator[tuple[int, int, int, int, int]]:
    """Generate epoch, first page, end of the pages, loads and stores of each record that has an access.

    Raises ValueError or OverflowError for the last line read.
    """
    head = lines.source.first_lines[0].decode("utf-8", "replace") if lines.source.first_lines else ""
    if {"epoch", "page"} <= {cell.strip() for cell in head.split(",")}:
        return _rows_of_table(lines)
    if head.startswith(_IDLE_HEADER):
        return _lines_of_page_types(lines, bits)
    return _lines_of_perf(lines, epoch_seconds, bits)


def _lines_of_page_types(lines: _Lines, bits: int) -> Iterator[tuple[int, int, int, int, int]]:
    epoch, fields = -1, 3
    for line in lines:
        cells = line.split()
        if line.startswith(_IDLE_HEADER):
            epoch, fields = epoch + 1, len(cells)
            continue
        if not cells:
            continue
        try:
            page = whole_number(cells[0], 16)
            length = whole_number(cells[2], 16) if fields == 4 else 1
        except (ValueError, IndexError):
            length = 0
        if length < 1 or page < 0 or len(cells) != fields:
            raise ValueError("not a page as `page-types -p PID -L -N -i` lists it")
        if not set(_IDLE_OR_SWAPPED) & set(cells[-1]):
            first, end = page << 12 >> bits, -(-((page + length) << 12) >> bits)
            yield epoch, first, end, 1, 0


def _lines_of_perf(lines: _Lines, epoch_seconds: float, bits: int) -> Iterator[tuple[int, int, int, int, int]]:
    began: float | None = None
    targets: dict[str, int] = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        found = _REGION.search(line) or _SAMPLE.search(line)
        if found is None:
            if not any(mark in line for mark in _NO_ACCESS):
                raise ValueError("neither a sampled access (perf script -F time,event,addr) nor a DAMON region")
            lines.skipped += 1
            continue
        time = float(found["time"])
        began = time if began is None else began
        epoch = max(0, int((time - began) / epoch_seconds))
        if found.re is _REGION:
            base = targets.setdefault(found["target"], len(targets)) * _SPACES
            first, end = whole_number(found["start"]) >> bits, -(-whole_number(found["end"]) >> bits)
            if (accesses := whole_number(found["accesses"])) and first < end:
                yield epoch, base + first, base + end, accesses, 0
            continue
        address = whole_number(found["address"], 16)
        if address == 0:  # the processor did not record it
            continue
        count = whole_number(found["period"] or "1")
        stores = "store" in found["event"] or "OP STORE" in (found["rest"] or "")
        page = address >> bits
        yield epoch, page, page + 1, 0 if stores else count, count if stores else 0


def _rows_of_table(lines: _Lines) -> Iterator[tuple[int, int, int, int, int]]:
    try:
        for row in csv.DictReader(lines, skipinitialspace=True):
            given = {name: row.get(name) for name in COLUMNS}
            try:
                epoch, page = (whole_number(given[name] or "") for name in ("epoch", "page"))
                counts = [whole_number(given[name] or "0") for name in ("loads", "stores")]
            except ValueError:
                raise ValueError(f"{', '.join(COLUMNS)} are whole numbers") from None
            if min(epoch, page, *counts) < 0:
                raise ValueError("a number is negative")
            loads, stores = counts if given["loads"] is not None or given["stores"] is not None else (1, 0)
            if loads or stores:
                yield epoch, page, page + 1, loads, stores
    except csv.Error as error:
        raise ValueError(str(error)) from error
