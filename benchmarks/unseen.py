"""What a search is worth on data that took no part in it: its recommendation, by verdict, against what was known.

    python -m benchmarks.unseen OUT [--task cache_eviction] [--data DIRECTORY] [--part reported] [--sizes 1% 10%]
                                [--seeds 1] [--candidates 200] [--requests 100000]

A search with default options for each trace, size and seed, in a directory of its own below OUT, where one that is
finished is read and not run again; OUT/results.jsonl has a line for each. Gains are of the mean score on test over that
of the known policy (a baseline, or a policy to begin with) that is best on validation, which you would otherwise have
used: of what the verdict recommends, of the winner whatever the verdict, and by foresight, of the best of all scored
candidates and known policies on test. The last is lucky too: by halves, the best by one half of test's blocks of time
is judged by the other. Intervals are over traces: sizes and seeds of one are averaged first.

Choices in the search itself may be made by the families of `TUNED_ON` alone, and results are of the others (`--part
reported`). What was looked at, on the former with 100,000 requests and seed 1: how many finalists there are, how wide
the interval of *better* is, how little evidence is *undecided*, and what that recommends; when train was given a say in
the verdict, results of the others were known too. On the baselines of all
families, their test included, without a search: by which part of the past a known policy is chosen (validation alone,
or with train: no difference beyond chance), and how wide the interval of *better* is.

Traces are cut to their first requests. One is left out where the caches of a size leave nothing to win: where FIFO
misses at most a hundredth more than Belady's bound on test. For other tasks each file below the data directory is a
case: `spot_single` takes spot/, `congestion_control` cc/.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from statistics import fmean
from typing import Any

import vulcan
from benchmarks import instance_traces
from benchmarks.harness import DATA, BenchmarkTable
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task
from vulcan.results.run import run_document
from vulcan.searches.bootstrap import mean_interval
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import find_objective, make_scorer
from vulcan.searches.held_out import start_names
from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import InstanceMetrics
from vulcan.store.runs import open_store
from vulcan.task import Task
from vulcan_traces.storage.export import write_requests

TUNED_ON = ("arc", "lirs", "web", "generated")
"""Families by which choices may be made; results are of the others."""

CHOSEN = (
    "arc_OLTP", "arc_P6", "c2k_web07", "adaptsize", "lirs_sprite", "lirs_2_pools", "tragen_social", "syn_kvcache",
    "cp_sample", "cp_w106", "tcbs_1326", "tcbs_3300", "tcbs_3906", "scarab_recs", "c2k_orm_busy", "mooncake_conv",
)  # fmt: skip
"""Traces of caches, by their names in `benchmarks.instance_traces`."""

MIN_HEADROOM = 0.01

BLOCKS, RUNS = 16, (1, 2, 4, 8)
"""Blocks of time of an instance of test, and how many follow one another in a half."""


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


def file_cases(data: Path, folder: str, setting: str) -> Iterator[Case]:
    """Yield a case for each file of a folder, named by its place."""
    for file in sorted(path for path in (data / folder).rglob("*") if path.is_file() and path.suffix != ".md"):
        name = "-".join(file.relative_to(data / folder).parts)
        yield Case(name, file.parent.name, {setting: str(file)}, name, 1)


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


def result_of(case: Case, run: Path) -> dict[str, Any]:
    """Measure what a finished run recommends, its winner and all that it scored, on the split test."""
    with closing(open_store(run)) as store:
        record = RunRecord.of(store.events())
    task = find_task(record.config["task"])
    document = run_document(run, record, Costs())
    scores = _Scores(record, task, load_evaluator(task))
    starts = start_names(task, record)
    known: dict[int | str, str] = {name: name for (name, _), b in record.baselines.items() if b.kind == "baseline"}
    known |= {number: f"start: {name}" for number, name in starts.items()}
    best = max(known, key=lambda policy: scores.of(policy, "validation"))
    base, chosen = scores.of(best, "test"), document["recommendation"]
    assert chosen is not None and record.chosen is not None
    recommended = chosen["policy"] if chosen["kind"] == "baseline" else chosen["candidate"]
    assert recommended is not None
    everything = [*known, *scores.different()]
    return {
        "case": case.label, "unit": case.unit, "family": case.family, "seed": case.seed,
        "verdict": chosen and document["verdict"], "sentence": chosen["sentence"], "known": known[best],
        "recommended": chosen["policy"], "gain": scores.of(recommended, "test") - base,
        "winner": scores.of(record.chosen.candidate, "test") - base,
        "foresight": max(scores.of(policy, "test") for policy in everything) - base,
        "halves": scores.by_halves(everything, best),
        "headroom": scores.headroom(),
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

    def different(self) -> list[int]:
        """Return the scored candidates that differ on train."""
        return list({tuple(self._on_train(c.candidate)): c.candidate for c in self.record.ranked()}.values())

    def _on_train(self, candidate: int) -> tuple[float, ...]:
        return self.scorer.on_each(self.scorer.of("train"), self.record.candidates[candidate].metrics)

    def by_halves(self, policies: Sequence[int | str], over: int | str) -> float | None:
        """Return the gain on one half of test of what is best on the other, in the mean of ways to halve its blocks."""
        blocks = [block for i in self.scorer.of("test") for block in self.evaluator.windows(i, BLOCKS)]
        if not blocks:
            return None
        scorer = Scorer(self.scorer.objective, blocks)
        for name in scorer.objective.references:
            scorer.add_reference(name, "test", self._on_blocks(name, blocks))
        on_each = {policy: scorer.on_each(blocks, self._on_blocks(policy, blocks)) for policy in policies}
        gains: list[float] = []
        for seen in ([n // run % 2 == half for n in range(len(blocks))] for run in RUNS for half in (0, 1)):
            best = max(policies, key=lambda policy: sum(compress(on_each[policy], seen)))
            gains += [a - b for a, b, known in zip(on_each[best], on_each[over], seen, strict=True) if not known]
        return fmean(gains)

    def _on_blocks(self, policy: int | str, blocks: Sequence[Instance]) -> InstanceMetrics:
        """Measure on blocks, the last one first: what an evaluator remembers of it has the others."""
        if isinstance(policy, str):
            return tuple((b.name, dict(self.evaluator.evaluate_baseline(policy, b))) for b in reversed(blocks))
        checked: Any = check_policy(self.record.candidates[policy].source, self.task)
        return tuple((b.name, dict(self.evaluator.evaluate(checked, b))) for b in reversed(blocks))

    def headroom(self) -> float:
        """Return the score on test of the best oracle, which is none of FIFO's in a cache task."""
        oracles = [b.score for (_, split), b in self.record.baselines.items() if split == "test" and b.kind == "oracle"]
        return max(oracles, default=1.0)


