"""Graphs as the GAP benchmark suite makes them (Beamer, Asanović and Patterson, 2015), in compressed sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import function, njit
from vulcan_traces.memory.kernels.recorder import touch_all

OFFSET, VERTEX, SCORE = 8, 4, 4
"""Bytes of an offset, of a vertex in a list of neighbours, and of a number kept for each vertex."""

A, B, C = 0.57, 0.19, 0.19
"""The probabilities of a Kronecker graph's quadrants (Graph500 and GAP)."""


class MemoryGraph(NamedTuple):
    """Vertex v has the neighbours `neighbours[offsets[v]:offsets[v + 1]]`; the graph is undirected."""

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.int32]


EDGES_AT_A_TIME = 2**22


def make_graph(kind: str, scale: int, degree: int, seed: int) -> MemoryGraph:
    """2**scale vertices and `degree` undirected edges for each; `kind` is `kronecker` or `uniform`.

    The numbers of vertices say nothing of their degrees, as in GAP.
    """
    vertices = 1 << scale
    random = np.random.RandomState(seed)  # its stream is the same in every version of numpy
    ends = np.zeros((vertices * degree, 2), np.int32)
    for some in _parts(ends):
        some[:] = random.randint(0, 2**31, size=some.shape, dtype=np.int64) % vertices
    if kind == "kronecker":
        _kronecker(random, ends, scale)
        numbers = random.permutation(vertices).astype(np.int32)
        for some in _parts(ends):
            some[:] = numbers[some]
    return MemoryGraph(*_rows(ends[:, 0], ends[:, 1], vertices))


def _parts(ends: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """Generate views of successive edges, so that graphs of gigabytes need little more memory than their edges."""
    for first in range(0, len(ends), EDGES_AT_A_TIME):
        yield ends[first : first + EDGES_AT_A_TIME]


def _kronecker(random: np.random.RandomState, ends: NDArray[np.int32], scale: int) -> None:
    ends[:] = 0
    for _ in range(scale):
        for some in _parts(ends):
            place = random.random_sample(len(some))
            lower = place >= A + B
            right = ((place >= A) & ~lower) | (place >= A + B + C)
            some[:, 0] = some[:, 0] * 2 + lower
            some[:, 1] = some[:, 1] * 2 + right


@njit(cache=True, nogil=True)
def _rows(sources, targets, vertices):
    """Return both directions of every edge, but no loops; parallel edges stay."""
    offsets = np.zeros(vertices + 1, np.int64)
    for e in range(sources.shape[0]):
        if sources[e] != targets[e]:
            offsets[sources[e] + 1] += 1
            offsets[targets[e] + 1] += 1
    for v in range(vertices):
        offsets[v + 1] += offsets[v]
    place = offsets[:-1].copy()
    neighbours = np.empty(offsets[vertices], np.int32)
    for e in range(sources.shape[0]):
        u, v = sources[e], targets[e]
        if u != v:
            neighbours[place[u]] = v
            neighbours[place[v]] = u
            place[u] += 1
            place[v] += 1
    return offsets, neighbours


@function
def load_graph(recorder, offsets, neighbours):
    """Write the graph, as a program that builds it does; returns the first address behind it."""
    touch_all(recorder, 0, offsets.shape[0] * OFFSET, True)
    touch_all(recorder, offsets.shape[0] * OFFSET, neighbours.shape[0] * VERTEX, True)
    return offsets.shape[0] * OFFSET + neighbours.shape[0] * VERTEX
