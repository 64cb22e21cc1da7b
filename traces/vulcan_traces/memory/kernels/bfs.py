"""Breadth-first search from one random vertex after another, from the top down (the GAP suite's `bfs.cc` without its
change of direction)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import lazy_kernel
from vulcan_traces.memory.kernels.graph import OFFSET, SCORE, VERTEX, MemoryGraph, load_graph
from vulcan_traces.memory.kernels.recorder import Recorder, draw, is_full, touch, touch_all


@lazy_kernel
def _run(recorder, offsets, neighbours, found, queue, parents):
    vertices = offsets.shape[0] - 1
    at_neighbours = offsets.shape[0] * OFFSET
    at_parents = load_graph(recorder, offsets, neighbours)
    at_queue = at_parents + vertices * SCORE
    searches = 0
    while True:
        source = draw(recorder, vertices)
        while offsets[source + 1] == offsets[source]:
            source = (source + 1) % vertices
        for v in range(vertices):
            parents[v] = -1
        touch_all(recorder, at_parents, vertices * SCORE, True)
        parents[source] = source
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            touch(recorder, at_queue + head * VERTEX, False)
            v = queue[head]
            head += 1
            touch(recorder, v * OFFSET, False)
            for e in range(offsets[v], offsets[v + 1]):
                touch(recorder, at_neighbours + e * VERTEX, False)
                w = neighbours[e]
                touch(recorder, at_parents + w * SCORE, False)
                if parents[w] < 0:
                    touch(recorder, at_parents + w * SCORE, True)
                    parents[w] = v
                    touch(recorder, at_queue + tail * VERTEX, True)
                    queue[tail] = w
                    tail += 1
            if is_full(recorder):
                return searches
        for v in range(vertices):
            found[v] = parents[v]
        searches += 1


def run_bfs(recorder: Recorder, graph: MemoryGraph) -> tuple[NDArray[np.int32], int]:
    """Search until the recorder is full.

    Returns the parents that the last whole search found (-1: not reached; a source is its own), and how many there
    were.
    """
    found, queue, parents = np.full((3, len(graph.offsets) - 1), -1, np.int32)
    searches = _run(recorder, graph.offsets, graph.neighbours, found, queue, parents)
    return found, searches
