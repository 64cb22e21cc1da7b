"""Betweenness centrality by Brandes' algorithm (2001) from one random vertex after another, as GAP's `bc.cc`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import lazy_kernel
from vulcan_traces.memory.kernels.graph import OFFSET, SCORE, VERTEX, MemoryGraph, load_graph
from vulcan_traces.memory.kernels.recorder import Recorder, draw, is_full, touch, touch_all


@lazy_kernel
def _run(recorder, offsets, neighbours, depths, order, paths, dependencies, found):
    vertices = offsets.shape[0] - 1
    at_neighbours = offsets.shape[0] * OFFSET
    at_depths = load_graph(recorder, offsets, neighbours)
    at_paths = at_depths + vertices * SCORE
    at_order = at_paths + vertices * 2 * SCORE
    at_dependencies = at_order + vertices * VERTEX
    at_centrality = at_dependencies + vertices * SCORE
    last, sources = -1, 0
    while True:
        source = draw(recorder, vertices)
        while offsets[source + 1] == offsets[source]:
            source = (source + 1) % vertices
        for v in range(vertices):
            depths[v] = -1
            paths[v] = 0.0
            dependencies[v] = 0.0
        touch_all(recorder, at_depths, vertices * SCORE, True)
        touch_all(recorder, at_paths, vertices * 2 * SCORE, True)
        touch_all(recorder, at_dependencies, vertices * SCORE, True)
        depths[source] = 0
        paths[source] = 1.0
        order[0] = source
        head, tail = 0, 1
        while head < tail:
            touch(recorder, at_order + head * VERTEX, False)
            v = order[head]
            head += 1
            touch(recorder, v * OFFSET, False)
            touch(recorder, at_paths + v * 2 * SCORE, False)
            for e in range(offsets[v], offsets[v + 1]):
                touch(recorder, at_neighbours + e * VERTEX, False)
                w = neighbours[e]
                touch(recorder, at_depths + w * SCORE, False)
                if depths[w] < 0:
                    touch(recorder, at_depths + w * SCORE, True)
                    depths[w] = depths[v] + 1
                    touch(recorder, at_order + tail * VERTEX, True)
                    order[tail] = w
                    tail += 1
                if depths[w] == depths[v] + 1:
                    touch(recorder, at_paths + w * 2 * SCORE, True)
                    paths[w] += paths[v]
            if is_full(recorder):
                return last, sources
        for k in range(tail - 1, 0, -1):
            touch(recorder, at_order + k * VERTEX, False)
            v = order[k]
            touch(recorder, v * OFFSET, False)
            touch(recorder, at_paths + v * 2 * SCORE, False)
            total = 0.0
            for e in range(offsets[v], offsets[v + 1]):
                touch(recorder, at_neighbours + e * VERTEX, False)
                w = neighbours[e]
                touch(recorder, at_depths + w * SCORE, False)
                if depths[w] == depths[v] + 1:
                    touch(recorder, at_paths + w * 2 * SCORE, False)
                    touch(recorder, at_dependencies + w * SCORE, False)
                    total += paths[v] / paths[w] * (1.0 + dependencies[w])
            touch(recorder, at_dependencies + v * SCORE, True)
            dependencies[v] = total
            touch(recorder, at_centrality + v * SCORE, True)
            if is_full(recorder):
                return last, sources
        for v in range(vertices):
            found[v] = dependencies[v]
        last = source
        sources += 1


def run_betweenness(recorder: Recorder, graph: MemoryGraph) -> tuple[NDArray[np.float64], int, int]:
    """Run until the recorder is full.

    Returns what the last whole source added to each vertex's centrality (the vertex's dependency), that source, and how
    many sources there were.
    """
    vertices = len(graph.offsets) - 1
    depths, order = np.zeros((2, vertices), np.int32)
    paths, dependencies, found = np.zeros((3, vertices))
    last, sources = _run(recorder, graph.offsets, graph.neighbours, depths, order, paths, dependencies, found)
    return found, last, sources
