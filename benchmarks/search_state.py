"""Searches with and without state, by the offline generator: the same seeds, traces and number of candidates.

Both write and score as many candidates of `cache_eviction`, without tuning and simplification; the winner is chosen on
the next part of the trace, and compared on the last part, which no search sees. The cache is 10 % of the footprint,
the mechanism `sample`, the objective `object`.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA, Goal, argument_parser, finish
from benchmarks.search import InThisProcess, interval
from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import EvaluationSet, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.task import Json

TASK = find_task("cache_eviction")
TRACES: dict[str, tuple[str, str | None]] = {
    "2_pools": ("caffeine/lirs/2_pools.trace.gz", "lirs"),
    "sprite": ("caffeine/lirs/sprite.trace.gz", "lirs"),
    "multi1": ("caffeine/lirs/multi1.trace.gz", "lirs"),
    "multi3": ("caffeine/lirs/multi3.trace.gz", "lirs"),
    "gli": ("caffeine/lirs/gli.trace.gz", "lirs"),
    "tcbs_1326": ("tencent/tencentBlock.ns1326.sample.csv", None),
}
SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Ended:
    """What one search found: the winner's scores on train and on test, and whether it has state."""

    train: float
    test: float
    stateful: bool
    source: str
    seconds: float
    scored: int
    same: int


def searched(evidence: EvaluationSet, config: SearchConfig, executor: InThisProcess) -> Ended:
    store = MemoryStore()
    offered = config.offered(TASK)
    open_run(offered, config, store, evidence, lambda _: None)
    executor.seconds = 0.0
    scorer = make_scorer(find_objective(TASK, config.objective), RunRecord.of(store.events()))
    study = Study(offered, config, store, scorer, executor)
    study.begin()
    with closing(open_model_pool(TASK, config)) as models:
        while (proposal := study.ask()) is not None:
            study.tell(proposal, models.propose(proposal))
    study.finish()
    record = study.record
    assert record.chosen is not None
    winner = record.candidates[record.chosen.candidate]
    test = record.confirmed[winner.candidate, "test"].score
    assert winner.score is not None and test is not None
    verdicts = [c.verdict for c in record.candidates.values()]
    policy = check(winner.source, TASK)
    return Ended(
        winner.score, test, policy.program.uses_state, winner.source, executor.seconds,
        sum(v in ("scored", "stopped") for v in verdicts), verdicts.count("same-decisions"),
    )  # fmt: skip


def main() -> None:
    parser = argument_parser(__doc__ or "")
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--traces", nargs="+", default=list(TRACES), choices=TRACES)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--winners", type=Path, metavar="FILE", help="append a line of JSON for each search")
    parser.add_argument("--read", type=Path, nargs="+", default=(), metavar="FILE", help="report these, search nothing")
    options = parser.parse_args()
    if options.read:
        finish(options, *report(dict(read(options.read)), options.candidates))
        return
    traces = options.traces[: 2 if options.quick else None]
    seeds = options.seeds[: 2 if options.quick else None]
    found: dict[tuple[str, int, bool], Ended] = {}
    for seed in seeds:
        for trace in traces:
            file, kind = TRACES[trace]
            settings: dict[str, Json] = {"trace": [str(DATA / "cache" / file)], "trace_format": kind}
            config = SearchConfig(
                task=TASK.name,
                settings=complete_settings(TASK, {**settings, "cache_size": ["10%"]}),
                objective="object",
                budget_candidates=20 if options.quick else options.candidates,
                tune=0,
                simplify=0,
                islands=1,
                seed=seed,
            )
            evidence = load_evaluation_set(TASK, config, load_evaluator(TASK))
            for state in (False, True):
                ended = searched(evidence, replace(config, state=state), InThisProcess(evidence.everything, TASK))
                found[trace, seed, state] = ended
                line = {"trace": trace, "seed": seed, "state": state, **asdict(ended)}
                print(json.dumps({k: v for k, v in line.items() if k != "source"}), file=sys.stderr, flush=True)
                if options.winners:
                    with options.winners.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
    finish(options, *report(found, config.budget_candidates or 0))


def read(paths: Iterable[Path]) -> Iterator[tuple[tuple[str, int, bool], Ended]]:
    """Yield the searches of files that `--winners` wrote."""
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            key = line.pop("trace"), line.pop("seed"), line.pop("state")
            yield key, Ended(**line)


def report(
    found: Mapping[tuple[str, int, bool], Ended], candidates: int
) -> tuple[dict[str, Any], list[str], list[Goal]]:
    traces = list(dict.fromkeys(trace for trace, _, _ in found))
    seeds = sorted({seed for _, seed, _ in found})
    head = ("trace", "without", "with", "difference", "better", "worse", "with state", "s without", "s with")
    table = [
        f"{candidates} candidates per search, medians of {len(seeds)} seeds of the winner's score on the last part", "",
        "| " + " | ".join(head) + " |", "|---" * len(head) + "|",
    ]  # fmt: skip
    every: list[float] = []
    for trace in traces:
        done = [seed for seed in seeds if {(trace, seed, False), (trace, seed, True)} <= found.keys()]
        pairs = [(found[trace, seed, False], found[trace, seed, True]) for seed in done]
        gains = [after.test - before.test for before, after in pairs]
        every += gains
        cells = (
            trace,
            f"{statistics.median(before.test for before, _ in pairs):.4f}",
            f"{statistics.median(after.test for _, after in pairs):.4f}",
            f"{statistics.median(gains):+.4f}",
            str(sum(gain > 0 for gain in gains)),
            str(sum(gain < 0 for gain in gains)),
            f"{sum(after.stateful for _, after in pairs)} of {len(pairs)}",
            f"{statistics.median(before.seconds for before, _ in pairs):.1f}",
            f"{statistics.median(after.seconds for _, after in pairs):.1f}",
        )
        table.append("| " + " | ".join(cells) + " |")
    better, worse = sum(gain > 0 for gain in every), sum(gain < 0 for gain in every)
    table += ["", f"difference over all pairs: {interval(every)}; better in {better}, worse in {worse} of {len(every)}"]
    document = {"/".join(map(str, key)): asdict(ended) for key, ended in found.items()}
    return document, table, []


if __name__ == "__main__":
    main()