def tables(results: Sequence[Mapping[str, Any]]) -> Iterator[BenchmarkTable]:
    """Yield the verdicts and what came of them, and the mean gains with intervals over units."""
    rows = []
    for verdict in ("better", "undecided", "no better"):
        of = [r for r in results if r["verdict"] == verdict]
        if of:
            ahead = sum(r["winner"] > 0 for r in of)
            cells = (f"{fmean(r[what] for r in of):+.4f}" for what in ("winner", "gain", "foresight"))
            rows.append((verdict, str(len(of)), f"{ahead} of {len(of)}", *cells))
    columns = ("verdict", "searches", "winner ahead on test", "winner", "recommended", "foresight")
    yield BenchmarkTable("By verdict: mean gain on test over the best known policy by validation", columns, tuple(rows))
    means = []
    rows_of = {"recommended": "gain", "the winner always": "winner", "foresight": "foresight"}
    if all(r["halves"] is not None for r in results):
        rows_of["foresight, by halves"] = "halves"
    for name, what in rows_of.items():
        by_unit: dict[str, list[float]] = {}
        for r in results:
            by_unit.setdefault(r["unit"], []).append(r[what])
        values = [fmean(of) for of in by_unit.values()]
        interval = mean_interval(values)
        ends = f"[{interval['low']:.4f}, {interval['high']:.4f}]" if interval else "-"
        worst = min(r[what] for r in results)
        means.append((name, f"{fmean(values):+.4f}", ends, f"{worst:+.4f}"))
    note = f"{len(results)} searches, {len(by_unit)} traces; 95 % intervals over traces."
    yield BenchmarkTable("Gain on test", ("", "mean", "interval", "worst"), tuple(means), note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--task", default="cache_eviction", choices=("cache_eviction", *FOLDERS))
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--part", default="reported", choices=("tuned", "reported", "all"))
    parser.add_argument("--sizes", nargs="+", default=["1%", "10%"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--requests", type=int, default=100_000)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.task in FOLDERS:
        cases = list(file_cases(given.data, *FOLDERS[given.task]))
    else:
        cases = list(cache_cases(given.data, given.part, given.sizes, given.requests, given.out))
    results = []
    for case in (Case(c.unit, c.family, c.settings, c.label, seed) for seed in given.seeds for c in cases):
        try:
            run = search(case, given.task, given.candidates, given.out / f"{case.label}-{case.seed}")
        except UserError as error:
            sys.stderr.write(f"left out: {case.label}: {error}\n")
            continue
        found = result_of(case, run)
        if found["headroom"] < MIN_HEADROOM:
            sys.stderr.write(f"left out: {case.label}: nothing to win\n")
            continue
        results.append(found)
        sys.stderr.write(f"{case.label}, seed {case.seed}: {found['verdict']}, {found['gain']:+.4f}\n")
    lines = [json.dumps(found) + "\n" for found in results]
    (given.out / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    for table in tables(results) if results else ():
        sys.stdout.write("\n".join([*table.lines(), "", ""]))


FOLDERS = {"spot_single": ("spot", "trace"), "congestion_control": ("cc", "link")}
"""Where the data of other tasks are, and the setting that takes a file of them."""

if __name__ == "__main__":
    main()
