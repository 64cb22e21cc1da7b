"""One policy beside S3-FIFO: on training traces, with each of its parts taken away, and on held-out ones.

    python -m benchmarks.single_policy [--held-out]

The plan, fixed before the policy was run on a held-out trace. The policy is `policies/gittins.py` for
cache_eviction, under `sample` of 64. Its form and its constants come from the training traces of
`benchmarks.instance_traces` alone: of the forms tried, the one with the highest mean of the differences to S3-FIFO over
real training instances, a tie going to the shorter. The rule by which instances count is that of
`benchmarks.cache_instances`, and so are scores and intervals (a bootstrap over traces; those that share requests are
one). Without `--held-out` the policy is measured on the training traces, with each part taken away in turn; `chosen
without` is, for each family of traces, what the variant that is best on all other families comes to on it. With
`--held-out` it is measured once on the held-out traces, no variant beside it; the claim is that the paired interval is
above zero.

`--quick` takes the traces of less than 400,000 requests.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.cache_instances import (
    BOUNDS,
    METRICS,
    QUICK_REQUESTS,
    TASK,
    TIED,
    Case,
    counts,
    instance_of,
    interval,
)
from benchmarks.harness import Goal, argument_parser, finish
from benchmarks.instance_traces import DATA, OBJECTIVES, SIZES, Source, counted, split
from vulcan.anvil import check
from vulcan.baseline_cache import cached_metrics
from vulcan.evaluator import load_evaluator

POLICY = Path(__file__).parent / "policies" / "gittins.py"
SETTINGS = {"mechanism": "sample", "sample_size": 64}
NAME = "gittins"
RIVAL = "s3-fifo"

PARTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "the best time to stop: to the end only": [("for j in range(5):", "for j in range(0):")],
    "ghost hits": [
        ("policy.ends[32 * group + obj.ended] -= 1", "pass"),
        ("policy.ends[32 * wider(group) + obj.ended] -= 1", "pass"),
        ("policy.hits[32 * group + age] += 1\n    policy.hits[32 * wider(group) + age] += 1\n\n", "pass\n\n"),
        (" + policy.between * cache.objects", ""),
    ],
    "frequencies: one group of all requested again": [
        ("math.ceil(math.log2(max(times, 1)) / OFTEN), 3)", "times - 1, 1)")
    ],
    "groups: one of all": [("math.ceil(math.log2(max(times, 1)) / OFTEN), 3)", "0, times)")],
    "borrowing": [("BORROWED = 10.0", "BORROWED = 0.01")],
    "forgetting": [("MEMORY = 8.0", "MEMORY = 1e9")],
    "sizes": [("SIZE_WEIGHT = 0.5", "SIZE_WEIGHT = 0.0")],
    "half of the memory": [("MEMORY = 8.0", "MEMORY = 4.0")],
    "half of the octaves: twice as many ages in each": [("PER_OCTAVE = 2 ", "PER_OCTAVE = 4 ")],
}  # fmt: skip
"""What is taken away, and the text that is put in place of another."""


def variants(source: str) -> dict[str, str]:
    """Return the policy and, by the missing part, the others. Raises ValueError for a text that is not there."""
    found = {NAME: source}
    for part, changes in PARTS.items():
        text = source
        for old, new in changes:
            if old not in text:
                raise ValueError(f"{POLICY.name} has no {old!r}")
            text = text.replace(old, new)
        found[f"without {part}"] = text
    return found


def measured(sources: Sequence[Source], policies: Mapping[str, str]) -> list[Case]:
    """Return the cases that count, with the policies as members."""
    checked = {name: check(source, TASK) for name, source in policies.items()}
    cases = []
    for source in sources:
        evaluator = load_evaluator(TASK)
        trace = source.load()
        mean_size = trace.footprint / trace.object_count
        print(f"{source.name}: {trace.requests:,} requests", file=sys.stderr)
        for size in SIZES:
            plain = instance_of(source, size, evaluator, TASK.name, {})
            sampled = instance_of(source, size, evaluator, TASK.name, SETTINGS)
            objects = int(plain.parameters["capacity"]) / mean_size  # type: ignore[call-overload]
            known = {name: evaluator.evaluate_baseline(name, plain) for name in evaluator.baselines()}
            wanted = [
                objective
                for objective in OBJECTIVES[: 1 + (int(trace.sizes.min()) != int(trace.sizes.max()))]
                if counts({name: m[METRICS[objective]] for name, m in known.items()}, objects)
            ]
            if not wanted:
                continue
            evaluator.prepare([sampled])
            parameters = {key: value for key, value in sampled.parameters.items() if key != "trace"}
            own = {
                name: cached_metrics(
                    ["single policy", policies[name], parameters], partial(evaluator.evaluate, policy, sampled)
                )
                for name, policy in checked.items()
            }
            for objective in wanted:
                metric = METRICS[objective]
                cases.append(
                    Case(
                        source.unit, f"{source.name}@{size}", objective,
                        {n: m[metric] for n, m in known.items() if n not in BOUNDS},
                        {n: m[metric] for n, m in known.items() if n in BOUNDS},
                        {n: m[metric] for n, m in own.items()}, NAME, True, RIVAL,
                    )
                )  # fmt: skip
    return cases


def lead(case: Case, policy: str) -> float:
    """Return by how much a policy's score is above that of the rival."""
    return case.score(case.members[policy]) - case.score(case.baselines[RIVAL])


