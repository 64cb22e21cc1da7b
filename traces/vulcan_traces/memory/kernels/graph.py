"""Graphs as the GAP benchmark suite makes them (Beamer, Asanović and Patterson, 2015), in compressed sparse rows."""

from __future__ import annotations

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


def make_graph(kind: str, scale: int, degree: int, seed: int) -> MemoryGraph:
    """2**scale vertices and `degree` undirected edges for each; `kind` is `kronecker` or `uniform`.

    The numbers of vertices say nothing of their degrees, as in GAP.
    """
    vertices = 1 << scale
    random = np.random.RandomState(seed)  # its stream is the same in every version of numpy
    bits = random.randint(0, 2**31, size=(vertices * degree, 2), dtype=np.int64)
    if kind == "kronecker":
        bits = _kronecker(random, vertices * degree, scale)
        bits = random.permutation(vertices)[bits]
    else:
        bits %= vertices
    return MemoryGraph(*_rows(bits[:, 0].astype(np.int32), bits[:, 1].astype(np.int32), vertices))


def _kronecker(random: np.random.RandomState, edges: int, scale: int) -> NDArray[np.int64]:
    ends = np.zeros((edges, 2), np.int64)
    for _ in range(scale):
        place = random.random_sample(edges)
        lower = place >= A + B
        right = ((place >= A) & ~lower) | (place >= A + B + C)
        ends[:, 0] = ends[:, 0] * 2 + lower
        ends[:, 1] = ends[:, 1] * 2 + right
    return ends


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
