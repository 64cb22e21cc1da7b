"""Traces for the tests of the baselines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from real_data import real_data

from vulcan_cache.baselines import BASELINES
from vulcan_traces import load_trace

NEVER = -1

CLOUD_PHYSICS = "libcachesim/cloudPhysicsIO.oracleGeneral.bin"
TENCENT_1326 = "tencent/tencentBlock.ns1326.sample.csv"
TENCENT_3300 = "tencent/tencentBlock.ns3300.sample.csv"
SPRITE = "caffeine/lirs/sprite.trace.gz"
OLTP = "arc/OLTP.lis.zst"
SIZED = (CLOUD_PHYSICS, TENCENT_1326, TENCENT_3300)
SHARES = (0.001, 0.01, 0.1)

SIZES = ([1], [1, 2, 3, 4], [*range(1, 201)], [1, 2, 3, 7, 993, 1000])


@dataclass(frozen=True)
class Columns:
    """A trace as the kernels want it."""

    objects: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    next_access: NDArray[np.int64]
    object_count: int

    @property
    def footprint(self) -> int:
        """Bytes of all objects, each with the size of its first request."""
        first = np.unique(self.objects, return_index=True)[1]
        return int(self.sizes[first].astype(np.int64).sum())

    def with_unit_sizes(self) -> Columns:
        return Columns(self.objects, np.ones_like(self.sizes), self.next_access, self.object_count)

    def prefix(self, requests: int) -> Columns:
        return columns(self.objects[:requests], self.sizes[:requests])


def dense(keys: ArrayLike) -> NDArray[np.uint32]:
    """Numbers of the keys in order of their first appearance."""
    _, first, ids = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[ids].astype(np.uint32)


def columns(ids: NDArray[np.integer], sizes: NDArray[np.integer]) -> Columns:
    """Dense ids, and the index of each request's successor."""
    objects = dense(ids)
    order = np.argsort(objects, kind="stable")
    next_access = np.full(len(objects), NEVER, np.int64)
    same = objects[order[1:]] == objects[order[:-1]]
    next_access[order[:-1][same]] = order[1:][same]
    return Columns(objects, np.ascontiguousarray(sizes, dtype=np.int64), next_access, int(objects.max()) + 1)


@cache
def real_trace(name: str) -> Columns:
    """Return a trace of the data directory by its relative path; skips the test where it is absent."""
    trace = load_trace(real_data("cache", name))
    return Columns(trace.objects, trace.sizes, trace.next_access, trace.object_count)


def native_counts(name: str, trace: Columns, capacity: int, measure_from: int = 0) -> tuple[int, int, int]:
    """Misses, missed bytes and bypassed requests of a baseline's kernel."""
    arguments = trace.objects, trace.sizes, trace.next_access, trace.object_count
    return BASELINES[name].run(*arguments, capacity, measure_from)


@st.composite
def small_cases(draw: st.DrawFn) -> tuple[Columns, int, int]:
    """Up to 150 requests of up to 25 objects, and a cache from one byte up to almost one large object and more."""
    ids = np.array(draw(st.lists(st.integers(0, draw(st.integers(1, 24))), min_size=1, max_size=150)))
    sizes = np.array(draw(st.lists(st.sampled_from(draw(st.sampled_from(SIZES))), min_size=150, max_size=150)))
    is_by_object = draw(st.booleans())
    trace = columns(ids, sizes[ids] if is_by_object else sizes[: len(ids)])
    return trace, draw(st.integers(1, 12) | st.integers(1, 12 * int(sizes.max()))), draw(st.integers(0, len(ids)))
