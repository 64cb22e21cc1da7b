"""Strategies compared at equal machine time, and what the proposals of each operator gain.

The offline generator writes every candidate, so that scores repeat with the seeds; seconds do not. Every search
trains on one trace, with a cache of 10 % of its footprint, objective `object`, and the default options, tuning
included. `evolve` chooses its mechanism, as it does by default: it begins under each, for 40 proposals or a fifth of
its time, and goes on under the better one; all of that time counts. The others are told theirs: `sample`, which is the
setting's default, or `heap` where they are named so. A search goes on for `--seconds` of machine time, the processor
time of the whole search in one process: drafting, generating, scoring and tuning. The last tuning and the
simplification of a finished search are left out. "evolve, archive" is `evolve` as it first was:
`--offline-parents archive --mechanism sample`.

Gains are paired by seed. Of one trace their mean is given with the interval that the product gives for a paired mean
(`mean_interval`), of all traces the median with its bootstrap's.

The held-out score is what the product would report: of the ten best on train the best on validation, measured on test.
A proposal's gain is its score less the best of its parents, or 0 if it is not better; a program that builds on nothing
is compared with the best so far. `new best` counts proposals that are better than all before.

Results are added to `--out`, one line of JSON per search; what is there already is not run again, so that an
interrupted run can be continued, and the tables are of all that is there.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.search import DATA, TASK, InThisProcess, interval
from vulcan.anvil import check
from vulcan.evaluator import SplitName, load_evaluator
from vulcan.searches.bootstrap import mean_interval
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import EvaluationSet, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.mechanism import PILOT, best_mechanism
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import CandidateJudged, Event
from vulcan.task import Json

TRACES = {
    "sprite": ("caffeine/lirs/sprite.trace.gz", "lirs"),
    "multi3": ("caffeine/lirs/multi3.trace.gz", "lirs"),
    "gli": ("caffeine/lirs/gli.trace.gz", "lirs"),
    "tencent 1326": ("tencent/tencentBlock.ns1326.sample.csv", None),
    "mooncake": ("mooncake/conversation_trace.jsonl", "mooncake"),
    "cloudPhysicsIO": ("libcachesim/cloudPhysicsIO.vscsi", None),
    "web07": ("caffeine/cache2k/web07.trace.xz", "be-i32"),
    "adapt_size": ("caffeine/adapt_size/request.trace.xz", None),
}
CACHE_SIZE = "10%"
EVOLVE, ARCHIVE = "evolve", "evolve, archive"
HEAP = ", heap"
MECHANISMS = ("sample", "heap")
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    EVOLVE: {"strategy": "evolve"},
    ARCHIVE: {"strategy": "evolve", "offline_parents": "archive"},
    f"evolve{HEAP}": {"strategy": "evolve"},
    "policysmith": {"strategy": "policysmith"},
    f"policysmith{HEAP}": {"strategy": "policysmith"},
    "best-of-n": {"strategy": "best-of-n"},
}
PAIRS = (
    (EVOLVE, "policysmith"),
    (EVOLVE, "best-of-n"),
    (EVOLVE, ARCHIVE),
    (EVOLVE, f"policysmith{HEAP}"),
    (f"evolve{HEAP}", f"policysmith{HEAP}"),
    (f"policysmith{HEAP}", "policysmith"),
)
"""Searches that are compared."""

AIMED = 6
"""Traces of the eight on which the interval is to be above zero."""

WARM_UP = 0.2
PILOT_SHARE = 0.2
ENOUGH = 100_000
"""Proposals that no search makes in the time it has."""

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
        return max((score for reached, score in self.points if reached <= seconds), default=self.points[0][1])

    def until(self, score: float) -> float | None:
        """Return the machine time until a score as good as this; None where it was never reached."""
        return next((reached for reached, found in self.points if found >= score), None)

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Search:
        proposals = tuple(Proposed(**{**p, "changes": tuple(p["changes"])}) for p in plain["proposals"])
        return cls(tuple((t, score) for t, score in plain["points"]), proposals, plain["seconds"], plain["held_out"])


Ground = tuple[SearchConfig, EvaluationSet, InThisProcess]


class Searching:
    """A search under way, without its end, under one mechanism; `points` have the machine time since `began`."""

    def __init__(self, ground: Ground, seed: int, options: Mapping[str, Any]) -> None:
        config, evidence, self._executor = ground
        self._config = replace(config, seed=seed, **options)
        store = MemoryStore()
        offered = TASK.offered(config.settings, state=config.state)
        open_run(offered, self._config, store, evidence, lambda _: None)
        self._scorer = make_scorer(find_objective(TASK, config.objective), RunRecord.of(store.events()))
        self._study = Study(offered, self._config, store, self._scorer, self._executor, (self._listen,))
        self.points: list[Best] = []
        self.made: list[Proposed] = []
        self._began = 0.0

    def _listen(self, event: Event) -> None:
        if not isinstance(event, CandidateJudged):
            return
        before = self.best if self.points else float("-inf")
        is_best = event.score is not None and event.score > before
        if is_best:
            assert event.score is not None
            self.points.append((time.process_time() - self._began, event.score))
        if event.origin == "model":
            record = self._study.record
            proposed = record.proposals[event.proposal]
            known = [s for p in proposed.parents if (s := record.candidates[p].score) is not None]
            gain = max(0.0, event.score - max(known, default=before)) if event.score is not None else 0.0
            self.made.append(Proposed(proposed.operator, changes(event.source), event.verdict, gain, is_best))

    @property
    def best(self) -> float:
        return self.points[-1][1]

    def go_on(self, began: float, until: float, proposals: int = ENOUGH) -> None:
        """Search until that time after `began`, or that many proposals."""
        self._began = began
        with closing(open_model_pool(TASK, self._config)) as models:
            self._study.begin()
            while (
                self._study.completed < proposals
                and time.process_time() - began < until
                and (proposal := self._study.ask()) is not None
            ):
                self._study.tell(proposal, models.propose(proposal))

    def held_out(self) -> float:
        """Return the score on test of the best on validation of the best on train."""
        finalists = [c.source for c in self._study.record.ranked()[: self._config.finalists]]
        return self._score(max(finalists, key=lambda source: self._score(source, "validation")), "test")

    def _score(self, source: str, split: SplitName) -> float:
        policy, instances = check(source, TASK), self._scorer.of(split)
        metrics = tuple((i.name, dict(self._executor.evaluator.evaluate(policy, i))) for i in instances)
        return self._scorer.mean_on(instances, metrics)


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


def comparison(found: Mapping[Cell, Mapping[str, Search]], seconds: float) -> list[str]:
    """Return Markdown tables: best scores on each trace at that machine time and the gains of `PAIRS`."""
    names = list(SEARCHES)
    best = {cell: {n: s.best(seconds) for n, s in searches.items()} for cell, searches in found.items()}
    traces = list(dict.fromkeys(trace for trace, _ in found))
    rows = ["| trace | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for trace in traces:
        medians = [statistics.median(best[cell][n] for cell in found if cell[0] == trace) for n in names]
        rows.append(f"| {trace} | " + " | ".join(f"{median:.4f}" for median in medians) + " |")
    for held_out in (False, True):
        rows += ["", f"| trace, {'test' if held_out else 'train'} | {' | '.join(f'{a} - {b}' for a, b in PAIRS)} |"]
        rows.append("|---" * (len(PAIRS) + 1) + "|")
        above = [0] * len(PAIRS)
        for trace in traces:
            cells = [cell for cell in found if cell[0] == trace]
            gained = [paired([_difference(found[c], best[c], a, b)[held_out] for c in cells]) for a, b in PAIRS]
            rows.append(f"| {trace} | {' | '.join(text for text, _ in gained)} |")
            above = [count + is_above for count, (_, is_above) in zip(above, gained, strict=True)]
        rows.append(f"| above zero, of {len(traces)} (aim {AIMED}) | {' | '.join(map(str, above))} |")
    rows += ["", "| all traces | median gain on train | better, worse | median gain on test | better, worse |"]
    rows.append("|---|---|---|---|---|")
    for one, other in PAIRS:
        pairs = [_difference(found[cell], best[cell], one, other) for cell in found]
        rows.append(f"| {one} - {other} | {_gain([p[0] for p in pairs])} | {_gain([p[1] for p in pairs])} |")
    shares, missed = shares_of_time(found, EVOLVE, seconds)
    rows += ["", f"Time that {EVOLVE} takes to the last score of {ARCHIVE}, as a share of all: {interval(shares)}, "]
    rows[-1] += f"not reached in {missed} of {len(shares)}"
    return rows


def paired(gains: list[float]) -> tuple[str, bool]:
    """Return the mean with its interval, as the product gives it, and whether that is above zero."""
    mean, found = statistics.fmean(gains), mean_interval(gains)
    if found is None:
        return f"{mean:.4f}", False
    return f"{mean:.4f} [{found.low:.4f}, {found.high:.4f}]", found.low > 0


def _difference(searches: Mapping[str, Search], best: Mapping[str, float], one: str, other: str) -> tuple[float, float]:
    """Return how much the one search is ahead of the other, on train and on test."""
    return best[one] - best[other], searches[one].held_out - searches[other].held_out


def shares_of_time(found: Mapping[Cell, Mapping[str, Search]], one: str, seconds: float) -> tuple[list[float], int]:
    """Return the time `one` took to the last score of `ARCHIVE`, as a share of all, and how often it failed.

    A search that does not reach that score counts with all of its time.
    """
    taken = [searches[one].until(searches[ARCHIVE].best(seconds)) for searches in found.values()]
    reached = [t for t in taken if t is not None and t <= seconds]
    return [t / seconds for t in reached] + [1.0] * (len(taken) - len(reached)), len(taken) - len(reached)


def _gain(differences: list[float]) -> str:
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return f"{interval(differences)} | {better}, {worse} of {len(differences)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", nargs="+", choices=TRACES, default=list(TRACES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--seconds", type=float, default=3.0, help="machine time of each search")
    parser.add_argument("--out", type=Path, required=True, help="file of results, one search per line")
    parser.add_argument("--read", action="store_true", help="only print the tables of --out")
    options = parser.parse_args()
    if not options.read:
        run(options.traces, options.seeds, options.seconds, options.out)
    found: dict[Cell, dict[str, Search]] = defaultdict(dict)
    for line in options.out.read_text().splitlines():
        plain = json.loads(line)
        found[plain["trace"], plain["seed"]][plain["name"]] = Search.from_json(plain["search"])
    complete = {cell: searches for cell, searches in found.items() if len(searches) == len(SEARCHES)}
    if not complete:
        sys.exit(f"{options.out} has no trace and seed with all of {', '.join(SEARCHES)}")
    print("\n".join(comparison(complete, options.seconds)))
    for name in SEARCHES:
        proposals = [p for searches in complete.values() for p in searches[name].proposals]
        print(f"\n{name}\n\n" + "\n".join(gains(proposals, lambda p: (p.operator,))))
    everything = [p for searches in complete.values() for s in searches.values() for p in s.proposals]
    print("\nall, by change\n\n" + "\n".join(gains(everything, lambda p: p.changes)))


def run(traces: Sequence[str], seeds: Sequence[int], seconds: float, out: Path) -> None:
    """Run the searches that are not in `out` yet, and add them: a seed after the other, in an order drawn anew."""
    lines = out.read_text().splitlines() if out.exists() else []
    done = {(plain["trace"], plain["seed"], plain["name"]) for plain in map(json.loads, lines)}
    grounds: dict[str, dict[str, Ground]] = {}
    for seed, trace in itertools.product(seeds, traces):
        names = [name for name in SEARCHES if (trace, seed, name) not in done]
        random.Random(f"{trace} {seed}").shuffle(names)
        for name in names:
            ground = grounds.get(trace) or grounds.setdefault(trace, {m: ground_of(trace, m) for m in MECHANISMS})
            search = search_of(name, ground, seed, seconds)
            with out.open("a") as file:
                json.dump({"trace": trace, "seed": seed, "name": name, "search": asdict(search)}, file)
                file.write("\n")


def ground_of(trace: str, mechanism: str) -> Ground:
    """Return what searches on a trace share, with kernels compiled."""
    path, trace_format = TRACES[trace]
    settings: dict[str, Json] = {
        "trace": [str(DATA / path)],
        "trace_format": trace_format,
        "cache_size": [CACHE_SIZE],
        "mechanism": mechanism,
    }
    config = SearchConfig(
        task="cache_eviction", settings=complete_settings(TASK, settings), objective="object", rounds=ENOUGH
    )
    evidence = load_evaluation_set(TASK, config, load_evaluator(TASK))
    ground = config, evidence, InThisProcess(evidence.everything)
    Searching(ground, 0, {}).go_on(time.process_time(), WARM_UP)
    return ground


def search_of(name: str, grounds: Mapping[str, Ground], seed: int, seconds: float) -> Search:
    """Run the search of that name; where it chooses its mechanism, under each for a while, and then under the best."""
    mechanisms = MECHANISMS if name == EVOLVE else (MECHANISMS[name.endswith(HEAP)],)
    under = [Searching(grounds[mechanism], seed, SEARCHES[name]) for mechanism in mechanisms]
    began = time.process_time()
    chosen = under[0]
    if len(under) > 1:
        for number, search in enumerate(under, 1):
            search.go_on(began, number * PILOT_SHARE * seconds, PILOT)
        scores = {name: search.best for name, search in zip(mechanisms, under, strict=True)}
        chosen = under[mechanisms.index(best_mechanism(TASK, scores))]
    chosen.go_on(began, seconds)
    spent = time.process_time() - began
    return Search(tuple(chosen.points), tuple(chosen.made), spent, chosen.held_out())


if __name__ == "__main__":
    main()
