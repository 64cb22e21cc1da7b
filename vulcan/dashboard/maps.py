"""The data of a run's two maps: where its policies lie by what they do, and the tree that they descend in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

from vulcan.dashboard.charts import descent_rows, sampled
from vulcan.dashboard.live_run import LiveRun
from vulcan.documents.dashboard import BehaviourDocument, BehaviourPoint, DescentRow
from vulcan.errors import UserError
from vulcan.registry import recorded_task
from vulcan.results.candidate import lineage
from vulcan.results.run import scorer_of
from vulcan.store.events import CandidateJudged, InstanceMetrics

_MAX_INSTANCES = 12
"""Number of training instances up to which the score on each of them is an axis of its own."""

_MAX_NODES = 150
"""Maximum number of candidates in a drawn tree."""

_ALIKE = 0.999
"""Correlation of two measures above which the default axes do not take both."""


def behaviour(run: LiveRun) -> BehaviourDocument:
    """Return the scored candidates and the known policies by their mean metrics on the training instances.

    A candidate has two more measures, its size and the bound of its operations; with several training instances there
    is the score on each of them. What is the same for all is no measure.
    """
    record, best = run.record, run.best()
    scorer = scorer_of(record)
    names = [instance.name for instance in scorer.of("train")] if scorer is not None else []
    apart = names if 1 < len(names) <= _MAX_INSTANCES else []

    def measures(metrics: InstanceMetrics) -> dict[str, float]:
        of_instance = [dict(values) for _, values in metrics]
        means = {name: fmean(one[name] for one in of_instance) for name in (of_instance[0] if of_instance else ())}
        if scorer is None:
            return means
        known = dict(metrics)
        scores = {f"score on {n}": scorer.on_instance("train", n, known[n]) for n in apart if n in known}
        return means | scores

    scored = [c for c in record.candidates.values() if c.verdict == "scored" and c.score is not None and c.metrics]
    shown = sampled(scored)
    if best is not None and best not in shown and best in scored:
        shown.append(best)
    own = [(c, measures(c.metrics) | _of_program(c)) for c in shown]
    known = [(policy, b, measures(b.metrics)) for (policy, split), b in record.baselines.items() if split == "train"]
    axes = _measures([values for _, values in own], [values for *_, values in known])
    points: list[BehaviourPoint] = [
        {"policy": f"candidate {c.candidate}", "kind": "candidate", "candidate": c.candidate, "score": c.score or 0.0,
         "values": [values.get(axis) for axis in axes]}
        for c, values in own
    ]  # fmt: skip
    points += [
        {"policy": policy, "kind": b.kind, "candidate": None, "score": b.score,
         "values": [values.get(axis) for axis in axes]}
        for policy, b, values in known
    ]  # fmt: skip
    return {
        "axes": axes,
        "first": _first_axes(run, axes, [values for _, values in own]),
        "best": None if best is None else best.candidate,
        "points": points,
    }


def _of_program(candidate: CandidateJudged) -> dict[str, float]:
    found = {"size in nodes": candidate.size, "operations per call": candidate.operations}
    return {name: float(value) for name, value in found.items() if value is not None}


def _measures(own: Sequence[Mapping[str, float]], known: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the names of measures that differ between policies, in their order."""
    names = list(dict.fromkeys(name for values in (*own, *known) for name in values))
    return [name for name in names if len({values[name] for values in (*own, *known) if name in values}) > 1]


def _first_axes(run: LiveRun, axes: Sequence[str], own: Sequence[Mapping[str, float]]) -> list[str]:
    """Return the axes of the map at first: those of the task's picture, or else two measures that are not alike."""
    try:
        pictures = recorded_task(run.record.config["task"]).pictures
    except UserError:  # it is gone
        pictures = ()
    for picture in pictures:
        if picture.x in axes and picture.y in axes:
            return [picture.x, picture.y]
    for one, other in combinations(axes, 2):
        pairs = [(values[one], values[other]) for values in own if one in values and other in values]
        if abs(_correlation(pairs)) < _ALIKE:
            return [one, other]
    return list(axes[:2])


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Pearson's coefficient; 1 where one side does not vary."""
    if not pairs:
        return 1.0
    x, y = (fmean(pair[side] for pair in pairs) for side in (0, 1))
    together = sum((a - x) * (b - y) for a, b in pairs)
    apart = (sum((a - x) ** 2 for a, _ in pairs) * sum((b - y) ** 2 for _, b in pairs)) ** 0.5
    return together / apart if apart else 1.0


def descent_tree(run: LiveRun, best: int) -> list[DescentRow]:
    """Return the `best` highest-scored candidates with all their ancestors, oldest first; at most 150 in all.

    The ancestors of the run's best candidate, which the winner is once there is one, are always among them.
    """
    record, winner = run.record, run.best()
    ranked = [candidate.candidate for candidate in record.ranked()[:best]]
    found: set[int] = set()
    for number in [winner.candidate, *ranked] if winner is not None else ranked:
        line = {number, *(ancestor for generation in lineage(record, number) for ancestor in generation)}
        if found and len(found | line) > _MAX_NODES:
            break
        found |= line
    return descent_rows(run, found)
