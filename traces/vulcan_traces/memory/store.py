"""Page counts on disk, so that each workload is run once on a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vulcan_traces.array_store import Array, ArrayStore
from vulcan_traces.memory.page_counts import PageCounts


def stored_counts(name: str, digest: str) -> PageCounts | None:
    """The page counts of that digest, None where they are not there or damaged."""
    return _STORE.find(name, digest)


def keep_counts(counts: PageCounts) -> PageCounts:
    """Write them in one step, and return them memory-mapped from there. Raises UserError where writing fails."""
    arrays = {array: getattr(counts, array) for array in _STORE.types}
    meta = {"page_size": counts.page_size, "overlap": counts.overlap, "compute": counts.compute}
    return _STORE.keep(counts.name, counts.digest, arrays, meta) or counts


def _counts(name: str, digest: str, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> PageCounts | None:
    if [arrays[array].ndim for array in ("loads", "stores", "arrivals")] != [2, 2, 1]:
        return None
    return PageCounts(
        name, digest, int(meta["page_size"]), **arrays,
        overlap=float(meta["overlap"]), compute=float(meta["compute"]),
    )  # fmt: skip


_STORE = ArrayStore(
    "page-counts", "page counts", {"loads": np.uint32, "stores": np.uint32, "arrivals": np.int32}, _counts
)
