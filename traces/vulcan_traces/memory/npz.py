"""Recorded page counts in an `.npz` file.

The file has four columns of one length: `epoch`, `page`, `loads` and `stores`, all of them whole numbers: in this
epoch, this page was so often read and written. A pair of epoch and page may come in several rows, which add up. Epochs
and pages that are not there had no access. Pages may have any numbers.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan.inputs import open_regular
from vulcan_traces.memory.page_counts import PageCounts, in_order_of_first_touch
from vulcan_traces.parsing.compression import DAMAGED

COLUMNS = ("epoch", "page", "loads", "stores")

MAX_CELLS = 2**27
"""Intervals times pages: both counts of all of them take a GiB."""

MAX_ROWS = 2**24
"""Rows of a file, and pages and epochs of a recording: sorting them takes a GiB."""

OVERLAP, COMPUTE = 4.0, 10.0
"""Assumptions about a program of which only the counts are known: see `PageCounts`."""

_HINT = (
    f"a file with the columns {', '.join(COLUMNS)}, which `vulcan traces pages` writes from recordings and from CSV, "
    "or a workload such as gups:pages=8192 is needed"
)
_MAX_HEADER = 1 << 12


def read_page_counts(path: Path, digest: str, page_size: int) -> PageCounts:
    """Raises UserError for a file that is not of this form, has a negative number, or is too large."""
    epoch, page, loads, stores = _columns(path)
    intervals, pages = int(epoch.max()) + 1, np.unique(page)
    if intervals * len(pages) > MAX_CELLS:
        raise UserError(
            f"{path}: {intervals:,} epochs of {len(pages):,} pages are too many: at most {MAX_CELLS:,} counts fit; "
            "join epochs or use larger pages"
        )
    cells = epoch * len(pages) + np.searchsorted(pages, page)
    order = np.argsort(cells)
    cells = cells[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    shape = (intervals, len(pages))
    loads_of, stores_of = (_table(path, cells[starts], starts, values[order], shape) for values in (loads, stores))
    made = in_order_of_first_touch(loads_of, stores_of)
    return PageCounts(path.name, digest, page_size, *made, overlap=OVERLAP, compute=COMPUTE)


def _columns(path: Path) -> list[NDArray[np.int64]]:
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if missing := [name for name in COLUMNS if f"{name}.npy" not in names]:
                raise UserError(f"{path}: has no column {missing[0]!r}; {_HINT}")
            given = {name: _column(path, archive, name) for name in COLUMNS}
    except (OSError, *DAMAGED) as error:
        raise UserError(f"{path}: not an .npz file of page counts ({error}); {_HINT}") from error
    rows = len(given["epoch"])
    for name, values in given.items():
        if len(values) != rows:
            raise UserError(f"{path}: column {name!r} has {len(values)} rows and 'epoch' has {rows}")
    if not (given["loads"].any() or given["stores"].any()):
        raise UserError(f"{path}: no page is ever accessed")
    return list(given.values())


def _column(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[np.int64]:
    """Return a column of at most `MAX_ROWS` rows. Raises UserError, ValueError and the exceptions of `zipfile`."""
    if archive.getinfo(f"{name}.npy").file_size > _MAX_HEADER + MAX_ROWS * 8:
        raise UserError(f"{path}: has more than {MAX_ROWS:,} rows, and so many are read")
    with archive.open(f"{name}.npy") as file:
        values = np.lib.format.read_array(file, allow_pickle=False)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise UserError(f"{path}: column {name!r} is not a list of whole numbers")
    if not 0 < len(values) <= MAX_ROWS:
        raise UserError(f"{path}: has {len(values):,} rows; from 1 to {MAX_ROWS:,} are read")
    lowest, highest = int(values.min()), int(values.max())
    if lowest < 0 or highest > 2**62:
        raise UserError(f"{path}: column {name!r} has a number that is negative or too large")
    if name == "epoch" and highest >= MAX_CELLS:
        raise UserError(f"{path}: epoch {highest} is too large; number epochs from 0")
    if name in ("loads", "stores") and highest >= 2**32:
        raise _too_often(path)
    return values.astype(np.int64)


def _table(
    path: Path, cells: NDArray[np.int64], starts: NDArray[np.int64], values: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.uint32]:
    sums = np.add.reduceat(values, starts)
    if sums.max() >= 2**32:
        raise _too_often(path)
    table = np.zeros(shape, np.uint32)
    table.reshape(-1)[cells] = sums
    return table


def _too_often(path: Path) -> UserError:
    return UserError(f"{path}: a page has 2^32 accesses or more in one epoch; use shorter epochs")
