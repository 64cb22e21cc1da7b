"""From the text of a reply to a score, by stage.

Candidates are of the offline generator, all without parents. The ground is the part of the trace w106 that a search
sees, a cache of 10 % of its footprint; generated requests of that kind where the trace is not there. Figures are
processor time, the median of five turns for each candidate; totals are means over candidates, for they say how many an
hour are possible. `isolation` is what the way into the jailed child and back takes in both processes, over what the
child does.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.ground import MECHANISMS, TASK, Ground, ground, replies
from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, run_suite
from vulcan.anvil import Policy, check
from vulcan.evaluator import decisions_of
from vulcan.models.base import Reply
from vulcan.models.reply_parser import extract_source
from vulcan.scoring import Job
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Setup
from vulcan.store.events import CandidateJudged
from vulcan.store.sqlite import SQLiteStore
from vulcan_cache.layout import LAYOUT

STAGES = (
    "parse the reply",
    "check",
    "lint",
    "compile (fast tier)",
    "decisions on the probe",
    "simulate the sample",
    "compile",
    "simulate in full",
    "store",
)
FULL_GOAL, HALVING_GOAL = 15_000, 100_000
"""Candidates an hour of one core."""

WHY_NOT_HALVING = "four tenths are full runs of the 10 % that are promoted, a third is the sample, a tenth compiling"

WHY_NOT_SAMPLE = "it calls the policy sixteen times at each eviction, and is just about there when the host is quick"


def measure(quick: bool) -> BenchmarkResult:
    count = 10 if quick else 80
    tables, goals = [], []
    on = ground()
    for mechanism in MECHANISMS:
        drawn = replies(6 * count)
        given = [r for r in drawn if check(extract_source(r, "priority"), TASK).mechanism == mechanism][:count]
        stages = by_stage(on, given, 1 if quick else 5)
        isolation = isolation_seconds(on, 20 if quick else 60)
        full, halving, keep = totals(on, stages, isolation)
        tables.append(stage_table(on, mechanism, stages, isolation, full, halving, keep))
        goals += [
            Goal(
                f"candidates per core-hour, {mechanism}, in full", 3600 / full, FULL_GOAL, in_quick=False,
                documented=WHY_NOT_SAMPLE if mechanism == "sample" else "",
            ),
            Goal(
                f"candidates per core-hour, {mechanism}, with halving", 3600 / halving, HALVING_GOAL,
                in_quick=False, documented=WHY_NOT_HALVING,
            ),
        ]  # fmt: skip
    return BenchmarkResult(tuple(tables), tuple(goals))


def by_stage(on: Ground, given: list[Reply], turns: int) -> dict[str, list[float]]:
    """Processor seconds of each stage for each candidate: the medians over turns of all candidates."""
    found = [one_turn(on, given) for _ in range(turns)]
    return {
        stage: [statistics.median(times) for times in zip(*(turn[stage] for turn in found), strict=True)]
        for stage in found[0]
    }


def one_turn(on: Ground, given: list[Reply]) -> dict[str, list[float]]:
    """Processor seconds of each stage for each candidate, called directly."""
    seconds: dict[str, list[float]] = {stage: [] for stage in STAGES}

    def timed(stage: str, work: Callable[..., Any], *given: Any, **options: Any) -> Any:
        began = time.process_time()
        result = work(*given, **options)
        seconds[stage].append(time.process_time() - began)
        return result

    with tempfile.TemporaryDirectory() as directory:
        store = SQLiteStore(Path(directory) / "run.db", create=True)
        for number, reply in enumerate([given[0], *given]):
            source = timed("parse the reply", extract_source, reply, "priority")
            policy: Policy = timed("check", check, source, TASK)
            timed("lint", getattr, policy, "warnings")
            timed("compile (fast tier)", policy.native, LAYOUT, hurried=True)
            timed("decisions on the probe", decisions_of, on.evaluator, policy)
            if on.rung is not None:
                timed("simulate the sample", on.evaluator.evaluate, policy, on.rung)
            timed("compile", policy.native, LAYOUT)
            timed("simulate in full", on.evaluator.evaluate, policy, on.full)
            timed("store", store.append, judged(number, policy))
        store.close()
    return {stage: values[1:] for stage, values in seconds.items() if values}


def judged(number: int, policy: Policy) -> CandidateJudged:
    return CandidateJudged(
        candidate=number, proposal=number, turn=0, source=policy.source, fingerprint=policy.fingerprint,
        verdict="scored", feedback="", rules=(), operations=policy.operations, size=policy.size, of=None, score=0.0,
        metrics=(("w106@10%", {"miss_ratio": 0.1}),),
    )  # fmt: skip


def totals(on: Ground, stages: dict[str, list[float]], isolation: float) -> tuple[float, float, float]:
    """Mean seconds of a candidate that is scored in full, of one that races, and the share that continues to the end.

    Each is checked where its reply is read and where it is run; one that goes on travels again.
    """
    mean = {stage: statistics.mean(values) for stage, values in stages.items()}
    prepared = sum(mean[stage] for stage in ("parse the reply", "lint", "decisions on the probe", "store"))
    trip = mean["check"] + isolation
    probed = prepared + mean["check"] + trip + mean["compile (fast tier)"]
    whole = mean["compile"] + mean["simulate in full"]
    full = probed + whole
    if on.rung is None:
        return full, full, 1.0
    keep = on.evidence.rungs[0].keep
    halving = probed + mean["simulate the sample"] + keep * (trip + whole)
    return full, halving, keep


def stage_table(
    on: Ground,
    mechanism: str,
    stages: dict[str, list[float]],
    isolation: float,
    full: float,
    halving: float,
    keep: float,
) -> BenchmarkTable:
    rows = [
        (stage, f"{statistics.median(values) * 1e3:.2f}", f"{statistics.mean(values) * 1e3:.2f}")
        for stage, values in stages.items()
    ]
    rows += [
        ("isolation", f"{isolation * 1e3:.2f}", f"{isolation * 1e3:.2f}"),
        ("a candidate in full", "", f"{full * 1e3:.1f}"),
        (f"a candidate that races, {keep:.0%} promoted", "", f"{halving * 1e3:.1f}"),
        ("candidates per hour in full", "", f"{3600 / full:,.0f}"),
        ("candidates per hour with halving", "", f"{3600 / halving:,.0f}"),
    ]
    requests = on.full.parameters["measure_to"]
    title = (
        f"From reply to score, {mechanism}, {on.name} at 10% ({requests:,} requests), {len(stages['check'])} candidates"
    )
    return BenchmarkTable(title, ("stage", "milliseconds, median", "mean"), tuple(rows))


def isolation_seconds(on: Ground, turns: int) -> float:
    """Processor time of a round trip to a jailed child, in both processes, beyond the same work done here.

    Where the time of another process cannot be read, the wall clock is taken; the least of all turns of either.
    """
    source = TASK.seed_policies()["lru"]
    job = Job(1, source, (), 60.0, probe=True)
    here, there = [], []
    jailed = JailedEvaluator(Setup(TASK.name, (on.full,)))
    try:
        jailed.start()
        seconds = partial(_processors, jailed.pid) if _seconds_of(jailed.pid) else time.perf_counter
        for _ in range(turns):
            began = seconds()
            decisions_of(on.evaluator, check(source, TASK))
            between = seconds()
            outcome = jailed.run(job)
            here.append(between - began)
            there.append(seconds() - between)
            if outcome.status != "scored":
                raise RuntimeError(f"the task's own policy is {outcome.status}: {outcome.message}")
    finally:
        jailed.close()
    return max(0.0, min(there) - min(here))


def _processors(pid: int | None) -> float:
    """Processor seconds of this process and of another."""
    return time.process_time() + _seconds_of(pid)


def _seconds_of(pid: int | None) -> float:
    """Processor seconds of a process's main thread; 0 where they cannot be read."""
    place = Path(f"/proc/{pid}/schedstat")
    return int(place.read_text().split()[0]) / 1e9 if place.is_file() else 0.0


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
