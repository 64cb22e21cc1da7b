"""Value of cheaper scores: their ranking of candidates, their losses, and the machine time saved.

Two searches with the offline generator are recorded in full on real traces, the parents being the best so far, so that
late candidates are close. One is on large traces, with the score of every candidate on spatial samples too: rungs. The
other is on many small ones: the paired test. Then the rules of `vulcan.searches.evaluation` are replayed over the
recorded candidates, in their order; nothing that a rule stops changes what comes later, as it would in a search.

The traces are those of `shared/data` alongside the project, or of VULCAN_DATA.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness import Goal, arguments, finish
from vulcan.anvil import Policy, check
from vulcan.evaluator import Instance
from vulcan.generator import OfflineEvolve
from vulcan.models import Parent, Request
from vulcan.registry import find_task
from vulcan.searches.bootstrap import mean_interval
from vulcan.searches.config import complete_settings
from vulcan.searches.evaluation import WINDOW, passes, stages, will_not_reach
from vulcan_cache.evaluator import CacheEvaluator
from vulcan_cache.layout import LAYOUT
from vulcan_cache.spatial_sample import KEEP_SINGLE_RUNG, LADDER, sampled

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[1] / ".." / "shared" / "data"))
LARGE = (
    ("cache/caffeine/cloud_physics/w106.trace.xz", "be-u32", ("10%",)),
    ("cache/arc/P3.lis.zst", "arc", ("30%",)),
    ("cache/caffeine/scarab/scarab-recs.trace.xz", "be-i64", ("10%",)),
    ("cache/derived/tragen_eu3_social.oracleGeneral.bin.zst", None, ("10%",)),
)
SMALL = (
    ("cache/libcachesim/cloudPhysicsIO.vscsi", None, ("10%",)),
    ("cache/arc/OLTP.lis.zst", "arc", ("10%",)),
    ("cache/caffeine/corda/trace_vaultservice.gz", "be-i64", ("10%",)),
    ("cache/caffeine/cache2k/web07.trace.xz", "be-i32", ("10%",)),
    ("cache/caffeine/lirs/2_pools.trace.gz", "lirs", ("10%",)),
    ("cache/caffeine/lirs/cpp.trace.gz", "lirs", ("10%",)),
    ("cache/caffeine/lirs/gli.trace.gz", "lirs", ("10%",)),
    ("cache/caffeine/lirs/multi2.trace.gz", "lirs", ("10%",)),
    ("cache/caffeine/lirs/multi3.trace.gz", "lirs", ("10%",)),
    ("cache/caffeine/lirs/sprite.trace.gz", "lirs", ("10%",)),
    ("cache/mooncake/conversation_trace.jsonl", "mooncake", ("10%",)),
    ("cache/tencent/tencentBlock.ns1326.sample.csv", None, ("10%",)),
    ("cache/tencent/tencentBlock.ns3300.sample.csv", None, ("10%",)),
    ("cache/tencent/tencentBlock.ns3906.sample.csv", None, ("10%",)),
)
ROUND, ARCHIVE = 20, 20
TASK = find_task("cache_eviction")
Table = Sequence[tuple[str, str | None, tuple[str, ...]]]


@dataclass
class Recording:
    """Scores of shape (candidates, instances) and thread seconds of the same shape, by version: full, R=0.1 ..."""

    instances: tuple[Instance, ...]
    scores: dict[str, list[list[float]]] = field(default_factory=dict)
    seconds: dict[str, list[list[float]]] = field(default_factory=dict)
    signatures: list[str] = field(default_factory=list)
    probe_seconds: list[float] = field(default_factory=list)

    def of(self, version: str) -> np.ndarray:
        return np.array(self.scores[version])

    def means(self, version: str) -> np.ndarray:
        return self.of(version).mean(axis=1)

    def cost(self, version: str) -> np.ndarray:
        """Seconds of each instance: the median, for a busy machine stretches some."""
        return np.median(self.seconds[version], axis=0)


class Bench:
    """One evaluator, the instances in every version, and what FIFO does on each."""

    def __init__(self, table: Table, factors: Sequence[int]) -> None:
        self.evaluator = CacheEvaluator()
        self.instances = tuple(
            instance
            for file, trace_format, sizes in table
            for instance in self.evaluator.instances(
                complete_settings(
                    TASK, {"trace": [str(DATA / file)], "trace_format": trace_format, "cache_size": list(sizes)}
                ),
                TASK.split,
            )
            if instance.split == "train"
        )
        self.versions = {"full": self.instances}
        self.versions |= {f"R={1 / f:g}": tuple(sampled(i, f) for i in self.instances) for f in factors}
        everything = [i for instances in self.versions.values() for i in instances]
        self.evaluator.prepare(everything)
        self.fifo = {i.name: self.evaluator.evaluate_baseline("fifo", i) for i in everything}

    def score(self, policy: Policy, instance: Instance) -> tuple[float, float]:
        began = time.thread_time()
        metrics = self.evaluator.evaluate(policy, instance)
        return TASK.objective().score(metrics, {"fifo": self.fifo[instance.name]}), time.thread_time() - began

    def record(self, candidates: int, seed: int) -> Recording:
        """Return a search with the offline generator: a round builds on two of the ten best of all rounds before."""
        generator, found = OfflineEvolve(TASK), Recording(self.instances)
        sources: list[str] = []
        best: list[Parent] = []
        with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
            while len(sources) < candidates:
                new = []
                for number in range(len(sources), len(sources) + ROUND):
                    rng = random.Random(f"{seed}:{number}")
                    parents = tuple(rng.sample(best, min(2, len(best))))
                    reply = generator.propose(Request(number, 0, (), parents, seed))
                    new.append(reply.text.split("```python\n")[1].split("```")[0])
                for result in threads.map(self._measured, new):
                    _keep(found, *result)
                sources += new
                order = np.argsort(-found.means("full"), kind="stable")[:10]
                best = [Parent(int(c), sources[c], float(found.means("full")[c])) for c in order]
        return found

    def _measured(self, source: str) -> tuple[dict[str, list[tuple[float, float]]], str, float]:
        policy = check(source, TASK)
        policy.native(LAYOUT)
        began = time.thread_time()
        signature = self.evaluator.decisions(policy)
        seconds = time.thread_time() - began
        return {v: [self.score(policy, i) for i in found] for v, found in self.versions.items()}, signature, seconds


def _keep(found: Recording, scores: dict[str, list[tuple[float, float]]], signature: str, seconds: float) -> None:
    for version, pairs in scores.items():
        found.scores.setdefault(version, []).append([score for score, _ in pairs])
        found.seconds.setdefault(version, []).append([spent for _, spent in pairs])
    found.signatures.append(signature)
    found.probe_seconds.append(seconds)


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(pd.Series(a).rank(), pd.Series(b).rank())[0, 1])


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Tau-b: pairs in the same order less those in the other, ties taken out."""
    x, y = (np.sign(v[:, None] - v[None, :])[np.triu_indices(len(v), 1)] for v in (a, b))
    return float((x * y).sum() / np.sqrt((x != 0).sum() * (y != 0).sum()))