def chosen_without(cases: Sequence[Case], families: Mapping[str, str], policies: Sequence[str]) -> float:
    """Return the mean lead where, for each family, the policy is chosen by all others."""
    leads = []
    for family in dict.fromkeys(families.values()):
        others = [c for c in cases if families[c.trace] != family]
        best = max(policies, key=lambda name: statistics.fmean(lead(c, name) for c in others))
        leads += [lead(c, best) for c in cases if families[c.trace] == family]
    return statistics.fmean(leads)


def report(cases: Sequence[Case], families: Mapping[str, str]) -> tuple[list[str], dict[str, Any], list[Goal]]:
    policies = list(cases[0].members)
    table = [f"{len(cases)} instances of {len({c.trace for c in cases})} traces or groups of traces", ""]
    table += [f"| | mean score | ahead of {RIVAL} by | 95 % interval | ahead | behind |", "|---|---|---|---|---|---|"]
    summary = {}
    for name in policies:
        leads = [lead(c, name) for c in cases]
        low, high = interval(cases, lambda c, name=name: lead(c, name))
        score = statistics.fmean(c.score(c.members[name]) for c in cases)
        summary[name] = {"score": score, "lead": statistics.fmean(leads), "low": low, "high": high}
        cells = (
            name, f"{score:.4f}", f"{statistics.fmean(leads):+.4f}", f"{low:+.4f} to {high:+.4f}",
            str(sum(c.members[name] < c.baselines[RIVAL] * (1 - TIED) for c in cases)),
            str(sum(c.members[name] > c.baselines[RIVAL] * (1 + TIED) for c in cases)),
        )  # fmt: skip
        table.append(f"| {' | '.join(cells)} |")
    for name in cases[0].baselines:
        score = statistics.fmean(c.score(c.baselines[name]) for c in cases)
        table.append(f"| baseline {name} | {score:.4f} | | | | |")
    if len(policies) > 1:
        table += ["", f"chosen without the family at hand: {chosen_without(cases, families, policies):+.4f}"]
    else:
        table += ["", f"| instance | | {NAME} | {RIVAL} | best baseline | | Belady |", "|---|---|---|---|---|---|---|"]
        for c in cases:
            table.append(
                f"| {c.size} | {c.objective} | {c.score(c.members[NAME]):.4f} | {c.score(c.baselines[RIVAL]):.4f} | "
                f"{c.score(c.baselines[c.best_baseline]):.4f} | {c.best_baseline} | {c.score(c.bounds['belady']):.4f} |"
            )
    document = {
        "policies": summary,
        "cases": [
            {"instance": c.size, "objective": c.objective, "policies": dict(c.members), "baselines": dict(c.baselines)}
            for c in cases
        ],
    }
    return table, document, [Goal(f"the interval's lower end of the lead over {RIVAL}", summary[NAME]["low"], 0.0)]


def main() -> None:
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--held-out", action="store_true", help="on the held-out traces, the policy alone")
    options = parser.parse_args()
    sides, side = split(), "held-out" if options.held_out else "train"
    sources = [s for s in counted() if sides[s.name] == side and (DATA / s.path).is_file()]
    if not sources:
        sys.exit(f"no trace is below {DATA}; set VULCAN_DATA to the directory that has cache/")
    if options.quick:
        sources = [s for s in sources if s.load().requests < QUICK_REQUESTS]
    source = POLICY.read_text(encoding="utf-8")
    cases = measured(sources, {NAME: source} if options.held_out else variants(source))
    table, document, goals = report(cases, {s.unit: s.family for s in sources})
    finish(options, document, table, goals)


if __name__ == "__main__":
    main()
