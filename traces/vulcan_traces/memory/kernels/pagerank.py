"""PageRank by pulling, as in the GAP benchmark suite (`pr.cc`, without its in-place update)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan.kernel_support import lazy_kernel
from vulcan_traces.memory.kernels.graph import OFFSET, SCORE, VERTEX, MemoryGraph, load_graph
from vulcan_traces.memory.kernels.recorder import Recorder, is_full, touch

DAMPING = 0.85


@lazy_kernel
def _run(recorder, offsets, neighbours, scores, shares, after):
    vertices = offsets.shape[0] - 1
    at_neighbours = offsets.shape[0] * OFFSET
    at_scores = load_graph(recorder, offsets, neighbours)
    at_shares = at_scores + vertices * SCORE
    base = (1.0 - DAMPING) / vertices
    iterations = 0
    while True:
        for v in range(vertices):
            touch(recorder, at_scores + v * SCORE, False)
            touch(recorder, v * OFFSET, False)
            touch(recorder, at_shares + v * SCORE, True)
            degree = offsets[v + 1] - offsets[v]
            shares[v] = scores[v] / degree if degree else 0.0
        for v in range(vertices):
            touch(recorder, v * OFFSET, False)
            total = 0.0
            for e in range(offsets[v], offsets[v + 1]):
                touch(recorder, at_neighbours + e * VERTEX, False)
                touch(recorder, at_shares + neighbours[e] * SCORE, False)
                total += shares[neighbours[e]]
            touch(recorder, at_scores + v * SCORE, True)
            after[v] = base + DAMPING * total
            if is_full(recorder):
                return iterations
        for v in range(vertices):
            scores[v] = after[v]
        iterations += 1


def run_pagerank(recorder: Recorder, graph: MemoryGraph) -> tuple[NDArray[np.float64], int]:
    """Iterate until the recorder is full. Returns the scores after the last whole iteration, and their number."""
    vertices = len(graph.offsets) - 1
    scores = np.full(vertices, 1.0 / vertices)
    iterations = _run(recorder, graph.offsets, graph.neighbours, scores, np.zeros(vertices), np.zeros(vertices))
    return scores, iterations
