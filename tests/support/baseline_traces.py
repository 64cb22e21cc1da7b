"""Real traces for the tests of the baselines, parsed here so that these tests depend on no trace reader."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from functools import cache

import numpy as np
import zstandard
from numpy.typing import NDArray
from real_data import real_data

NEVER = -1


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


def columns(ids: NDArray[np.integer], sizes: NDArray[np.integer]) -> Columns:
    """Dense ids in order of first appearance, and the index of each request's successor."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.uint32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.uint32)
    objects = np.ascontiguousarray(rank[inverse.reshape(-1)])
    order = np.argsort(objects, kind="stable")
    next_access = np.full(len(objects), NEVER, np.int64)
    same = objects[order[1:]] == objects[order[:-1]]
    next_access[order[:-1][same]] = order[1:][same]
    return Columns(objects, np.ascontiguousarray(sizes, dtype=np.int64), next_access, len(first))


@cache
def real_trace(name: str) -> Columns:
    """Return a trace of the data directory by its relative path; skips the test where it is absent."""
    path = real_data("cache", name)
    if name.endswith(".oracleGeneral.bin"):
        record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
        rows = np.fromfile(path, record)
        return columns(rows["id"], rows["size"])
    if name.endswith(".lis.zst"):
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as text:
            extents = np.loadtxt(io.TextIOWrapper(text), np.int64, usecols=(0, 1), ndmin=2)
        return _unit_columns(_blocks(extents))
    if name.endswith(".trace.gz"):
        with gzip.open(path, "rt") as file:
            return _unit_columns(np.array([int(word) for word in file if word.strip().isdigit()]))
    rows = np.loadtxt(path, np.int64, delimiter="\t")
    return columns(rows[:, 1], rows[:, 2])


def _unit_columns(ids: NDArray[np.int64]) -> Columns:
    return columns(ids, np.ones(len(ids), np.int64))


def _blocks(extents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the single blocks of requests given as (first block, number of blocks)."""
    lengths = extents[:, 1]
    starts = np.repeat(extents[:, 0] - (np.cumsum(lengths) - lengths), lengths)
    return starts + np.arange(lengths.sum())
