"""Page counts on disk, so that each workload is run once on a host."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan.paths import cache_directory
from vulcan_traces.memory.page_counts import PageCounts

_ARRAYS = {"loads": (np.uint32, 2), "stores": (np.uint32, 2), "arrivals": (np.int32, 1)}
_META = "meta.json"

log = logging.getLogger(__name__)


def stored_counts(name: str, digest: str) -> PageCounts | None:
    """The page counts of that digest, None where they are not there or damaged."""
    place = _place(digest)
    if not place.exists():
        return None
    counts = _open(place, name, digest)
    if counts is None:
        log.warning("the kept page counts %s are damaged, and made anew", place)
    return counts


def keep_counts(counts: PageCounts) -> PageCounts:
    """Write them in one step, and return them memory-mapped from there. Raises UserError where writing fails."""
    place = _place(counts.digest)
    try:
        work = Path(tempfile.mkdtemp(prefix=".writing-", dir=place.parent))
        try:
            _write(work, counts)
            _install(work, place, counts)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"cannot keep page counts in {place.parent}: {error.strerror or error}; "
            "make room, or set VULCAN_CACHE_DIR to another place"
        ) from error
    return _open(place, counts.name, counts.digest) or counts


def _place(digest: str) -> Path:
    return cache_directory("page-counts", digest[:2]) / digest


def _write(folder: Path, counts: PageCounts) -> None:
    checksums = {}
    for name in _ARRAYS:
        values = getattr(counts, name)
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
        checksums[name] = _checksum(values)
    meta = {
        "digest": counts.digest, "page_size": counts.page_size, "overlap": counts.overlap, "compute": counts.compute,
        "crc32": checksums,
    }  # fmt: skip
    (folder / _META).write_text(json.dumps(meta), encoding="utf-8")


def _install(work: Path, place: Path, counts: PageCounts) -> None:
    """What is in the way is used if it is good (another process made the same), and else moved aside first."""
    for _ in range(3):
        try:
            os.replace(work, place)
            return
        except OSError:
            if not place.exists():
                raise
        if _open(place, counts.name, counts.digest) is not None:
            return
        aside = Path(tempfile.mkdtemp(prefix=".damaged-", dir=place.parent))
        try:
            os.replace(place, aside / place.name)
        except FileNotFoundError:
            log.info("%s was removed by another process", place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _open(place: Path, name: str, digest: str) -> PageCounts | None:
    try:
        meta = json.loads((place / _META).read_text(encoding="utf-8"))
        arrays = {n: np.load(place / f"{n}.npy", mmap_mode="r", allow_pickle=False) for n in _ARRAYS}
        intact = meta["digest"] == digest and all(
            values.dtype == _ARRAYS[n][0] and values.ndim == _ARRAYS[n][1] and _checksum(values) == meta["crc32"][n]
            for n, values in arrays.items()
        )
        if not intact:
            return None
        return PageCounts(
            name, digest, int(meta["page_size"]), **arrays,
            overlap=float(meta["overlap"]), compute=float(meta["compute"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def _checksum(values: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data)
