"""By what to choose a policy: clusters, neighbours, or short runs on the first requests.

    python -m benchmarks.library_rules [--side train]

So that it does not depend on any library, the choices are the known policies of the cache simulator. Instances are
the real traces of `benchmarks.instance_traces` at 0.1 %, 1 % and 10 % of the footprint where something can be won: the
best policy scores above 0.005, the relative reduction of the miss ratio against FIFO. What a rule sees is the first
fifth of a trace, at most 100,000 requests. Each trace in turn, or group of traces that share requests, is left out of
all that a rule is made from; `mean` is the mean score of what the rule chooses, `regret` how much less that is than the
best each time, `best` on what share it is within 0.001 of it, and `worst` the largest loss against the best single
policy of the other traces. `--side train` leaves out what `benchmarks.cache_instances` holds out.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.instance_traces import DATA, SIZES, SOURCES, counted, split
from vulcan.portfolio import decide
from vulcan.portfolio.features import clusters_of, standard
from vulcan.portfolio.model import FingerprintedInstance, SelectionRule, make_table
from vulcan.portfolio.selector import MIN, reach_of
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.evaluator import CacheEvaluator

FIRST = 100_000
MIN_TO_WIN = 0.005


@dataclass(frozen=True)
class Measured:
    """An instance: what it is like, and the score of each policy on all of it, on its opening, and on the whole of what
    its opening is the second half of."""

    name: str
    unit: str
    fingerprint: dict[str, float]
    scores: dict[str, float]
    opening: dict[str, float]
    prefix: dict[str, float]


def measured(side: str) -> list[Measured]:
    task, found = find_task("cache_eviction"), []
    sides = split()
    for source in counted():
        path = DATA / Path(source.path)
        if source.generated or not path.is_file() or side not in ("all", sides[source.name]):
            continue
        evaluator = CacheEvaluator()
        given = {"trace": [str(path)], "trace_format": source.format, "cache_size": list(SIZES)}
        for instance in evaluator.instances(complete_settings(task, given), Split(by="none")):
            first = min(FIRST, instance.parameters["measure_to"] // 5)  # type: ignore[operator]
            opening = evaluator.opening(instance, first)
            whole = replace(opening, parameters={**opening.parameters, "measure_from": 0})
            by_policy = [
                {
                    name: task.objectives[0].score(
                        evaluator.evaluate_baseline(name, each), {"fifo": evaluator.evaluate_baseline("fifo", each)}
                    )
                    for name, kind in evaluator.baselines().items()
                    if kind == "baseline"
                }
                for each in (instance, opening, whole)
            ]
            if instance.parameters["capacity"] > 3 and max(by_policy[0].values()) > MIN_TO_WIN:  # type: ignore[operator]
                found.append(
                    Measured(
                        f"{source.name}@{instance.name.partition('@')[2]}", source.unit,
                        dict(evaluator.fingerprint(instance, first)), *by_policy,
                    )
                )  # fmt: skip
        print(f"# {source.name}", flush=True)
    return found


def chosen(found: list[Measured], number: int, rule: str, nearest: int, share: float) -> str:
    """Return the choice of a rule for an instance, fitted to the instances of the other units."""
    mine = found[number]
    others = [m for m in found if m.unit != mine.unit]
    policies = list(mine.scores)
    single = max(policies, key=lambda p: fmean(m.scores[p] for m in others))
    if rule == "single":
        return single
    if rule == "prefix":
        return max(policies, key=lambda p: mine.prefix[p])
    if rule == "opening":
        return max(policies, key=lambda p: mine.opening[p])
    names = tuple(mine.fingerprint)
    rows = np.array([list(m.fingerprint.values()) for m in others])
    centre, scale = standard(rows)
    points = (rows - centre) / scale
    labels = clusters_of(points, None, 1)[0] if rule == "clusters" else (0,) * len(others)
    instances = tuple(
        FingerprintedInstance(m.name, m.unit, label, tuple(m.fingerprint.values()))
        for m, label in zip(others, labels, strict=True)
    )
    method = SelectionRule(rule, nearest, reach_of(points, [m.unit for m in others]), MIN)  # type: ignore[arg-type]
    table = make_table(
        names, tuple(map(float, centre)), tuple(map(float, scale)), instances,
        {p: [m.scores[p] for m in others] for p in policies}, single, method,
    )  # fmt: skip
    decide.TRIAL_SHARE = share
    return table.decide(mine.fingerprint, mine.opening).name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", choices=("all", "train"), default="all")
    found = measured(parser.parse_args().side)
    print(f"{len(found)} instances of {len({m.name.partition('@')[0] for m in found})} of {len(SOURCES)} traces")
    best = [max(m.scores.values()) for m in found]
    singles = [m.scores[chosen(found, n, "single", 5, 0.7)] for n, m in enumerate(found)]
    rules = [
        ("best single policy", "single", 5, 0.0),
        ("clusters", "clusters", 5, 0.0),
        *((f"neighbours, {k}", "neighbours", k, 0.0) for k in (1, 3, 5, 8)),
        ("run on the prefix", "prefix", 5, 0.0),
        ("run, second half measured", "opening", 5, 0.0),
        *(
            (f"trials, share {share}, {k} neighbours", "trials", k, share)
            for k in (3, 5, 8)
            for share in (0.5, 0.7, 0.9)
        ),
    ]
    print(f"{'rule':36s}   mean   regret  best  worst")
    for label, rule, nearest, share in rules:
        scores = [m.scores[chosen(found, n, rule, nearest, share)] for n, m in enumerate(found)]
        near = fmean(b - s <= 0.001 for b, s in zip(best, scores, strict=True))
        worst = max(single - s for single, s in zip(singles, scores, strict=True))
        print(
            f"{label:36s} {fmean(scores):.4f}  {fmean(best) - fmean(scores):.4f}  {near:4.0%}  {worst:.4f}", flush=True
        )
    print(f"{'best each time':36s} {fmean(best):.4f}")


if __name__ == "__main__":
    main()