def correlations(found: Recording) -> list[dict[str, Any]]:
    """Of each version with the full score: among the first third, the last third, and the best quarter of all."""
    rows = []
    third = len(found.signatures) // 3
    columns: list[tuple[str, Callable[[str], np.ndarray]]] = [
        (i.name, lambda v, n=n: found.of(v)[:, n]) for n, i in enumerate(found.instances)
    ]
    for name, column in [*columns, ("mean of all", found.means)]:
        for version in (v for v in found.scores if v != "full"):
            full, cheap = column("full"), column(version)
            best = np.argsort(-full, kind="stable")[: len(full) // 4]
            parts = {"early": np.arange(third), "late": np.arange(len(full) - third, len(full)), "best quarter": best}
            row: dict[str, Any] = {"instance": name, "version": version}
            for part, chosen in parts.items():
                row[part] = (spearman(full[chosen], cheap[chosen]), kendall(full[chosen], cheap[chosen]))
            rows.append(row)
    return rows


def best_so_far(full: np.ndarray, number: int) -> float:
    """Return the score that a candidate must beat to be among the `ARCHIVE` best of those before it."""
    return float(np.sort(full[:number])[-ARCHIVE]) if number >= ARCHIVE else -np.inf


def losses(full: np.ndarray, stopped: np.ndarray) -> dict[str, float]:
    """Return the share of good candidates that a rule pruned."""
    enters = np.array([score > best_so_far(full, number) for number, score in enumerate(full)])
    top = full >= np.sort(full)[-max(1, len(full) // 20)]
    half = np.arange(len(full)) >= len(full) // 2
    return {
        "stopped": float(stopped.mean()),
        "top 5% lost": float(stopped[top].mean()),
        "archive lost": float(stopped[enters].mean()),
        "archive lost, early half": float(stopped[enters & ~half].mean()),
        "archive lost, late half": float(stopped[enters & half].mean()) if (enters & half).any() else 0.0,
        "regret": float(full.max() - full[~stopped].max()),
    }


def halving(found: Recording, ladder: Sequence[tuple[str, float]], window: int) -> dict[str, float]:
    """The rule `passes` on the mean of each rung, in the order of candidates; the first round is scored in full."""
    full, cost = found.means("full"), float(found.cost("full").sum())
    stopped = np.zeros(len(full), bool)
    spent = 0.0
    settled: dict[str, list[float]] = {version: [] for version, _ in ladder}
    for number in range(len(full)):
        for version, keep in ladder:
            score = float(found.means(version)[number])
            spent += float(found.cost(version).sum())
            stopped[number] = number >= ROUND and not passes(score, settled[version], keep, window)
            settled[version].append(score)
            if stopped[number]:
                break
        spent += cost * (not stopped[number])
    return {**losses(full, stopped), "times less time": cost * len(full) / spent}


def paired(found: Recording, confidence: float, seed: int) -> dict[str, float]:
    """Return the test after the first half of the instances, against the last of the archive."""
    scores, full, cost = found.of("full"), found.means("full"), found.cost("full")
    first, second = stages(scores.shape[1], seed)
    order = [*first, *second]
    stopped = np.zeros(len(full), bool)
    for number in range(ARCHIVE, len(full)):
        incumbent = scores[np.argsort(-full[:number], kind="stable")[ARCHIVE - 1]][order]
        stopped[number] = will_not_reach(list(scores[number][list(first)]), list(incumbent), confidence)
    spent = len(full) * cost.sum() - stopped.sum() * cost[list(second)].sum()
    return {**losses(full, stopped), "times less time": float(len(full) * cost.sum() / spent)}


def signatures(found: Recording) -> dict[str, float]:
    """Return how often a candidate decides as an earlier one on the probe, and whether it does so on the traces."""
    rows = [tuple(row) for row in found.scores["full"]]
    seen: dict[str, int] = {}
    same, wrong, largest = 0, 0, 0.0
    for number, signature in enumerate(found.signatures):
        earlier = seen.setdefault(signature, number)
        if earlier != number:
            same += 1
            wrong += rows[number] != rows[earlier]
            largest = max(largest, abs(statistics.fmean(rows[number]) - statistics.fmean(rows[earlier])))
    repeated = len(rows) - len(set(rows))
    caught = sum(
        any(rows[earlier] == rows[n] and found.signatures[earlier] == found.signatures[n] for earlier in range(n))
        for n in range(len(rows))
    )
    return {
        "same signature": same, "of these not the same on the traces": wrong, "largest difference": largest,
        "same on the traces": repeated, "caught": caught,
        "milliseconds": 1e3 * statistics.median(found.probe_seconds),
    }  # fmt: skip


def coverage(count: int, repetitions: int) -> float:
    """Return how often the 95% interval of that many log-normal values has the true mean in it."""
    rng = np.random.RandomState(7)
    hits = 0
    for _ in range(repetitions):
        interval = mean_interval(list(np.exp(0.8 * rng.randn(count))))
        hits += interval is not None and interval.low <= np.exp(0.32) <= interval.high
    return hits / repetitions


def averaged(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}


def main() -> None:
    options = arguments(__doc__ or "")
    if not DATA.is_dir():
        sys.exit(f"no traces at {DATA}: set VULCAN_DATA to their directory")
    candidates = 80 if options.quick else 200
    seeds = (1,) if options.quick else (1, 2)
    large, small = Bench(LARGE, [f for f, _ in LADDER]), Bench(SMALL, [])
    on_large = [large.record(candidates, seed) for seed in seeds]
    on_small = [small.record(candidates, seed) for seed in seeds]
    versions = [(f"R={1 / f:g}", keep) for f, keep in LADDER]
    ladders = {"R=0.01, R=0.1": versions, "R=0.1": versions[1:]}
    ladders |= {f"R=0.1, keeps {keep:.0%}": [("R=0.1", keep)] for keep in (0.15, KEEP_SINGLE_RUNG)}
    offered = {r.name: [i.name for i in r.instances] for r in large.evaluator.rungs(large.instances)}
    halved = {
        f"{name} of {window}": averaged([halving(found, ladder, window) for found in on_large])
        for name, ladder in ladders.items()
        for window in (WINDOW, 30)
    }
    raced = {f"{c:.0%} sure": averaged([paired(found, c, s) for found in on_small for s in range(1, 6)])
             for c in (0.95, 0.8)}  # fmt: skip
    correlated = [row | {"seed": seed} for seed, found in zip(seeds, on_large, strict=True)
                  for row in correlations(found)]  # fmt: skip
    told = {"large": averaged(list(map(signatures, on_large))), "small": averaged(list(map(signatures, on_small)))}
    covered = {n: coverage(n, 100 if options.quick else 400) for n in (5, 8, 12)}

    speed = {v: [float(f / c) for f, c in zip(on_large[0].cost("full"), on_large[0].cost(v), strict=True)]
             for v, _ in versions}  # fmt: skip
    table = [f"{candidates} candidates per search, seeds {seeds}; rungs offered: {offered}", ""]
    table += [f"{'':38}{'early':>15}{'late':>15}{'best quarter':>15}   (Spearman, Kendall)"]
    table += [
        f"{row['instance']:24} {row['version']:7} {row['seed']:3}  "
        + "".join(f"{row[part][0]:9.2f}{row[part][1]:6.2f}" for part in ("early", "late", "best quarter"))
        for row in correlated
    ]
    table += ["", *(f"{v}: times less time an instance {', '.join(f'{s:.0f}' for s in speed[v])}" for v in speed), ""]
    for title, rows in (("halving", halved), ("paired test over instances", raced), ("signatures", told)):
        table += [f"{title:28}" + "  ".join(next(iter(rows.values())))]
        table += [f"  {name:26}" + "  ".join(f"{v:{len(k)}.4f}" for k, v in row.items()) for name, row in rows.items()]
        table += [""]
    table += [f"95% intervals of log-normal scores cover the mean: {covered}"]
    late = [row["late"][0] for row in correlated if row["version"] == "R=0.1" and row["instance"] == "mean of all"]
    goals = [
        Goal("rank correlation of R=0.1 late in a search", min(late), 0.8),
        Goal(
            "share of the true top 5% that the rungs lose",
            halved[f"R=0.01, R=0.1 of {WINDOW}"]["top 5% lost"],
            0.1,
            at_least=False,
        ),
        Goal("times less machine time by the rungs", halved[f"R=0.01, R=0.1 of {WINDOW}"]["times less time"], 2),
        Goal("share of archive members that the paired test loses", raced["95% sure"]["archive lost"], 0.05, False),
        Goal("coverage of 95% intervals of 5 scores", covered[5], 0.88),
    ]
    finish(options, {"correlations": correlated, "halving": halved, "paired": raced, "signatures": told,
                     "coverage": covered, "speed": speed}, table, goals)  # fmt: skip


if __name__ == "__main__":
    main()
