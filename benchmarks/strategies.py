"""Strategies compared at equal machine time, and what the proposals of each operator gain.

The offline generator writes every candidate, so that scores repeat with the seeds; seconds do not. Every search
trains on one trace, with a cache of 10 % of its footprint, mechanism `sample`, objective `object`, without tuning.
Machine time is the processor time of the whole search in one process: drafting, generating and scoring. The searches of
one trace and seed are compared at the time at which the fastest of them was done. The held-out score is that of the
last best candidate on the parts of the trace that no search sees.

A proposal's gain is its score less the best of its parents, or 0 if it is not better; a program that builds on nothing
is compared with the best so far. `new best` counts proposals that are better than all before.

Results are added to `--out`, one line of JSON per search; what is there already is not run again, so that an
interrupted run can be continued, and the tables are of all that is there.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.search import DATA, TASK, InThisProcess, interval
from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import EvaluationSet, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.options import StrategyName
from vulcan.searches.population import Population
from vulcan.searches.strategies import Draft, Strategy
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import CandidateJudged, Event

TRACES = {
    "2_pools": ("caffeine/lirs/2_pools.trace.gz", "lirs"),
    "sprite": ("caffeine/lirs/sprite.trace.gz", "lirs"),
    "multi1": ("caffeine/lirs/multi1.trace.gz", "lirs"),
    "multi3": ("caffeine/lirs/multi3.trace.gz", "lirs"),
    "gli": ("caffeine/lirs/gli.trace.gz", "lirs"),
    "tencent 1326": ("tencent/tencentBlock.ns1326.sample.csv", None),
    "mooncake": ("mooncake/conversation_trace.jsonl", "mooncake"),
    "vaultservice": ("caffeine/corda/trace_vaultservice.gz", "be-i64"),
}
CACHE_SIZE = "10%"
BEST = "evolve, best"
SEARCHES: dict[str, StrategyName] = {
    "evolve, archive": "evolve",
    BEST: "evolve",
    "policysmith": "policysmith",
    "best-of-n": "best-of-n",
}
_KEEPS_STATE = re.compile(r"^(class|def on_)", re.MULTILINE)


class BestParents:
    """`evolve`, but every proposal builds on the two best candidates that the generator can read.

    A measured alternative, which is not part of Vulcan.
    """

    def __init__(self, evolve: Strategy) -> None:
        self.total = evolve.total
        self.barrier = evolve.barrier

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        readable = (m for m in population.best(len(population)) if not _KEEPS_STATE.search(m.source))
        parents = tuple(islice(readable, 2))
        return Draft(1, "mutate" if parents else "fresh", parents)


Best = tuple[float, float]
"""The machine time at which a score was first reached, and the score."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """One proposal: its operator, the changes the generator made, its gain, and whether it is the best so far."""

    operator: str
    changes: tuple[str, ...]
    verdict: str
    gain: float
    is_best: bool


@dataclass(frozen=True)
class Search:
    """One search: its best scores over time, its proposals, its time and the held-out score of its best candidate."""

    points: tuple[Best, ...]
    proposals: tuple[Proposed, ...]
    seconds: float
    held_out: float

    def best(self, seconds: float) -> float:
        """Return the best score reached by that time."""
        return max(score for reached, score in self.points if reached <= seconds)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Search:
        proposals = tuple(Proposed(**{**p, "changes": tuple(p["changes"])}) for p in plain["proposals"])
        return cls(tuple((t, score) for t, score in plain["points"]), proposals, plain["seconds"], plain["held_out"])


def searched(
    evidence: EvaluationSet,
    config: SearchConfig,
    executor: InThisProcess,
    candidates: int,
    best_parents: bool,
) -> Search:
    """Run one search, without its end, for a number of candidates."""
    store = MemoryStore()
    open_run(TASK, config, store, evidence, lambda _: None)
    points: list[Best] = []
    made: list[Proposed] = []
    scorer = make_scorer(find_objective(TASK, config.objective), RunRecord.of(store.events()))
    best_source = ""

    def listen(event: Event) -> None:
        nonlocal best_source
        if not isinstance(event, CandidateJudged):
            return
        before = points[-1][1] if points else float("-inf")
        is_best = event.score is not None and event.score > before
        if is_best:
            assert event.score is not None
            points.append((time.process_time() - began, event.score))
            best_source = event.source
        if event.origin == "model":
            proposed = study.record.proposals[event.proposal]
            known = [s for p in proposed.parents if (s := study.record.candidates[p].score) is not None]
            gain = max(0.0, event.score - max(known, default=before)) if event.score is not None else 0.0
            made.append(Proposed(proposed.operator, changes(event.source), event.verdict, gain, is_best))

    study = Study(TASK, config, store, scorer, executor, (listen,))
    if best_parents:
        study._strategy = BestParents(study._strategy)
    began = time.process_time()
    with closing(open_model_pool(TASK, config)) as models:
        study.begin()
        while (proposal := study.ask()) is not None:
            study.tell(proposal, models.propose(proposal))
            if study.completed >= candidates:
                break
    spent = time.process_time() - began
    policy = check(best_source, TASK)
    evaluator = executor.evaluator
    hidden = [i for split in ("validation", "test") for i in scorer.of(split)]
    scores = [scorer.mean_on((i,), ((i.name, dict(evaluator.evaluate(policy, i))),)) for i in hidden]
    return Search(tuple(points), tuple(made), spent, statistics.fmean(scores))


def changes(source: str) -> tuple[str, ...]:
    """Return the generator's names for what it did, from the documentation that it writes into a program."""
    found = re.search(r'"""(.*?)"""', source, re.DOTALL)
    said = " ".join(found[1].split()) if found else ""
    _, _, done = said.rstrip(".").partition(": ")
    return tuple(part.strip() for part in re.split(r", then |; then ", done)) if done else ("a new program",)


