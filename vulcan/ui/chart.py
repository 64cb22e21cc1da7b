"""What the chart of a run draws: the best score over candidates, every score, and one candidate's line of descent."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles
from typing import Any

from vulcan.report.candidate import lineage
from vulcan.store import RunRecord

MOST_POINTS = 1500
"""Scores that are drawn; of more, evenly spread ones."""

Point = tuple[int, float]


def chart(record: RunRecord, candidate: int | None) -> dict[str, Any]:
    """Points are a candidate's number and its mean score on train; `descent` is of the candidate, if one is named."""
    scored: list[Point] = [
        (c.candidate, c.score) for c in record.candidates.values() if c.verdict == "scored" and c.score is not None
    ]
    best = _improvements(scored)
    baseline = record.best_baseline("train")
    marked = [] if baseline is None else [baseline.score]
    descent = [] if candidate is None else _descent(record, candidate)
    return {
        "last": len(record.candidates),
        "points": scored[:: max(1, -(-len(scored) // MOST_POINTS))],
        "best": best,
        "baseline": None if baseline is None else {"policy": baseline.policy, "score": baseline.score},
        "descent": descent,
        "range": _range([s for _, s in scored], [*marked, *(s for _, s in best[-1:]), *_ends(descent)]),
    }


def _improvements(scored: Sequence[Point]) -> list[Point]:
    found: list[Point] = []
    for candidate, score in scored:
        if not found or score > found[-1][1]:
            found.append((candidate, score))
    return found


def _descent(record: RunRecord, candidate: int) -> list[tuple[Point, Point]]:
    """Each pair of parent and child, among those with a score, that leads to a candidate."""
    line = {candidate, *(number for generation in lineage(record, candidate) for number in generation)}
    edges = []
    for child in sorted(line):
        for parent in record.parents_of(child):
            low, high = record.candidates[parent].score, record.candidates[child].score
            if low is not None and high is not None:
                edges.append(((parent, low), (child, high)))
    return edges


def _ends(edges: Sequence[tuple[Point, Point]]) -> list[float]:
    return [child[1] for _, child in edges]


def _range(scores: Sequence[float], marked: Sequence[float]) -> tuple[float, float] | None:
    """Where the axis begins and ends: it leaves out the worst tenth, which may be far from all others."""
    if not scores and not marked:
        return None
    shown = [quantiles(scores, n=10)[0], max(scores)] if len(scores) > 10 else list(scores)
    low, high = min((*shown, *marked)), max((*shown, *marked))
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - margin, high + margin
