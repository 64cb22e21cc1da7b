"""Page counts: a program's memory accesses by interval and page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PageCounts:
    """Accesses that reach memory, by interval and page.

    `loads` and `stores` have shape (intervals, pages): cache lines read from memory and written to it. Pages are
    numbered in the order in which they were first touched; `arrivals`, of shape (pages,), has the interval in which
    that was. `page_size` is in bytes. `overlap` is how many loads a thread has outstanding at a time, and `compute` how
    many nanoseconds it computes for each load. `digest` tells contents apart.
    """

    name: str
    digest: str
    page_size: int
    loads: NDArray[np.uint32]
    stores: NDArray[np.uint32]
    arrivals: NDArray[np.int32]
    overlap: float
    compute: float

    @property
    def intervals(self) -> int:
        return int(self.loads.shape[0])

    @property
    def pages(self) -> int:
        return int(self.loads.shape[1])

    @cached_property
    def accesses(self) -> int:
        return int(self.loads.sum(dtype=np.int64) + self.stores.sum(dtype=np.int64))


def in_order_of_first_touch(
    loads: NDArray[np.uint32], stores: NDArray[np.uint32], order: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32]]:
    """Loads, stores and arrivals of the pages that are touched, renumbered.

    `order` lists those pages as they were first touched; without it, they are ordered by the interval of their first
    access, and by number within one.
    """
    touched = (loads != 0) | (stores != 0)
    first = np.where(touched.any(axis=0), touched.argmax(axis=0), loads.shape[0])
    if order is None:
        found = np.argsort(first, kind="stable")
        order = found[first[found] < loads.shape[0]]
    arrivals = first[order].astype(np.int32)
    return np.ascontiguousarray(loads[:, order]), np.ascontiguousarray(stores[:, order]), arrivals
