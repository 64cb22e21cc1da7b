"""The map of behaviour: where the policies of a run lie by two of their measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import StatisticsError, correlation, fmean, quantiles

from vulcan.errors import UserError
from vulcan.registry import recorded_task
from vulcan.results.figures import Link, no_link, sampled
from vulcan.store import RunRecord
from vulcan.store.events import CandidateJudged, InstanceMetrics
from vulcan.svg import BASE, BEST, GOOD, PLAIN, Axis, Chart, Figure, around, number

_ALIKE = 0.999
"""Correlation of two measures above which the default axes do not take both."""


@dataclass(frozen=True, slots=True)
class Place:
    """A policy on the map: its measures by name."""

    policy: str
    kind: str
    candidate: int | None
    score: float
    measures: Mapping[str, float]


def places_of(record: RunRecord) -> tuple[list[str], list[Place]]:
    """Return the measures that differ between policies, and the scored candidates and known policies by them.

    Measures are mean metrics on the training instances, and the size and the operations of a candidate.
    """

    def measures(metrics: InstanceMetrics) -> dict[str, float]:
        return {name: fmean(one[name] for _, one in metrics) for name in (metrics[0][1] if metrics else ())}

    best = record.best()
    scored = [c for c in record.candidates.values() if c.verdict == "scored" and c.score is not None and c.metrics]
    shown = sampled(scored)
    if best in scored and best is not None and best not in shown:
        shown.append(best)
    places = [
        Place(
            f"candidate {c.candidate}", "candidate", c.candidate, c.score or 0.0, measures(c.metrics) | _of_program(c)
        )
        for c in shown
    ]
    places += [
        Place(policy, b.kind, None, b.score, measures(b.metrics))
        for (policy, split), b in record.baselines.items()
        if split == "train"
    ]
    every = dict.fromkeys(name for place in places for name in place.measures)
    axes = [name for name in every if len({place.measures.get(name) for place in places} - {None}) > 1]
    return axes, places


def _of_program(candidate: CandidateJudged) -> dict[str, float]:
    found = {"size in nodes": candidate.size, "operations per call": candidate.operations}
    return {name: float(value) for name, value in found.items() if value is not None}


def first_axes(record: RunRecord, axes: Sequence[str], places: Sequence[Place]) -> tuple[str, str]:
    """Return the axes of the map: those that the task declares, or else two measures that are not alike."""
    try:
        declared = recorded_task(record.config["task"]).axes
    except UserError:  # it is gone
        declared = None
    if declared and set(declared) <= set(axes):
        return declared
    own = [place.measures for place in places if place.candidate is not None]
    for one, other in combinations(axes, 2):
        pairs = [(values[one], values[other]) for values in own if one in values and other in values]
        if abs(_correlation(pairs)) < _ALIKE:
            return one, other
    return axes[0], axes[1]


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Pearson's coefficient; 1 where one side does not vary."""
    try:
        return correlation(*zip(*pairs, strict=True))
    except (TypeError, StatisticsError):
        return 1.0


def behaviour(record: RunRecord, link: Link = no_link) -> Figure | None:
    """Draw the map of behaviour.

    The axes show where most policies are; those far away are drawn as rings at the edge.
    """
    axes, places = places_of(record)
    best = record.best()
    if len(axes) < 2 or best is None:
        return None
    x, y = first_axes(record, axes, places)
    shown = [place for place in places if x in place.measures and y in place.measures]
    if not any(place.candidate is not None for place in shown):
        return None
    ends = tuple(Axis(name, *_usual([place.measures[name] for place in shown])) for name in (x, y))
    chart = Chart("Behaviour", ends[0], ends[1], 340.0)
    scores = sorted(place.score for place in shown if place.candidate is not None)
    upper = scores[-max(1, len(scores) // 10)]

    def said(place: Place) -> tuple[float, float, str, str]:
        a, b = place.measures[x], place.measures[y]
        kind = "" if place.candidate is not None else f", {place.kind}"
        told = f"{place.policy}{kind}: score {place.score:.4f}, {x} {number(a)}, {y} {number(b)}"
        return a, b, told, "" if place.candidate is None else link(place.candidate)

    groups = {
        "a candidate": (PLAIN, 3.0, [p for p in shown if p.candidate is not None and p.score < upper]),
        "the best tenth": (BEST, 3.5, [p for p in shown if p.candidate is not None and p.score >= upper]),
        "a known policy": (BASE, 5.0, [p for p in shown if p.kind == "baseline"]),
        "an oracle": ("s3", 5.0, [p for p in shown if p.kind == "oracle"]),
        "the best": (GOOD, 7.0, [p for p in shown if p.candidate == best.candidate]),
    }
    for name, (kind, radius, members) in groups.items():
        inside = [p for p in members if ends[0].has(p.measures[x]) and ends[1].has(p.measures[y])]
        if members:
            chart.dots(name, map(said, inside), kind, radius)
            chart.dots("", map(said, [p for p in members if p not in inside]), kind, radius, ring=True, cut=False)
    for place in sorted(shown, key=lambda p: -p.score):
        if place.candidate is None:
            chart.label(place.measures[x], place.measures[y], place.policy)
    return chart.figure()


def _usual(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that shows all values but those far away from the middle half."""
    if len(values) < 4:
        return around(values)
    lower, _, upper = quantiles(values, n=4)
    reach = 3.0 * (upper - lower) or max(values) - min(values)
    return around([value for value in values if lower - reach <= value <= upper + reach])
