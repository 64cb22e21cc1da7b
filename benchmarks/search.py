"""Ablation of the search on real traces: evolution versus sampling, with tuning and racing on top.

The offline generator writes every candidate, so that the figures repeat with the seeds given here. Machine time is the
processor time of scoring, and scores are those of fully scored candidates on the split train. A policy is scored on
each trace with a cache of 12 % of its footprint, mechanism `sample`, objective `object`.

Best scores are compared at equal candidates. The target is the score that evolution without tuning and racing ends
with; how long it took to get there is compared with how long the others take. Those are cheaper a candidate, or dearer,
so they go on past that number until they are there, or have taken PATIENCE times the machine time of all of the plain
search: one that is not there by then counts with that, and is listed.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Goal, arguments, finish
from benchmarks.recorded_server import RecordedServer
from vulcan.anvil import check
from vulcan.closing import Closing
from vulcan.evaluator import Instance, decisions_of, load_evaluator
from vulcan.registry import find_task
from vulcan.scoring import Job, Outcome
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import EvaluationSet, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.study import Study
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import CandidateJudged, Event
from vulcan.store.sqlite import SQLiteStore
from vulcan.task import Task

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "cache"
TRACES = {
    "OLTP": {"trace": [str(DATA / "arc/OLTP.lis.zst")], "trace_format": "arc"},
    "scarab": {"trace": [str(DATA / "caffeine/scarab/scarab-recs.trace.xz")], "trace_format": "be-i64"},
    "mooncake": {"trace": [str(DATA / "mooncake/conversation_trace.jsonl")], "trace_format": "mooncake"},
}
CACHE_SIZE = "12%"
"""Of the footprint; so that a tenth of each trace has a cache of 2,000 objects, and there is something to race on."""

SEEDS = (1, 2, 3, 4, 5)
PATIENCE = 2.5
MAX_CANDIDATES = 10
"""Times as many as are compared that a search may have until it is as good as the plain one."""

PLAIN = "evolve"
SEARCHES: dict[str, dict[str, Any]] = {
    "best-of-n": {"strategy": "best-of-n", "racing": False, "tune": 0},
    PLAIN: {"strategy": "evolve", "racing": False, "tune": 0},
    "evolve + tuning": {"strategy": "evolve", "racing": False},
    "evolve + racing": {"strategy": "evolve", "tune": 0},
    "evolve + both": {"strategy": "evolve"},
}
COMPARED = tuple(SEARCHES)[2:]
RECORDED = Path(__file__).resolve().parents[1] / "tests" / "data" / "recorded" / "run.db"
IN_FLIGHT = 32
SECONDS_PER_REPLY = 0.5
TASK = find_task("cache_eviction").offered({}, state=False)  # as a search without --state has it: no stateful policies
MAX_RESAMPLES = 10_000


@dataclass(frozen=True)
class Curve:
    """The machine time, in seconds, at which each score was first reached.

    `best` is the score, and `seconds` the time, after as many candidates as every search has; `spent` is all the time.
    """

    points: tuple[tuple[float, float], ...]
    best: float
    seconds: float
    spent: float

    def until(self, score: float) -> float | None:
        """Return the machine time until a score as good as this; None where it was never reached."""
        return next((seconds for seconds, reached in self.points if reached >= score), None)


class InThisProcess(Closing):
    """An executor that scores where it is asked to, and adds up what that takes."""

    name = "in-process"
    workers = 1

    def __init__(self, instances: tuple[Instance, ...], task: Task = TASK) -> None:
        self._task = task
        self.evaluator = load_evaluator(task)
        self.evaluator.prepare(instances)
        self.seconds = 0.0

    def submit(self, job: Job) -> Future[Outcome]:
        began = time.process_time()
        policy = check(job.source, self._task)
        signature = decisions_of(self.evaluator, policy) if job.probe else None
        metrics = tuple((i.name, dict(self.evaluator.evaluate(policy, i))) for i in job.instances)
        self.seconds += time.process_time() - began
        done: Future[Outcome] = Future()
        done.set_result(Outcome(job.id, "scored", metrics, "", 0.0, signature))
        return done

    def close(self) -> None:
        """Do nothing: it holds nothing."""


def searched(
    evidence: EvaluationSet, config: SearchConfig, executor: InThisProcess, candidates: int, plain: Curve | None = None
) -> Curve:
    """Return one search, but for its end: what it found by when. After a plain one it goes on until it is as good."""
    store = MemoryStore()
    open_run(TASK, config, store, evidence, lambda _: None)
    executor.seconds = 0.0
    points: list[tuple[float, float]] = []

    def listen(event: Event) -> None:
        if (
            isinstance(event, CandidateJudged)
            and event.score is not None
            and (not points or event.score > points[-1][1])
        ):
            points.append((executor.seconds, event.score))

    scorer = make_scorer(find_objective(TASK, config.objective), RunRecord.of(store.events()))
    study = Study(TASK, config, store, scorer, executor, (listen,))
    best, seconds = 0.0, 0.0
    with closing(open_model_pool(TASK, config)) as lineup:
        study.begin()
        while (proposal := study.ask()) is not None:
            study.tell(proposal, lineup.propose(proposal))
            if study.completed == candidates:
                best, seconds = points[-1][1], executor.seconds
            if study.completed >= candidates and (
                plain is None or points[-1][1] >= plain.best or executor.seconds > PATIENCE * plain.seconds
            ):
                break
    return Curve(tuple(points), best, seconds, executor.seconds)


def model_path(evidence: EvaluationSet, config: SearchConfig, executor: InThisProcess) -> tuple[int, float]:
    """Return how many calls of a model were open at once in a search with 32 in flight, and the seconds it took."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(RECORDED, directory)
        replies = [call.reply for call in SQLiteStore(Path(directory) / RECORDED.name).calls()]
    with RecordedServer(replies, SECONDS_PER_REPLY) as server:
        chosen = replace(
            config, model=("recorded",), api_base=server.url, strategy="best-of-n", in_flight=IN_FLIGHT,
            budget_candidates=2 * IN_FLIGHT, tune=0, simplify=0, racing=False,
        )  # fmt: skip
        store = MemoryStore()
        open_run(TASK, chosen, store, replace(evidence, rungs=()), lambda _: None)
        scorer = make_scorer(find_objective(TASK, chosen.objective), RunRecord.of(store.events()))
        study = Study(TASK, chosen, store, scorer, executor)
        began = time.perf_counter()
        with closing(open_model_pool(TASK, chosen)) as lineup:
            study.run(lineup)
        return server.most_open, time.perf_counter() - began


