"""The shipped library of cache-eviction policies on traces that it was not made from.

The traces, their division into training and held-out ones, and the rule by which instances count are in
`benchmarks.instance_traces`. On each held-out instance one of its members is chosen, and six to follow, by
the first million requests alone, at most a fifth of the trace. What was chosen is then run over
the whole trace, from an empty cache, beside every baseline and the bounds. The library is best where its miss ratio is
lower than the lowest of all baselines by more than 0.1 % of that, and tied where it is not higher by more. Scores are
those of the task: the relative reduction of the miss ratio against FIFO. Intervals are of a bootstrap over traces.

`--quick` takes the traces of less than 400,000 requests. `--families` measures on all traces of less than five million
requests instead, each family of traces in turn without the members that were searched on it and without its scores.

What is followed was fixed on training traces: four best on trial, two that add the most, 32 misses as `evidence`.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, argument_parser, finish
from benchmarks.instance_traces import (
    DATA,
    MIN_HEADROOM,
    MIN_OBJECTS,
    OBJECTIVES,
    SIZES,
    Source,
    counted,
    split,
)
from vulcan.anvil import check
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.portfolio.candidates import digest
from vulcan.portfolio.library_file import read_library
from vulcan.portfolio.model import Library, LibraryMember
from vulcan.portfolio.workloads import shared_settings
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.simulator.base import cached_metrics
from vulcan.task import Metrics, Split

TASK = find_task("cache_eviction")
METRICS = {"object": "miss_ratio", "byte": "byte_miss_ratio"}
BOUNDS = ("belady", "belady-size-sampled")
SOURCE_OF = {source.name: source for source in counted()}
TIED = 0.001
BEST = "best baseline of each instance"
FIRST = 1_000_000
TRIED = 4
"""How many of those followed are the best on the first requests; the others add the most to them in training."""
QUICK_REQUESTS, FAMILY_REQUESTS = 400_000, 5_000_000

SEARCHED_ON = {
    "block": ("block",), "block_bytes": ("block",), "block_model": ("block",), "broad": ("arc", "web", "generated"),
    "skewed": ("arc", "web", "generated"), "cdn": ("generated",), "loops": ("lirs",), "loops_model": ("lirs",),
}  # fmt: skip
"""The families of the traces that members of the library were searched on (its README.md)."""
MAX_RESAMPLES = 10_000


@dataclass(frozen=True)
class Case:
    """An instance under one objective. `ratios` has the miss ratio of each baseline, bound and member by name."""

    trace: str
    size: str
    objective: str
    baselines: Mapping[str, float]
    bounds: Mapping[str, float]
    members: Mapping[str, float]
    chosen: str
    followed: float = math.nan
    """The miss ratio of what follows the best members."""

    @property
    def fifo(self) -> float:
        return self.baselines["fifo"]

    @property
    def best_baseline(self) -> str:
        return min(self.baselines, key=lambda name: (self.baselines[name], name))

    @property
    def by_library(self) -> float:
        return self.members[self.chosen]

    @property
    def perfect(self) -> float:
        """The miss ratio of a library that always selects its best member."""
        return min(self.members.values())

    def excess(self, ratio: float) -> float:
        """Return how much more is missed than by the best baseline, relatively."""
        return ratio / self.baselines[self.best_baseline] - 1

    def score(self, ratio: float) -> float:
        return improvement(self.fifo, ratio)


def instance_of(source: Source, size: str, evaluator: Evaluator, task: str, settings: Mapping[str, Any]) -> Instance:
    """All of a trace, as a task and its settings have it."""
    given = {"trace": [str(DATA / source.path)], "trace_format": source.format, "cache_size": [size], **settings}
    (instance,) = evaluator.instances(complete_settings(find_task(task), given), Split(by="none"))
    return replace(instance, split="train")


def instance_of_member(library: Library, member: LibraryMember, source: Source, size: str) -> Instance:
    """All of a trace, as a member's task and settings have it."""
    of_library = shared_settings(member.task, {n: library.settings[n] for n in ("sample_size",)})
    evaluator = load_evaluator(find_task(member.task))
    return instance_of(source, size, evaluator, member.task, {**of_library, **member.settings})


