"""How many members of a library to have and to follow, by training traces alone.

    python -m benchmarks.library_following --library runs/library/built --margin 0.002 0 --members 16 24 --followed 1 6

Each training trace in turn is left out with those that share requests with it, or with its family (`--by family`): the
library is made anew of the plan's candidates by their scores on all other traces (`matrix` in `library.json`), with
each margin and number of members. By the trace's first fifth and its neighbours, so many members are followed on all of
it. `benchmarks.cache_instances` says which instances count, and what a score is. `one member` is the choice, `perfect`
the best member in hindsight.
`--keep NAME` names candidates that become members whatever they gain.

Only traces of less than `--requests` (400,000) take part; `--quick` takes those of less than 50,000.
"""

from __future__ import annotations

import statistics
import sys
import tomllib
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cache_instances import (
    BOUNDS,
    METRICS,
    QUICK_REQUESTS,
    SHARE_SEEN,
    TASK,
    TIED,
    counts,
    followed_metrics,
    improvement,
    instance_of,
    member_metrics,
)
from benchmarks.harness import argument_parser, finish
from benchmarks.instance_traces import DATA, OBJECTIVES, SIZES, Source, counted, split
from vulcan.evaluator import load_evaluator
from vulcan.portfolio.candidates import PolicySpec, distinct, of_file
from vulcan.portfolio.features import standard
from vulcan.portfolio.library_file import read_library
from vulcan.portfolio.model import Library, LibraryMember, make_table
from vulcan.portfolio.pruning import prune
from vulcan.portfolio.selector import reach_of, shipped_library

ROOT = Path(__file__).parents[1]
ENDING = ".oracleGeneral"
FEW_REQUESTS = 50_000


@dataclass(frozen=True)
class Plan:
    """How many members there are at most, what each must gain somewhere, and which remain in any case."""

    margin: float
    members: int
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """An instance of a trace that is left out. `trials` are the scores of all candidates on its first requests."""

    source: Source
    size: str
    objective: str
    position: int
    baselines: Mapping[str, float]
    trials: Mapping[str, float]

    @property
    def best(self) -> float:
        """The miss ratio of the best baseline."""
        return min(self.baselines.values())

    def score(self, ratio: float) -> float:
        return improvement(self.baselines["fifo"], ratio)

    def ratio(self, score: float) -> float:
        """Return the miss ratio that has this score."""
        fifo = self.baselines["fifo"]
        return fifo * (1 - score) if score >= 0 else fifo / (1 + score)


def candidates_of(library: Library) -> list[LibraryMember]:
    """Return the plan's candidates, named as in the library's matrix."""
    plan = tomllib.loads((shipped_library(TASK) / "plan.toml").read_text(encoding="utf-8"))
    members = [
        of_file(text, (ROOT / PolicySpec(text).path()).read_text(encoding="utf-8"), TASK.name)
        for text in plan["policy"]
    ]
    matrix = library.matrix[library.objectives[0]]
    measured = {*matrix.members, *matrix.dropped}
    found = [m for m in distinct(members, [*matrix.baselines, *matrix.oracles, *matrix.own]) if m.name in measured]
    if len(found) != len(measured):
        sys.exit("the library was built from another plan: give one built from this plan by --library")
    return found


def scores_of(library: Library, objective: str) -> dict[str, tuple[float, ...]]:
    """Return the score of each candidate on each training instance."""
    matrix = library.matrix[objective]
    return {**matrix.members, **matrix.dropped}


