"""How a library chooses: by which method, and how far its knowledge reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from vulcan.libraries.contents import METHODS, LeftOut, Method, Rule, Scores, Trained, make_table
from vulcan.libraries.training import standard

NEAREST = 5
LEAST = 0.5
REACH_QUANTILE = 0.9


def reach_of(points: np.ndarray, workloads: Sequence[str]) -> float:
    """The 0.9 quantile, over the instances, of the distance to the nearest instance of another workload.

    Where there is one workload alone, of that to the nearest other instance; 0 for a single instance.
    """
    distances = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    same = np.array([[one == other for other in workloads] for one in workloads])
    if same.all():
        same = np.eye(len(points), dtype=bool)
    nearest = np.where(same, np.inf, distances).min(axis=1)
    known = nearest[np.isfinite(nearest)]
    return float(np.quantile(known, REACH_QUANTILE)) if len(known) else 0.0


def choose_rule(
    names: tuple[str, ...],
    instances: tuple[Trained, ...],
    scores: Mapping[str, Scores],
    trials: Mapping[str, Scores],
    fallbacks: Mapping[str, str],
    wanted: Method | None,
) -> Rule:
    """The method that does best where each workload in turn is left out, by the mean score of what it chooses.

    `scores` and `trials` have, by objective, what each choice scores on each instance and on its opening; `fallbacks`
    is the name of the fallback among them. Of equals the first of METHODS; `wanted` says it instead. Where there is one
    workload alone nothing can be left out.
    """
    rows = np.array([i.fingerprint for i in instances])
    workloads = [i.workload for i in instances]
    centre, scale = standard(rows)
    rule = Rule(wanted or METHODS[0], NEAREST, reach_of((rows - centre) / scale, workloads), LEAST)
    if len(set(workloads)) < 2:
        return rule
    found: list[LeftOut] = []
    for method in METHODS:
        for objective in scores:
            chosen = [0.0] * len(instances)
            for workload in dict.fromkeys(workloads):
                for number, score in _left_out(
                    names, instances, workload, scores[objective], trials[objective], fallbacks[objective],
                    replace(rule, method=method),
                ):  # fmt: skip
                    chosen[number] = score
            found.append(_beside(method, objective, chosen, scores[objective], fallbacks[objective]))
    means = {m: fmean(each.score for each in found if each.method == m) for m in METHODS}
    best = max(METHODS, key=lambda m: means[m])
    return replace(rule, method=wanted or best, left_out=tuple(found))


def _left_out(
    names: tuple[str, ...], instances: tuple[Trained, ...], workload: str, scores: Scores, trials: Scores,
    fallback: str, rule: Rule,
) -> list[tuple[int, float]]:  # fmt: skip
    """For each instance of the workload its number, and the score of what is chosen by all the others alone."""
    others = [n for n, i in enumerate(instances) if i.workload != workload]
    rows = np.array([instances[n].fingerprint for n in others])
    centre, scale = standard(rows)
    reach = reach_of((rows - centre) / scale, [instances[n].workload for n in others])
    table = make_table(
        names, tuple(map(float, centre)), tuple(map(float, scale)), tuple(instances[n] for n in others),
        {name: [values[n] for n in others] for name, values in scores.items()}, fallback, replace(rule, reach=reach),
    )  # fmt: skip
    found = []
    for number, instance in enumerate(instances):
        if instance.workload == workload:
            tried = {name: values[number] for name, values in trials.items()}
            decision = table.decide(dict(zip(names, instance.fingerprint, strict=True)), tried)
            found.append((number, scores[decision.name][number]))
    return found


def _beside(method: Method, objective: str, chosen: list[float], scores: Scores, fallback: str) -> LeftOut:
    members = {name: values for name, values in scores.items() if name != fallback} or scores
    return LeftOut(
        method, objective, fmean(chosen), fmean(scores[fallback]), max(fmean(v) for v in members.values()),
        fmean(max(column) for column in zip(*scores.values(), strict=True)),
    )  # fmt: skip