def member_metrics(
    library: Library, member: LibraryMember, source: Source, size: str, opening: int | None = None
) -> Metrics:
    """Measure a member on an instance, or on its first requests; the result is cached on disk."""
    task = find_task(member.task)
    evaluator = load_evaluator(task)
    instance = instance_of_member(library, member, source, size)
    if opening is not None:
        instance = evaluator.opening(instance, opening)  # type: ignore[attr-defined]
    known = {key: value for key, value in instance.parameters.items() if key != "trace"}

    def measure() -> Metrics:
        evaluator.prepare([instance])
        return evaluator.evaluate(check(member.source, task), instance)

    return cached_metrics(["library member", digest(member), known], measure)


def followed_metrics(
    library: Library, members: Sequence[LibraryMember], source: Source, size: str, metric: str
) -> Metrics:
    """Measure what follows these members on an instance; the result is cached on disk."""
    evaluator = load_evaluator(TASK)
    pairs = [(m, instance_of_member(library, m, source, size)) for m in members]
    known = {key: value for key, value in pairs[0][1].parameters.items() if key != "trace"}

    def measure() -> Metrics:
        return evaluator.follow([(check(m.source, find_task(m.task)), instance) for m, instance in pairs], metric)

    return cached_metrics(["library followed", source.name, *map(digest, members), metric, known], measure)


def improvement(fifo: float, ratio: float) -> float:
    """Return the score of the task: from -1 to 1."""
    return 0.0 if ratio == fifo else (fifo - ratio) / max(fifo, ratio)


def without_family(library: Library, family: str) -> Library:
    """The library as if there were no trace of this family: without what was searched or measured on one."""
    members = tuple(m for m in library.members if family not in SEARCHED_ON.get(m.name, ()))
    names = [i.workload.partition(".")[0] for i in library.instances]
    others = [n for n, name in enumerate(names) if SOURCE_OF[name].family != family]
    return replace(
        library,
        members=members,
        matrix={
            objective: replace(
                matrix, members={m.name: tuple(matrix.members[m.name][n] for n in others) for m in members}
            )
            for objective, matrix in library.matrix.items()
        },
    )


def counts(ratios: Mapping[str, float], objects: float) -> bool:
    """Whether an instance counts; `ratios` are FIFO's and the bounds', `objects` of mean size what the cache holds."""
    lowest = min(ratios[bound] for bound in BOUNDS)
    return objects >= MIN_OBJECTS and ratios["fifo"] > (1 + MIN_HEADROOM) * lowest


