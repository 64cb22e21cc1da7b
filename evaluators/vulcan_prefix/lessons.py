"""What the future of training data teaches: how soon a block of a prompt is asked for again, by what is known of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vulcan.lessons import Lesson, lesson_of_returns, stay_that_fills
from vulcan_traces.prompts import PromptTrace

MAX_SITUATIONS = 50_000
REACHES = (1.0, 4.0)
"""Turnovers of the cache within which a return counts."""

_PROGRAM = """\
MECHANISM = "blocks"


def worth(idle, gap, phase, hits, turn, depth, ended):
    return 1


def ratio(a, b):
    return max(a, b) / min(a, b) if b > 1 else 1


def priority(now, node, server):
    idle = max(0.0, now - node.last_access)
    return worth(idle, node.gap, ratio(1 + idle, 1 + node.gap), node.hits, node.turn, node.depth, node.ended)
"""


def lessons_of(trace: PromptTrace, stretch: float, capacity: int) -> Iterator[Lesson]:
    """Yield lessons on the blocks at which a leaf may end: those that prompts end with, or go on from in several ways.

    The gain is that the block is asked for again, the cost how long it is held for it, in seconds. Arrivals are
    stretched by a factor; the capacity is in tokens. What follows the trace's end is not looked at.
    """
    counts = np.diff(trace.starts)
    request = np.repeat(np.arange(trace.requests), counts)
    times = (trace.arrivals * stretch)[request]
    order = np.argsort(trace.blocks, kind="stable")
    again = trace.blocks[order[1:]] == trace.blocks[order[:-1]]
    forward, gap = np.full(len(order), np.inf), np.zeros(len(order))
    between = times[order[1:]] - times[order[:-1]]
    forward[order[:-1][again]] = between[again]
    gap[order[1:][again]] = between[again]
    firsts = np.flatnonzero(np.r_[True, ~again])
    hits = np.empty(len(order))
    hits[order] = np.arange(len(order)) - np.repeat(firsts, np.diff(np.r_[firsts, len(order)])) + 1
    left = times[-1] - times
    last = float(times[-1])
    held = capacity / trace.block_tokens * last
    turnover = stay_that_fills(held, np.ones(len(order)), np.minimum(forward, left), 1e-3, max(last, 1.0))
    rng = np.random.default_rng(1)
    continued = np.r_[trace.blocks[1:], -1]
    continued[trace.starts[1:][counts > 0] - 1] = -1
    ways = np.unique(np.stack([trace.blocks, continued]), axis=1)[0]
    chosen = np.flatnonzero(np.bincount(ways, minlength=trace.block_count)[trace.blocks] > 1)
    chosen = np.union1d(chosen, (trace.starts[:-1] + trace.prompt_blocks - 1)[trace.prompt_blocks > 0])
    if len(chosen) > MAX_SITUATIONS:
        chosen = np.sort(rng.choice(chosen, MAX_SITUATIONS, replace=False))
    idle = turnover * np.exp(rng.uniform(np.log(0.1), np.log(2.0), len(chosen)))
    own, gaps = request[chosen], gap[chosen]
    phase = np.where(gaps > 0, np.exp(np.abs(np.log1p(idle) - np.log1p(gaps))), 1.0)
    depth = (chosen - trace.starts[own] + 1) * trace.block_tokens
    columns = [idle, gaps, phase, hits[chosen], trace.turns[own], depth, trace.ends[own]]
    for reach in REACHES:
        name = f"returns of blocks within {reach:g} turnovers of the cache"
        yield lesson_of_returns(name, _PROGRAM, columns, forward[chosen] - idle, left[chosen] - idle, reach * turnover)