def instances_seen(library: Library, candidates: Sequence[LibraryMember], sources: Sequence[Source]) -> Iterator[Seen]:
    """Yield the instances that count, with what a library would see of them."""
    positions = {i.name: n for n, i in enumerate(library.instances)}
    for source in sources:
        evaluator = load_evaluator(TASK)
        trace = source.load()
        print(f"{source.name}: {trace.requests:,} requests", file=sys.stderr)
        first = min(library.first, trace.requests // SHARE_SEEN)
        for size in SIZES:
            instance = instance_of(source, size, evaluator, TASK.name, {})
            objects = int(instance.parameters["capacity"]) * trace.object_count / trace.footprint  # type: ignore[call-overload]
            known = {n: evaluator.evaluate_baseline(n, instance) for n in evaluator.baselines()}
            wanted = [
                objective
                for objective in OBJECTIVES[: 1 + (int(trace.sizes.min()) != int(trace.sizes.max()))]
                if counts({n: m[METRICS[objective]] for n, m in known.items()}, objects)
            ]
            if not wanted:
                continue
            opening = evaluator.opening(instance, first)  # type: ignore[attr-defined]
            tried = {m.name: member_metrics(library, m, source, size, first) for m in candidates}
            tried |= {f.baseline: evaluator.evaluate_baseline(f.baseline, opening) for f in library.fallbacks.values()}
            fifo = evaluator.evaluate_baseline("fifo", opening)
            for objective in wanted:
                metric = METRICS[objective]
                yield Seen(
                    source, size, objective, positions[f"{source.name}@{size}"],
                    {n: m[metric] for n, m in known.items() if n not in BOUNDS},
                    {n: improvement(fifo[metric], m[metric]) for n, m in tried.items()},
                )  # fmt: skip


@dataclass(frozen=True)
class LeftOut:
    """A library's training traces, of which one in turn is left out, with all of its unit.

    `unit_of` has by the name of a trace what is left out together: what shares requests, or its family.
    """

    library: Library
    unit_of: Mapping[str, str]

    def without(self, unit: str) -> list[int]:
        """Return the positions of the training instances that are not of this unit."""
        names = [i.workload.removesuffix(ENDING) for i in self.library.instances]
        return [n for n, name in enumerate(names) if self.unit_of[name] != unit]

    def members(self, unit: str, plan: Plan) -> list[str]:
        """Return the members of a library that is made without these traces."""
        kept = self.without(unit)

        def of(scores: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, ...]]:
            return {name: tuple(values[n] for n in kept) for name, values in scores.items()}

        instead = {o: of(m.own)[self.library.fallbacks[o].policy] for o, m in self.library.matrix.items()}
        scores = {objective: of(scores_of(self.library, objective)) for objective in self.library.objectives}
        return prune(scores, instead, plan.margin, plan.members, plan.keep)

    def ranked(self, seen: Seen, members: Sequence[str]) -> list[str]:
        """Return the choices for an instance, without what is known of its traces: the best first."""
        library, fallback = self.library, self.library.fallbacks[seen.objective].baseline
        others = self.without(self.unit_of[seen.source.name])
        rows = np.array([library.instances[n].fingerprint for n in others])
        centre, scale = standard(rows)
        reach = reach_of((rows - centre) / scale, [library.instances[n].workload for n in others])
        scores = {name: values for name, values in scores_of(library, seen.objective).items() if name in members}
        scores[fallback] = library.matrix[seen.objective].baselines[fallback]
        table = make_table(
            library.names, tuple(map(float, centre)), tuple(map(float, scale)),
            tuple(library.instances[n] for n in others),
            {name: [values[n] for n in others] for name, values in scores.items()},
            fallback, replace(library.rule, method="trials", reach=reach),
        )  # fmt: skip
        fingerprint = dict(zip(library.names, library.instances[seen.position].fingerprint, strict=True))
        decision = table.decide(fingerprint, {name: seen.trials[name] for name in scores})
        order = [name for name, _ in decision.ranked]
        return [decision.name, *(name for name in order if name != decision.name)]