def choose(library: Library, source: Source, size: str, objective: str, instance: Instance) -> tuple[str, ...]:
    """Return the members to follow, the best first, by the first requests: no more than a fifth of the trace."""
    evaluator = load_evaluator(TASK)
    first = min(FIRST, max(1, source.load().requests // 5))
    opening = evaluator.opening(instance, first)  # type: ignore[attr-defined]
    fifo = evaluator.evaluate_baseline("fifo", opening)[METRICS[objective]]
    trials = {
        m.name: improvement(fifo, member_metrics(library, m, source, size, first)[METRICS[objective]])
        for m in library.members
    }
    ranked = sorted(trials, key=lambda name: -trials[name])
    return library.to_follow(objective, ranked, ranked[:TRIED])


def measured(library: Library, sources: Sequence[Source]) -> tuple[list[Case], list[str]]:
    """Return the cases that count, and in words those that do not."""
    cases, left_out = [], []
    for source in sources:
        evaluator = load_evaluator(TASK)
        trace = source.load()
        mean_size = trace.footprint / trace.object_count
        has_sizes = int(trace.sizes.min()) != int(trace.sizes.max())
        print(f"{source.name}: {trace.requests:,} requests", file=sys.stderr)
        for size in SIZES:
            instance = instance_of(source, size, evaluator, TASK.name, {})
            objects = int(str(instance.parameters["capacity"])) / mean_size
            found = {n: evaluator.evaluate_baseline(n, instance) for n in ("fifo", *BOUNDS)}
            wanted = [
                o for o in OBJECTIVES[: 1 + has_sizes]
                if counts({n: m[METRICS[o]] for n, m in found.items()}, objects)
            ]  # fmt: skip
            left_out += [f"{source.name}@{size} {o}" for o in OBJECTIVES[: 1 + has_sizes] if o not in wanted]
            if not wanted:
                continue
            known = {n: evaluator.evaluate_baseline(n, instance) for n in evaluator.baselines()}
            own = {m.name: member_metrics(library, m, source, size) for m in library.members}
            for objective in wanted:
                metric = METRICS[objective]
                chosen = choose(library, source, size, objective, instance)
                members = [library.member(name) for name in chosen]
                followed = followed_metrics(library, members, source, size, metric)
                cases.append(
                    Case(
                        source.name, size, objective,
                        {n: m[metric] for n, m in known.items() if n not in BOUNDS},
                        {n: m[metric] for n, m in known.items() if n in BOUNDS},
                        {n: m[metric] for n, m in own.items()}, chosen[0], followed[metric],
                    )
                )  # fmt: skip
    return cases, left_out


def everywhere(cases: Sequence[Case]) -> list[str]:
    """Return the baselines that were run on every instance."""
    return [name for name in cases[0].baselines if all(name in case.baselines for case in cases)]


def single_baseline(cases: Sequence[Case]) -> str:
    """Return the baseline with the highest mean score, of those that were run everywhere."""
    return max(everywhere(cases), key=lambda name: statistics.fmean(c.score(c.baselines[name]) for c in cases))


def interval(cases: Sequence[Case], figure: Any) -> tuple[float, float]:
    """Return the 95 % interval of a figure of cases, by a bootstrap over their traces."""
    rng = np.random.default_rng(1)
    by_trace = {t: [c for c in cases if c.trace == t] for t in dict.fromkeys(c.trace for c in cases)}
    values = {t: [figure(c) for c in cs] for t, cs in by_trace.items()}
    sums = np.array([[sum(v), len(v)] for v in values.values()], dtype=float)
    drawn = sums[rng.integers(0, len(sums), (MAX_RESAMPLES, len(sums)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return float(low), float(high)


HOW: Mapping[str, Callable[[Case], float]] = {"one member": lambda c: c.by_library, "following": lambda c: c.followed}


def tabulated(groups: Mapping[str, Sequence[Case]]) -> BenchmarkTable:
    """Return the figures of each group, for one member and for what follows several."""
    rows = []
    for name, group in groups.items():
        for how, ratio in HOW.items() if group else ():
            excesses = [c.excess(ratio(c)) for c in group]
            best, tied = sum(e < -TIED for e in excesses), sum(-TIED <= e <= TIED for e in excesses)
            counts = (len(group), best, tied, sum(e <= 0.05 for e in excesses))
            lead = partial(lead_of, ratio=ratio)
            low, high = interval(group, lead)
            bounds = f" [{low:+.4f}, {high:+.4f}]" if low < high else ""  # there is none of a single trace
            score = statistics.fmean(c.score(ratio(c)) for c in group)
            ahead = f"{statistics.fmean(map(lead, group)):+.4f}{bounds}"
            rows.append((name, how, *map(str, counts), f"{score:.4f}", ahead))
    columns = ("", "", "instances", "best", "tied", "within 5 %", "mean score", "ahead of the best baseline")
    return BenchmarkTable("The library and the best baseline", columns, tuple(rows))


def lead_of(case: Case, ratio: Callable[[Case], float]) -> float:
    """Return how much higher a score is than that of the instance's best baseline."""
    return case.score(ratio(case)) - case.score(case.baselines[case.best_baseline])


def report(cases: Sequence[Case], left_out: Sequence[str]) -> BenchmarkResult:
    single = single_baseline(cases)
    families = {c.trace: SOURCE_OF[c.trace].family for c in cases}
    groups = {
        "all": cases,
        **{f"cache {size}": [c for c in cases if c.size == size] for size in SIZES},
        **{f"{o} miss ratio": [c for c in cases if c.objective == o] for o in OBJECTIVES},
        **{f: [c for c in cases if families[c.trace] == f] for f in dict.fromkeys(families.values())},
    }
    shared = [name for name in cases[0].members if all(name in case.members for case in cases)]
    figures: dict[str, Any] = {
        "library, following": lambda c: c.score(c.followed),
        "library, one member": lambda c: c.score(c.by_library),
        "library, perfect choice": lambda c: c.score(c.perfect),
        BEST: lambda c: c.score(c.baselines[c.best_baseline]),
        "Belady's MIN": lambda c: c.score(c.bounds["belady"]),
        **{f"baseline {n}": lambda c, n=n: c.score(c.baselines[n]) for n in everywhere(cases) if n != "fifo"},
        **{f"member {n}": lambda c, n=n: c.score(c.members[n]) for n in shared},
    }
    means = {name: statistics.fmean(map(figure, cases)) for name, figure in figures.items()}
    ranked = []
    for name in sorted(means, key=lambda name: -means[name]):
        low, high = interval(cases, figures[name])
        ranked.append((name, f"{means[name]:.4f}", f"[{low:.4f}, {high:.4f}]"))
    each = []
    for c in cases:
        best, followed, alone = (c.score(r) for r in (c.baselines[c.best_baseline], c.followed, c.by_library))
        each.append(
            (f"{c.trace}@{c.size}", c.objective, f"{c.score(c.bounds['belady']):.4f}", c.best_baseline, f"{best:.4f}",
             f"{followed:.4f}", f"{c.excess(c.followed):+.2%}", c.chosen, f"{alone:.4f}",
             f"{c.excess(c.by_library):+.2%}")
        )  # fmt: skip
    columns = ("instance", "", "Belady", "best baseline", "", "following", "", "one member", "", "")
    tables = (
        tabulated(groups),
        BenchmarkTable("Mean score, 95 % interval over traces", ("", "mean", "interval"), tuple(ranked)),
        BenchmarkTable("Scores, and misses over the best baseline's", columns, tuple(each)),
    )
    best_or_tied = sum(c.excess(c.followed) <= TIED for c in cases)
    within = sum(c.excess(c.followed) <= 0.05 for c in cases)
    mean, of_single = means["library, following"], means[f"baseline {single}"]
    goals = (
        Goal(f"share of {len(cases)} instances on which it is best or tied", best_or_tied / len(cases), 0.6),
        Goal("mean score above that of the best baseline of each instance", mean - means[BEST], 0.0),
        Goal("share of instances within 5 % of the best baseline", within / len(cases), 0.95),
        Goal(f"mean score above that of the best single baseline, {single}", mean - of_single, 0.0),
    )
    return BenchmarkResult(tables, goals, tuple(left_out))


def main() -> None:
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--families", action="store_true", help="on all traces, with each family left out in turn")
    options = parser.parse_args()
    library = read_library(TASK.directory / "library")
    sides, cases, left_out = split(), [], []
    sources = list(counted())
    if not options.families:
        sources = [s for s in sources if sides[s.name] == "held-out"]
    sources = [s for s in sources if (DATA / s.path).is_file()]
    if not sources:
        sys.exit(f"no such trace is below {DATA}; set VULCAN_DATA to the directory that has cache/")
    most = QUICK_REQUESTS if options.quick else FAMILY_REQUESTS if options.families else math.inf
    sources = [s for s in sources if s.load().requests < most]
    for family in dict.fromkeys(s.family for s in sources) if options.families else [None]:
        found = measured(
            library if family is None else without_family(library, family),
            [s for s in sources if family in (None, s.family)],
        )
        cases += found[0]
        left_out += found[1]
    finish(options, report(cases, left_out))


if __name__ == "__main__":
    main()