def interval(values: list[float]) -> str:
    """Return the median with the 95 % interval of its bootstrap."""
    rng = np.random.default_rng(1)
    medians = np.median(rng.choice(values, (MAX_RESAMPLES, len(values))), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return f"{statistics.median(values):.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    options = arguments(__doc__ or "")
    traces = dict(list(TRACES.items())[: 1 if options.quick else None])
    seeds = SEEDS[: 2 if options.quick else None]
    candidates = 50 if options.quick else 100
    curves: dict[tuple[str, int, str], Curve] = {}
    grounds: dict[str, tuple[SearchConfig, EvaluationSet, InThisProcess]] = {}
    for trace, settings in traces.items():
        config = SearchConfig(
            task="cache_eviction",
            settings=complete_settings(TASK, {**settings, "cache_size": [CACHE_SIZE]}),
            objective="object",
            budget_candidates=MAX_CANDIDATES * candidates,
            islands=1,
        )
        evidence = load_evaluation_set(TASK, config, load_evaluator(TASK))
        grounds[trace] = config, evidence, InThisProcess(evidence.everything)
    for seed in seeds:
        for trace, (config, evidence, executor) in grounds.items():
            for name, changes in SEARCHES.items():
                chosen = replace(config, seed=seed, **changes)
                given = evidence if chosen.racing or chosen.tune else replace(evidence, rungs=())
                plain = curves[trace, seed, PLAIN] if name in COMPARED else None
                curves[trace, seed, name] = curve = searched(given, chosen, executor, candidates, plain)
                then = f", then to {curve.points[-1][1]:.4f} in {curve.spent:.1f} s" if plain else ""
                print(f"{trace} seed {seed} {name}: {curve.best:.4f} in {curve.seconds:.1f} s{then}", file=sys.stderr)
    table, document, goals = report(curves, list(traces), list(seeds), candidates)
    config, evidence, executor = grounds[min(traces)]
    most_open, seconds = model_path(evidence, config, executor)
    table += [
        "",
        f"a model on loopback, {SECONDS_PER_REPLY:g} s per reply, {2 * IN_FLIGHT} recorded replies of a language "
        f"model: {most_open} concurrent calls, {seconds:.1f} s with scoring",
    ]
    document["model_path"] = {"most_open": most_open, "seconds": seconds}
    goals.append(Goal("calls of a model open at once", most_open, IN_FLIGHT))
    finish(options, document, table, goals)


def report(
    curves: dict[tuple[str, int, str], Curve], traces: list[str], seeds: list[int], candidates: int
) -> tuple[list[str], dict[str, Any], list[Goal]]:
    cells = [(trace, seed) for trace in traces for seed in seeds]
    table = [f"{candidates} candidates per search; medians of {len(seeds)} seeds with 95 % bootstrap intervals", ""]
    table.append(f"{'trace':8} {'search':16} {'best score':>28} {'machine s':>10}")
    for trace in traces:
        for name in SEARCHES:
            mine = [curves[trace, seed, name] for seed in seeds]
            seconds = statistics.median(c.seconds for c in mine)
            table.append(f"{trace:8} {name:16} {interval([c.best for c in mine]):>28} {seconds:10.1f}")
    gains = [curves[t, s, PLAIN].best - curves[t, s, "best-of-n"].best for t, s in cells]
    table += ["", f"evolve - best-of-n, at equal candidates: {interval(gains)}"]
    table.append(f"better in {sum(g > 0 for g in gains)} of {len(gains)} pairs, equal in {sum(g == 0 for g in gains)}")
    document: dict[str, Any] = {"gains": gains, "candidates": candidates, "ratios": {}}
    goals = [Goal("median gain of evolve over best-of-n", statistics.median(gains), 0.0)]
    table += ["", "machine time to the score that evolve alone ends with, as a share of what evolve alone takes:"]
    for name in COMPARED:
        shares, missed = [], []
        for cell in cells:
            plain, other = curves[(*cell, PLAIN)], curves[(*cell, name)]
            needed = plain.until(plain.best)
            taken = other.until(plain.best)
            assert needed is not None
            if taken is None:
                missed.append(cell)
            shares.append((other.spent if taken is None else taken) / needed)
        table.append(f"{name:16} {interval(shares)}; not reached in {len(missed)} of {len(cells)}")
        document["ratios"][name] = {"shares": shares, "not_reached": missed}
        goals.append(Goal(f"{name}: share of the machine time", statistics.median(shares), 0.5, at_least=False))
    document["curves"] = {"/".join(map(str, key)): curve.points for key, curve in curves.items()}
    return table, document, goals


if __name__ == "__main__":
    main()