def gains(proposals: Iterable[Proposed], of: Callable[[Proposed], Iterable[str]]) -> list[str]:
    """Return a Markdown table of proposals by operator."""
    groups: dict[str, list[Proposed]] = defaultdict(list)
    for proposed in proposals:
        for name in of(proposed):
            groups[name].append(proposed)
    rows = ["| | proposals | scored | better than the parents | mean gain x 1e4 | new best |"]
    rows.append("|---|---|---|---|---|---|")
    for name, group in sorted(groups.items(), key=lambda item: -statistics.fmean(p.gain for p in item[1])):
        scored = sum(p.verdict == "scored" for p in group)
        better = sum(p.gain > 0 for p in group)
        rows.append(
            f"| {name} | {len(group)} | {scored / len(group):.0%} | {better / len(group):.1%} "
            f"| {1e4 * statistics.fmean(p.gain for p in group):.2f} "
            f"| {sum(p.is_best for p in group) / len(group):.1%} |"
        )
    return rows


Cell = tuple[str, int]
"""A trace and a seed."""


def comparison(found: dict[Cell, dict[str, Search]]) -> list[str]:
    """Return a Markdown table: the mean best score on each trace at equal machine time, and the gains of `evolve`."""
    names = list(SEARCHES)
    rows = ["| trace | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    at = {cell: min(s.seconds for s in searches.values()) for cell, searches in found.items()}
    best = {cell: {n: s.best(at[cell]) for n, s in searches.items()} for cell, searches in found.items()}
    for trace in dict.fromkeys(trace for trace, _ in found):
        means = [statistics.fmean(best[cell][n] for cell in found if cell[0] == trace) for n in names]
        rows.append(f"| {trace} | " + " | ".join(f"{mean:.4f}" for mean in means) + " |")
    rows += ["", "| | median gain on train | better, worse | median gain held out | better, worse |"]
    rows.append("|---|---|---|---|---|")
    for one in names[:2]:
        for other in names:
            if one == other or (one == names[0] and other == names[1]):
                continue
            train = [best[cell][one] - best[cell][other] for cell in found]
            hidden = [searches[one].held_out - searches[other].held_out for searches in found.values()]
            rows.append(f"| {one} - {other} | {_gain(train)} | {_gain(hidden)} |")
    return rows


def _gain(differences: list[float]) -> str:
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return f"{interval(differences)} | {better}, {worse} of {len(differences)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", nargs="+", choices=TRACES, default=list(TRACES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True, help="file of results, one search per line")
    parser.add_argument("--read", action="store_true", help="only print the tables of --out")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # parents that the generator cannot read
    if not options.read:
        run(options.traces, options.seeds, options.candidates, options.out)
    found: dict[Cell, dict[str, Search]] = defaultdict(dict)
    for line in options.out.read_text().splitlines():
        plain = json.loads(line)
        found[plain["trace"], plain["seed"]][plain["name"]] = Search.from_json(plain["search"])
    complete = {cell: searches for cell, searches in found.items() if len(searches) == len(SEARCHES)}
    if not complete:
        sys.exit(f"{options.out} has no trace and seed with all of {', '.join(SEARCHES)}")
    print("\n".join(comparison(complete)))
    for name in SEARCHES:
        proposals = [p for searches in complete.values() for p in searches[name].proposals]
        print(f"\n{name}\n\n" + "\n".join(gains(proposals, lambda p: (p.operator,))))
    everything = [p for searches in complete.values() for s in searches.values() for p in s.proposals]
    print("\nall, by change\n\n" + "\n".join(gains(everything, lambda p: p.changes)))


def run(traces: Sequence[str], seeds: Sequence[int], candidates: int, out: Path) -> None:
    """Run the searches that are not in `out` yet, and add them."""
    lines = out.read_text().splitlines() if out.exists() else []
    done = {(plain["trace"], plain["seed"], plain["name"]) for plain in map(json.loads, lines)}
    for trace in traces:
        path, trace_format = TRACES[trace]
        settings = {"trace": [str(DATA / path)], "trace_format": trace_format, "cache_size": [CACHE_SIZE]}
        config = SearchConfig(
            task="cache_eviction",
            settings=complete_settings(TASK, settings),
            objective="object",
            budget_candidates=candidates,
            tune=0,
        )
        left = [(seed, name) for seed in seeds for name in SEARCHES if (trace, seed, name) not in done]
        if not left:
            continue
        evidence = load_evaluation_set(TASK, config, load_evaluator(TASK))
        executor = InThisProcess(evidence.everything)
        for seed, name in left:
            chosen = replace(config, seed=seed, strategy=SEARCHES[name])
            search = searched(evidence, chosen, executor, candidates, name == BEST)
            with out.open("a") as file:
                json.dump({"trace": trace, "seed": seed, "name": name, "search": asdict(search)}, file)
                file.write("\n")


if __name__ == "__main__":
    main()
