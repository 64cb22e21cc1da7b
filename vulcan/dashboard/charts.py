"""The data of a run's chart: curves, the tree of descent, and what each operator and model gained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import quantiles
from typing import Any, TypeVar

from vulcan.dashboard.live_run import LiveRun
from vulcan.documents.dashboard import ChartDocument, DescentRow, OperatorRow, SpentSoFar
from vulcan.documents.dashboard import ChartPoint as Point
from vulcan.results.candidate import lineage
from vulcan.results.report.comparison import configuration
from vulcan.store import RunRecord

T = TypeVar("T")

MAX_POINTS = 1500
"""Maximum number of scores to draw; longer series are sampled evenly."""


def chart(run: LiveRun, candidate: int | None) -> ChartDocument:
    """Return the chart's points (candidate number, mean train score), and the lineage of `candidate` if given."""
    record = run.record
    scored: list[Point] = [
        (c.candidate, c.score) for c in record.candidates.values() if c.verdict == "scored" and c.score is not None
    ]
    best = _improvements(scored)
    baseline = record.best_baseline("train")
    marked = [] if baseline is None else [baseline.score]
    edges = [] if candidate is None else _descent(record, candidate)
    points = sampled(scored)
    drawn = {len(run.lines), *(n for n, _ in (*points, *best)), *(n for edge in edges for n, _ in edge)} - {0}
    return {
        "run": run.name,
        "configuration": configuration(record.config),
        "last": len(run.lines),
        "points": points,
        "best": best,
        "at": {n: _spent(run.line_of(n)) for n in sorted(drawn)},
        "baseline": None if baseline is None else {"policy": baseline.policy, "score": baseline.score},
        "lineage": edges,
        "range": _range([s for _, s in scored], [*marked, *(s for _, s in best[-1:]), *_ends(edges)]),
        "descent": [] if candidate is None else descent_rows(run, _line_of(record, candidate)),
        "operators": operators(run.lines),
    }


def _spent(line: Mapping[str, Any]) -> SpentSoFar:
    return {"minutes": line["minutes"], "dollars": line["dollars"], "tokens": line["tokens"]}


def _gain(lines: Sequence[Mapping[str, Any]], line: Mapping[str, Any]) -> float | None:
    """Return what a candidate gained over the best of its parents; None without both scores."""
    parents = [score for parent in line["parents"] if (score := lines[parent - 1]["score"]) is not None]
    return None if line["score"] is None or not parents else line["score"] - max(parents)


def sampled(points: Sequence[T]) -> list[T]:
    """Return as many of the points as are drawn, evenly."""
    return list(points[:: max(1, -(-len(points) // MAX_POINTS))])


def _line_of(record: RunRecord, candidate: int) -> set[int]:
    """Return a candidate and its ancestors."""
    return {candidate, *(number for generation in lineage(record, candidate) for number in generation)}


def descent_rows(run: LiveRun, candidates: Iterable[int]) -> list[DescentRow]:
    """Return what is known of the descent of these candidates, oldest first."""
    return [
        {
            "candidate": number,
            "parents": list(row["parents"]),
            "operator": row["operator"],
            "origin": row["origin"],
            "model": row["model"],
            "score": row["score"],
            "gain": _gain(run.lines, row),
        }
        for number, row in ((number, run.line_of(number)) for number in sorted(candidates))
    ]


def operators(lines: Sequence[Mapping[str, Any]]) -> list[OperatorRow]:
    """Return, for each operator and model, its candidates, how many were scored, and what they gained.

    `gain` is the sum of the steps by which its candidates raised the best score of the run.
    """
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    raised: dict[int, float] = {}
    best: float | None = None
    for line in lines:
        found.setdefault((line["operator"], line["model"] or line["origin"]), []).append(line)
        if line["verdict"] == "scored" and line["score"] is not None and (best is None or line["score"] > best):
            raised[line["candidate"]] = 0.0 if best is None else line["score"] - best
            best = line["score"]
    rows: list[OperatorRow] = [
        {
            "operator": operator,
            "model": model,
            "proposals": len({line["proposal"] for line in made}),
            "accepted": sum(line["verdict"] == "scored" for line in made) / len(made),
            "improved": sum((_gain(lines, line) or 0.0) > 0 for line in made),
            "gain": sum(raised.get(line["candidate"], 0.0) for line in made),
        }
        for (operator, model), made in found.items()
    ]
    return sorted(rows, key=lambda row: (-row["gain"], row["operator"], row["model"]))


def _improvements(scored: Sequence[Point]) -> list[Point]:
    found: list[Point] = []
    for candidate, score in scored:
        if not found or score > found[-1][1]:
            found.append((candidate, score))
    return found


def _descent(record: RunRecord, candidate: int) -> list[tuple[Point, Point]]:
    """Return the parent-child edges, between candidates with a score, that lead to a candidate."""
    edges = []
    for child in sorted(_line_of(record, candidate)):
        for parent in record.parents_of(child):
            low, high = record.candidates[parent].score, record.candidates[child].score
            if low is not None and high is not None:
                edges.append(((parent, low), (child, high)))
    return edges


def _ends(edges: Sequence[tuple[Point, Point]]) -> list[float]:
    return [child[1] for _, child in edges]


def _range(scores: Sequence[float], marked: Sequence[float]) -> tuple[float, float] | None:
    """Return the limits of the axis, without the worst quarter of the scores, which may be far from the others."""
    if not scores and not marked:
        return None
    shown = [quantiles(scores, n=4)[0], max(scores)] if len(scores) > 10 else list(scores)
    low, high = min((*shown, *marked)), max((*shown, *marked))
    margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
    return low - margin, high + margin
