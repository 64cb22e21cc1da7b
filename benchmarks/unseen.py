"""What a search is worth on data that took no part in it: its recommendation, by verdict, against what was known.

    python -m benchmarks.unseen OUT [--task TASK ...] [--data DIRECTORY] [--each 2] [--seeds 1] [--candidates 200]
                                [--foresight] [--part reported] [--sizes 1% 10%] [--requests 100000]

A search with default options for each recording and seed, in a directory of its own below OUT/TASK, where one that is
finished is read and not run again; OUT/TASK/results.jsonl has a line for each. It is trained on the first part of its
recording in time and judged by the last. Gains are of the mean score on test over that of the known policy (a baseline,
or a policy to begin with) that is best on validation, which you would otherwise have used: of what the verdict
recommends, of the winner whatever the verdict, and with `--foresight` of the best of all scored candidates and known
policies on test, which is lucky too. Intervals are over families, or over recordings where there are fewer than four
families: what is of one is averaged first.

Recordings are of `benchmarks.families`, at most `--each` of a family; one is left out where there is nothing to win on
test, as where FIFO misses at most a hundredth more than Belady's bound. Caches have traces and sizes of their own, cut
to their first requests. Choices in the search itself may be made by the families of `TUNED_ON` alone; results are of
the others (`--part reported`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import vulcan
from benchmarks import instance_traces
from benchmarks.families import SUITES
from benchmarks.harness import DATA, BenchmarkTable
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, load_evaluator
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task
from vulcan.results.run import run_document
from vulcan.searches.bootstrap import MIN, mean_interval
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import find_objective, make_scorer
from vulcan.searches.held_out import start_names
from vulcan.store import RunRecord
from vulcan.store.runs import open_store
from vulcan.task import Task
from vulcan_traces.storage.export import write_requests

CACHES = "cache_eviction"
TUNED_ON = ("arc", "lirs", "web", "generated")
"""Families by which choices may be made; results are of the others."""

CHOSEN = (
    "arc_OLTP", "arc_P6", "c2k_web07", "adaptsize", "lirs_sprite", "lirs_2_pools", "tragen_social", "syn_kvcache",
    "cp_sample", "cp_w106", "tcbs_1326", "tcbs_3300", "tcbs_3906", "scarab_recs", "c2k_orm_busy", "mooncake_conv",
)  # fmt: skip
"""Traces of caches, by their names in `benchmarks.instance_traces`."""

VERDICTS = ("better", "undecided", "no better")


@dataclass(frozen=True, slots=True)
class Case:
    """A search: `unit` is the trace or the link, which counts once however many sizes and seeds there are."""

    unit: str
    family: str
    settings: Mapping[str, Any]
    label: str
    seed: int


def cache_cases(data: Path, part: str, sizes: Sequence[str], requests: int, out: Path) -> Iterator[Case]:
    """Yield a case for each trace and size, and write the traces, cut to their first requests."""
    instance_traces.DATA = data / "cache"
    for source in instance_traces.SOURCES:
        side = "tuned" if source.family in TUNED_ON else "reported"
        if source.name not in CHOSEN or part not in (side, "all"):
            continue
        file = out / "traces" / f"{source.name}.oracleGeneral"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            write_requests(source.load(), file, first=requests)
        for size in sizes:
            settings = {"trace": str(file), "cache_size": size}
            yield Case(source.name, source.family, settings, f"{source.name}-{size}", 1)


def recorded_cases(task: str, data: Path, each: int, out: Path) -> Iterator[Case]:
    """Yield a case for each recording of a task's families, of a family `each` at most."""
    suite = SUITES[task]
    for family, of in suite.families.items():
        (out / "recordings" / family).mkdir(parents=True, exist_ok=True)
        for name, file in of.files(data, out / "recordings" / family, each):
            unit = f"{family}-{name}"
            yield Case(unit, family, {suite.setting: file, **suite.settings}, unit, 1)


def search(case: Case, task: str, candidates: int, place: Path) -> Path:
    """Return the directory of the finished run of a case, which is made where there is none. Raises UserError."""
    for run in place.glob("*/run.db"):
        with closing(open_store(run.parent)) as store:
            stopped = RunRecord.of(store.events()).stopped
        if stopped is not None and stopped.reason == "finished":
            return run.parent
    return vulcan.search(
        task,
        **case.settings,
        budget_candidates=candidates,
        seed=case.seed,
        executor="local",
        workers=1,
        progress="none",
        runs_dir=place,
    ).path


def result_of(case: Case, run: Path, foresight: bool) -> dict[str, Any]:
    """Measure what a finished run recommends and its winner, and with `foresight` all that it scored, on test."""
    with closing(open_store(run)) as store:
        record = RunRecord.of(store.events())
    task = find_task(record.config["task"])
    document = run_document(run, record, Costs())
    scores = _Scores(record, task, load_evaluator(task))
    known: dict[int | str, str] = {name: name for (name, _), b in record.baselines.items() if b.kind == "baseline"}
    known |= {number: f"start: {name}" for number, name in start_names(task, record).items()}
    best = max(known, key=lambda policy: scores.of(policy, "validation"))
    base, chosen = scores.of(best, "test"), document["recommendation"]
    assert chosen is not None and record.chosen is not None
    recommended = chosen["policy"] if chosen["kind"] == "baseline" else chosen["candidate"]
    assert recommended is not None
    everything = [*known, *(c.candidate for c in record.ranked())] if foresight else []
    oracles = [b.score for (_, split), b in record.baselines.items() if split == "test" and b.kind == "oracle"]
    return {
        "case": case.label, "unit": case.unit, "family": case.family, "seed": case.seed,
        "verdict": chosen and document["verdict"], "sentence": chosen["sentence"], "known": known[best],
        "recommended": chosen["policy"], "gain": scores.of(recommended, "test") - base,
        "winner": scores.of(record.chosen.candidate, "test") - base,
        "foresight": max(scores.of(policy, "test") for policy in everything) - base if foresight else None,
        "headroom": abs(max(oracles, default=base + 1) - (0.0 if scores.scorer.objective.references else base)),
    }  # fmt: skip


