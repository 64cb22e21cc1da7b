"""Loading of page counts: recorded ones from files, and generated workloads from their specifications."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vulcan.errors import UserError
from vulcan_traces.memory.npz import read_page_counts
from vulcan_traces.memory.page_counts import PageCounts
from vulcan_traces.memory.workloads import KINDS, VERSION, parse_workload, record_workload
from vulcan_traces.parsing.source import Source
from vulcan_traces.storage.array_store import Array, ArrayStore
from vulcan_traces.synthetic.specification import is_specification, whole

FORMAT_VERSION = 1
"""Version in every digest: raise it when the decoding of a file or the cached format changes."""

PAGE_SIZES = tuple(2**bits for bits in range(8, 31))


def load_page_counts(spec: str | os.PathLike[str], page_size: int = 4096) -> PageCounts:
    """Return the page counts in a file, or those of the workload that a specification describes.

    `spec` is the path of an `.npz` file (see `vulcan_traces.memory.npz`), or a text such as
    `gups:pages=8192,hot_share=0.9,seed=1` (see `vulcan_traces.memory.workloads`); a file whose name looks so is meant
    by `./gups:...`. `page_size` is a power of two: with a file, what its pages are; with a workload that
    does not say its own, what is recorded. Page counts are kept in the user's cache directory. Raises UserError.
    """
    _checked(page_size)
    text = os.fspath(spec)
    if is_specification(text, KINDS):
        workload = parse_workload(text)
        if own := whole(workload.values, "page_size"):
            page_size = _checked(own)
        # the size of pages stands in the digest by itself
        digest = _digest("workload", workload.canonical(VERSION, without=["page_size"]), page_size)
        return _stored(workload.name, digest, lambda: record_workload(workload, digest, page_size))
    path = Path(text)
    if not path.exists():
        raise UserError(f"no page counts at {path}: there is no such file")
    content = Source(path).sha256()
    digest = _digest("npz", content, page_size)

    def read() -> PageCounts:
        counts = read_page_counts(path, digest, page_size)
        if Source(path).sha256() != content:
            raise UserError(f"{path} was changed while it was read; wait until it is written, and try again")
        return counts

    return _stored(path.name, digest, read)


def _checked(page_size: int) -> int:
    if page_size not in PAGE_SIZES:
        raise UserError(f"page size {page_size}: a power of two from {PAGE_SIZES[0]} to {PAGE_SIZES[-1]} is needed")
    return page_size


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(["page counts", FORMAT_VERSION, *parts]).encode()).hexdigest()


# Cache of page counts on disk, so that each workload is run once per host.


def _stored(name: str, digest: str, make: Callable[[], PageCounts]) -> PageCounts:
    """Return the page counts of that digest, memory-mapped; they are made if they are missing or damaged."""

    def write(folder: Path) -> Mapping[str, Any]:
        counts = make()
        for array in _STORE.types:
            np.save(folder / f"{array}.npy", getattr(counts, array), allow_pickle=False)
        return {"page_size": counts.page_size, "overlap": counts.overlap, "compute": counts.compute}

    return _STORE.find_or_make(name, digest, write)


def _counts(name: str, digest: str, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> PageCounts | None:
    if [arrays[array].ndim for array in ("loads", "stores", "arrivals")] != [2, 2, 1]:
        return None
    return PageCounts(
        name,
        digest,
        int(meta["page_size"]),
        **arrays,
        overlap=float(meta["overlap"]),
        compute=float(meta["compute"]),
    )


_STORE = ArrayStore(
    "page-counts", "page counts", {"loads": np.uint32, "stores": np.uint32, "arrivals": np.int32}, _counts
)