def evaluate(
    left_out: LeftOut,
    candidates: Sequence[LibraryMember],
    seen: Sequence[Seen],
    plan: Plan,
    counts_followed: Sequence[int],
) -> list[dict[str, Any]]:
    """Return figures of a plan: of one member, of each number that is followed, and of a perfect choice."""
    library, by_name = left_out.library, {m.name: m for m in candidates}
    members_without = cache(lambda unit: left_out.members(unit, plan))
    ratios: dict[str, list[float]] = {}
    units = [left_out.unit_of[each.source.name] for each in seen]
    for unit, each in zip(units, seen, strict=True):
        members = members_without(unit)
        order = left_out.ranked(each, members)
        metric, fallback = METRICS[each.objective], library.fallbacks[each.objective].baseline
        scores = scores_of(library, each.objective)
        known = {fallback: each.baselines[fallback]} | {n: each.ratio(scores[n][each.position]) for n in members}
        ratios.setdefault("one member", []).append(known[order[0]])
        followable = [by_name[name] for name in order if name != fallback]
        for number in counts_followed:
            followed = followed_metrics(library, followable[:number], each.source, each.size, metric)
            ratios.setdefault(f"following {number}", []).append(followed[metric])
        ratios.setdefault("perfect", []).append(min(known.values()))
    sizes = [len(members_without(unit)) for unit in dict.fromkeys(units)]
    return [
        {
            "margin": plan.margin, "at most": plan.members, "keep": list(plan.keep),
            "members": statistics.fmean(sizes), "how": how, **figures_of(seen, values),
        }
        for how, values in ratios.items()
    ]  # fmt: skip


def figures_of(seen: Sequence[Seen], ratios: Sequence[float]) -> dict[str, float]:
    excesses = [ratio / each.best - 1 for each, ratio in zip(seen, ratios, strict=True)]
    return {
        "mean score": statistics.fmean(each.score(ratio) for each, ratio in zip(seen, ratios, strict=True)),
        "best or tied": sum(excess <= TIED for excess in excesses),
        "within 5 %": sum(excess <= 0.05 for excess in excesses),
    }


def report(options: Namespace, sources: Sequence[Source]) -> tuple[list[str], dict[str, Any]]:
    library = read_library(options.library)
    candidates = candidates_of(library)
    left_out = LeftOut(library, {source.name: getattr(source, options.by) for source in counted()})
    seen = list(instances_seen(library, candidates, sources))
    best = statistics.fmean(each.score(each.best) for each in seen)
    traces = len({each.source.name for each in seen})
    table = [f"{len(seen)} instances of {traces} training traces, each left out in turn by {options.by}"]
    table += [f"the best baseline of each instance in hindsight: {best:.4f}", ""]
    table += ["| margin | at most | members | | mean score | best or tied | within 5 % |", f"|{'---|' * 7}"]
    rows = []
    for margin in options.margin:
        for most in options.members:
            rows += evaluate(left_out, candidates, seen, Plan(margin, most, tuple(options.keep)), options.followed)
            for row in rows[-(2 + len(options.followed)) :]:
                line = (
                    f"| {row['margin']:g} | {row['at most']} | {row['members']:.1f} | {row['how']} | "
                    f"{row['mean score']:.4f} | {row['best or tied']} | {row['within 5 %']} |"
                )
                print(line, file=sys.stderr)
                table.append(line)
    return table, {"instances": len(seen), "best baseline": best, "rows": rows}


def main() -> None:
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--library", type=Path, default=shipped_library(TASK))
    parser.add_argument("--margin", type=float, nargs="+", default=[0.002])
    parser.add_argument("--members", type=int, nargs="+", default=[16])
    parser.add_argument("--followed", type=int, nargs="+", default=[1, 2, 4, 6, 8])
    parser.add_argument("--by", choices=("unit", "family"), default="unit", help="what is left out together")
    parser.add_argument("--keep", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--requests", type=int, default=QUICK_REQUESTS)
    options = parser.parse_args()
    sides, most = split(), FEW_REQUESTS if options.quick else options.requests
    sources = [s for s in counted() if sides[s.name] == "train" and (DATA / s.path).is_file()]
    sources = [s for s in sources if s.load().requests < most]
    if not sources:
        sys.exit(f"no training trace is below {DATA}; set VULCAN_DATA to the directory that has cache/")
    table, document = report(options, sources)
    finish(options, document, table, [])


if __name__ == "__main__":
    main()
