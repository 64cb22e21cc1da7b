"""Recorded page counts in an `.npz` file.

The file has four columns of one length: `epoch`, `page`, `loads` and `stores`, all of them whole numbers: in this
epoch, this page was so often read and written. A pair of epoch and page may come in several rows, which add up. Epochs
and pages that are not there had no access. Pages may have any numbers.
"""

from __future__ import annotations

import lzma
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan_traces.memory.page_counts import PageCounts, in_order_of_first_touch

COLUMNS = ("epoch", "page", "loads", "stores")

MAX_CELLS = 2**27
"""Intervals times pages: both counts of all of them take a GiB."""

OVERLAP, COMPUTE = 4.0, 10.0
"""Assumptions about a program of which only the counts are known: see `PageCounts`."""


def read_page_counts(path: Path, digest: str, page_size: int) -> PageCounts:
    """Raises UserError for a file that is not of this form, has a negative number, or is too large."""
    epoch, page, loads, stores = _columns(path)
    epochs, rows = np.unique(epoch, return_inverse=True)
    intervals = int(epochs[-1]) + 1
    pages, columns = np.unique(page, return_inverse=True)
    if intervals * len(pages) > MAX_CELLS:
        raise UserError(
            f"{path}: {intervals:,} epochs of {len(pages):,} pages are too many: at most {MAX_CELLS:,} counts fit; "
            "join epochs or use larger pages"
        )
    shape = (intervals, len(pages))
    loads_of, stores_of = (_counted(path, epochs[rows], columns, values, shape) for values in (loads, stores))
    if not (loads_of.any() or stores_of.any()):
        raise UserError(f"{path}: no page is ever accessed")
    made = in_order_of_first_touch(loads_of, stores_of)
    return PageCounts(path.name, digest, page_size, *made, overlap=OVERLAP, compute=COMPUTE)


def _columns(path: Path) -> list[NDArray[np.int64]]:
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise UserError(f"{path}: one array, where an .npz file with {', '.join(COLUMNS)} is needed")
        with loaded as file:
            if missing := [name for name in COLUMNS if name not in file.files]:
                raise UserError(f"{path}: has no column {missing[0]!r}; {', '.join(COLUMNS)} are needed")
            given = {name: file[name] for name in COLUMNS}
    except FileNotFoundError:
        raise UserError(f"no page counts at {path}: there is no such file") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a directory; name a file of page counts") from None
    except (
        OSError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        SyntaxError,
        RuntimeError,
        MemoryError,
        OverflowError,
        struct.error,
        tokenize.TokenError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
    ) as error:
        raise UserError(f"{path}: not an .npz file of page counts: {error}") from error
    return [_whole(path, name, given[name], len(given["epoch"])) for name in COLUMNS]


def _whole(path: Path, name: str, values: NDArray[np.generic], rows: int) -> NDArray[np.int64]:
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
        raise UserError(f"{path}: column {name!r} is not a list of whole numbers")
    if len(values) != rows:
        raise UserError(f"{path}: column {name!r} has {len(values)} rows and 'epoch' has {rows}")
    if not rows:
        raise UserError(f"{path}: has no rows")
    if int(values.min()) < 0 or int(values.max()) > 2**62:
        raise UserError(f"{path}: column {name!r} has a number that is negative or too large")
    if name == "epoch" and int(values.max()) >= MAX_CELLS:
        raise UserError(f"{path}: epoch {int(values.max())} is too large; number epochs from 0")
    return values.astype(np.int64)


def _counted(
    path: Path,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.int64],
    shape: tuple[int, int],
) -> NDArray[np.uint32]:
    table = np.zeros(shape, np.int64)
    np.add.at(table, (rows, columns), values)
    if table.max() >= 2**32 or table.min() < 0:
        raise UserError(f"{path}: a page has 2^32 accesses or more in one epoch; use shorter epochs")
    return table.astype(np.uint32)