class _Scores:
    """Mean scores of a run's policies, those of candidates measured where the run has not done so."""

    def __init__(self, record: RunRecord, task: Task, evaluator: Evaluator) -> None:
        self.record, self.task, self.evaluator = record, task, evaluator
        self.scorer = make_scorer(find_objective(task, record.config["objective"]), record)
        evaluator.prepare(record.instances)

    def of(self, policy: int | str, split: Any) -> float:
        if isinstance(policy, str):
            return self.record.baselines[policy, split].score
        confirmed = self.record.confirmed.get((policy, split))
        if confirmed is not None and confirmed.score is not None:
            return confirmed.score
        checked: Any = check_policy(self.record.candidates[policy].source, self.task)
        metrics = [(i.name, dict(self.evaluator.evaluate(checked, i))) for i in self.scorer.of(split)]
        return self.scorer.mean(split, tuple(metrics))


def tables(results: Sequence[Mapping[str, Any]]) -> Iterator[BenchmarkTable]:
    """Yield the verdicts and what came of them, and the mean gains with intervals."""
    rows = []
    for verdict in VERDICTS:
        of = [r for r in results if r["verdict"] == verdict]
        if of:
            cells = (f"{fmean(r[what] for r in of):+.4f}" for what in ("winner", "gain"))
            rows.append((verdict, str(len(of)), _ahead(of), *cells))
    columns = ("verdict", "searches", "winner ahead on test", "winner", "recommended")
    yield BenchmarkTable("By verdict: mean gain on test over the best known policy by validation", columns, tuple(rows))
    whats = [what for what in ("gain", "winner", "foresight") if all(r[what] is not None for r in results)]
    means = tuple((what, *_gain(results, what)) for what in whats)
    yield BenchmarkTable(f"Gain on test of {len(results)} searches", ("", "mean", "over", "interval", "worst"), means)


def by_domain(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> BenchmarkTable:
    """Return a row a domain: how often the winner is ahead on test, by verdict, and the gain of what is recommended."""
    rows = tuple(
        (task, *(_ahead([r for r in of if r["verdict"] == verdict]) for verdict in VERDICTS), *_gain(of, "gain"))
        for task, of in results.items()
    )
    columns = ("domain", *VERDICTS, "recommended", "over", "interval", "worst")
    return BenchmarkTable("Searches whose winner is ahead on test, by verdict, and the gain", columns, rows)


def _ahead(results: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(r['winner'] > 0 for r in results)} of {len(results)}" if results else "-"


def _gain(results: Sequence[Mapping[str, Any]], what: str) -> tuple[str, str, str, str]:
    """Return the mean gain, over how many families or recordings, its interval, and the worst of a search."""
    level = "family" if len({r["family"] for r in results}) >= MIN else "unit"
    of_each: dict[str, list[float]] = {}
    for r in results:
        of_each.setdefault(r[level], []).append(r[what])
    means = [fmean(of) for of in of_each.values()]
    interval = mean_interval(means)
    ends = f"[{interval['low']:.4f}, {interval['high']:.4f}]" if interval else "-"
    over = f"{len(means)} {'families' if level == 'family' else 'recordings'}"
    return f"{fmean(means):+.4f}", over, ends, f"{min(r[what] for r in results):+.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--task", nargs="+", default=[CACHES, *SUITES], choices=(CACHES, *SUITES))
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--foresight", action="store_true", help="measure all candidates on test, longer than a search")
    parser.add_argument("--each", type=int, default=2, choices=range(1, 10), help="recordings of a family, at most")
    parser.add_argument("--part", default="reported", choices=("tuned", "reported", "all"))
    parser.add_argument("--sizes", nargs="+", default=["1%", "10%"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--requests", type=int, default=100_000)
    given = parser.parse_args()
    results = {}
    for task in given.task:
        out = given.out / task
        if task == CACHES:
            cases = list(cache_cases(given.data, given.part, given.sizes, given.requests, out))
        else:
            cases = list(recorded_cases(task, given.data, given.each, out))
        found = list(_results_of(task, [replace(case, seed=s) for s in given.seeds for case in cases], given, out))
        if found:
            results[task] = found
            (out / "results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found), encoding="utf-8")
    for table in (*(table for found in results.values() for table in tables(found)), by_domain(results)):
        print("\n".join([*table.lines(), "", ""]))


def _results_of(task: str, cases: Sequence[Case], given: argparse.Namespace, out: Path) -> Iterator[dict[str, Any]]:
    """Yield the result of each case that a search can be made of and that has something to win."""
    for case in cases:
        try:
            run = search(case, task, given.candidates, out / f"{case.label}-{case.seed}")
        except UserError as error:
            sys.stderr.write(f"left out: {case.label}: {error}\n")
            continue
        found = result_of(case, run, given.foresight)
        if found["headroom"] < instance_traces.MIN_HEADROOM:
            sys.stderr.write(f"left out: {case.label}: nothing to win\n")
            continue
        sys.stderr.write(f"{task}, {case.label}, seed {case.seed}: {found['verdict']}, {found['gain']:+.4f}\n")
        yield found


if __name__ == "__main__":
    main()
