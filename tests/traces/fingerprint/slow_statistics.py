"""The statistics of a fingerprint, computed slowly and straight from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from traces_in_memory import build_trace

from vulcan_traces import Trace
from vulcan_traces.raw_requests import RawRequests

RUN = 32
PARTS = 8


def trace_of(keys: Sequence[int], sizes: Sequence[int] | None = None, times: Sequence[float] | None = None) -> Trace:
    """A trace in memory; sizes are 1 and times the request's index unless given."""
    count = len(keys)
    raw = RawRequests(
        np.array(keys, np.uint64),
        np.array([1] * count if sizes is None else sizes, np.int64),
        np.array(range(count) if times is None else times, np.float64),
    )
    return build_trace("test", "0" * 64, raw)


def reuse_distances(objects: Sequence[int]) -> list[int]:
    """Of every request but the first for its object: how many others were requested since the one before."""
    stack: list[int] = []
    found = []
    for obj in objects:
        if obj in stack:
            found.append(stack.index(obj))
            stack.remove(obj)
        stack.insert(0, obj)
    return found


def gaps(objects: Sequence[int]) -> list[int]:
    """The distance in requests from every request but the first for its object to the one before; 0 for the first."""
    last: dict[int, int] = {}
    found = []
    for i, obj in enumerate(objects):
        found.append(i - last[obj] if obj in last else 0)
        last[obj] = i
    return found


def in_long_runs(joined: Sequence[bool], counts: Sequence[bool]) -> int:
    """Requests in runs of at least RUN: `counts` says which may be in one, `joined` which continue that before."""
    total = length = 0
    for continues, may_be in zip(joined, counts, strict=True):
        if may_be and continues and length:
            length += 1
            continue
        total += length if length >= RUN else 0
        length = 1 if may_be else 0
    return total + (length if length >= RUN else 0)


def sequence_requests(keys: Sequence[int], sizes: Sequence[int]) -> int:
    joined = [False]
    for i in range(1, len(keys)):
        step, size = keys[i] - keys[i - 1], sizes[i - 1]
        joined.append(step > 0 and (step in (1, size) or step * 512 == size))
    return in_long_runs(joined, [True] * len(keys))


def scan_requests(objects: Sequence[int]) -> int:
    cold = [gap == 0 for gap in gaps(objects)]
    return in_long_runs([True] * len(objects), cold)


def loop_requests(objects: Sequence[int]) -> int:
    found = gaps(objects)
    same = [False, *(found[i] == found[i - 1] for i in range(1, len(found)))]
    return in_long_runs(same, [gap >= RUN for gap in found])


def morisita(one: Sequence[int], other: Sequence[int]) -> float:
    """Morisita's index of overlap of two samples of objects."""
    a, b = Counter(one), Counter(other)
    n, m = len(one), len(other)
    within = sum(c * (c - 1) for c in a.values()) / (n * (n - 1)) + sum(c * (c - 1) for c in b.values()) / (m * (m - 1))
    return 2 * sum(count * b[obj] for obj, count in a.items()) / (within * n * m)


def parts_of(objects: Sequence[int]) -> list[Sequence[int]]:
    bounds = [part * len(objects) // PARTS for part in range(PARTS + 1)]
    return [objects[start:end] for start, end in pairwise(bounds)]
