"""What guards cost and save: winners of searches, unguarded and guarded, on traces that change and on real traces.

`python -m benchmarks.guarded -o guarded.jsonl` searches with the offline generator on the first 60 % of each trace, and
counts the misses of the winner on all that follows: alone, guarded by LRU and by S3-FIFO, and those of the safe policy.
The worst range is that of consecutive requests in which most is lost to the safe policy. It ends with an error where a
guarded winner exceeds its bound, in that range or another. `--table guarded.jsonl` prints the table of
docs/results/guarded-winners.md.
Real traces that are not in VULCAN_DATA are left out.

The generated traces are those of `benchmarks.verdicts`: with some, a winner of their first part is of no use later.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.verdicts import TRACES
from vulcan.anvil import Policy, check
from vulcan.evaluator import Instance
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_cache.evaluator import CacheEvaluator
from vulcan_cache.guard import TOLERANCE

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "cache"
REAL: Mapping[str, str] = {
    "cloudPhysicsIO": "libcachesim/cloudPhysicsIO.vscsi",
    "tencent ns3300": "tencent/tencentBlock.ns3300.sample.csv",
    "tencent ns1360": "tencent/tencentBlock.ns1360.sample.csv",
    "sprite": "caffeine/lirs/sprite.trace.gz",
    "multi1": "caffeine/lirs/multi1.trace.gz",
    "multi3": "caffeine/lirs/multi3.trace.gz",
    "2_pools": "caffeine/lirs/2_pools.trace.gz",
    "adapt_size": "caffeine/adapt_size/request.trace.xz",
    "mooncake": "mooncake/conversation_trace.jsonl",
}
COLUMNS = "time=1,id=2,size=3,header"
SAFE = ("lru", "s3-fifo")
TASK = "cache_eviction"
HIT, OUTCOME = 0, 3
"""Of a history (`vulcan_cache.kernels.common`)."""

ROUNDING = 1e-6
"""Of the sum of a tolerance for each request."""


@dataclass(frozen=True, slots=True)
class GuardedLine:
    """Misses of a winner and of a safe policy on the requests after those of the split train."""

    trace: str
    seed: int
    safe: str
    verdict: str
    requests: int
    winner: int
    alone: int
    """Misses of the safe policy."""
    guarded: int
    bound: float
    """The most that `guarded` may exceed `alone` by."""
    winner_range: int
    """Misses of the winner more than those of the safe policy, in the range of requests in which that is the most."""
    guarded_range: int
    """Such misses of the guarded winner."""
    range_bound: float
    """The bound of that range."""
    switches: int

    @property
    def loss(self) -> int:
        """Misses of the guarded winner more than those of the safe policy; negative for a gain."""
        return self.guarded - self.alone


class BoundExceededError(Exception):
    """A guarded policy misses more than its bound allows."""


def compare(policy: Policy, held_out: Instance, **about: Any) -> Iterator[GuardedLine]:
    """Yield a line for each safe policy. Raises BoundExceededError."""
    evaluator = CacheEvaluator()
    start, stop = cast(int, held_out.parameters["measure_from"]), cast(int, held_out.parameters["measure_to"])
    history, outcome = np.zeros(stop, np.uint32), np.zeros(stop, np.uint32)
    unguarded = evaluator.run(policy, held_out, history=history)
    for safe in SAFE:
        safe_missed = np.zeros(stop, np.uint8)
        alone = evaluator.run_baseline(safe, held_out, missed=safe_missed)
        guarded = evaluator.run_guarded(policy, evaluator.guarded(held_out, safe), outcome=outcome)
        of_safe = safe_missed[start:].astype(np.int64)
        winner_more = ((history[start:] & OUTCOME) != HIT) - of_safe
        guarded_more = (outcome[start:] & 1).astype(np.int64) - of_safe
        cacheful = guarded.bound - TOLERANCE * len(of_safe)
        winner_range, _ = worst_range(winner_more)
        guarded_range, length = worst_range(guarded_more)
        line = GuardedLine(
            **about,
            safe=safe,
            requests=unguarded.requests,
            winner=unguarded.misses,
            alone=alone.misses,
            guarded=guarded.counts.misses,
            bound=guarded.bound,
            winner_range=int(winner_range),
            guarded_range=int(guarded_range),
            range_bound=TOLERANCE * length + cacheful,
            switches=guarded.switches,
        )
        if line.loss > line.bound or worst_range(guarded_more - TOLERANCE)[0] > cacheful + ROUNDING:
            raise BoundExceededError(f"{line}")
        yield line


def worst_range(more: NDArray[Any]) -> tuple[float, int]:
    """Return the greatest sum over a range of consecutive requests, and how many those are."""
    sums = np.concatenate(([0], np.cumsum(more)))
    least = np.minimum.accumulate(sums)
    stop = int(np.argmax(sums - least))
    return float(sums[stop] - least[stop]), stop - int(np.argmax(sums == least[stop]))


def held_out_of(settings: Mapping[str, Any]) -> Instance:
    """Return the instance that measures all that follows the split train: validation and test."""
    task = find_task(TASK)
    found = CacheEvaluator().instances(complete_settings(task, settings), task.split)
    (validation,) = (i for i in found if i.split == "validation")
    (test,) = (i for i in found if i.split == "test")
    parameters = {**test.parameters, "measure_from": validation.parameters["measure_from"]}
    return replace(test, name=f"{test.name}, after train", parameters=parameters)


def write_generated(kind: str, seed: int, directory: Path) -> Path:
    """Write a generated trace to a file, with sizes that are lognormal."""
    rng = random.Random(f"{kind} {seed}")
    sizes: dict[int, int] = {}
    rows = (
        f"{n},{i},{sizes.setdefault(i, int(rng.lognormvariate(8, 1)) + 1)}" for n, i in enumerate(TRACES[kind](rng))
    )
    file = directory / f"{kind.replace(' ', '').replace('%', '')}-{seed}.csv"
    file.write_text("\n".join(["time,id,size", *rows]) + "\n", encoding="utf-8")
    return file


def searched(name: str, seed: int, settings: Mapping[str, Any], candidates: int, runs: Path) -> Iterator[GuardedLine]:
    """Search on a trace, and yield the lines of the winner, whatever the verdict is."""
    import vulcan

    run = vulcan.search(
        TASK,
        **settings,
        budget_candidates=candidates,
        seed=seed,
        runs_dir=runs,
        executor="local",
        progress="none",
    )
    winner = check(run.best.source, find_task(TASK))
    yield from compare(
        winner, held_out_of(run.config["settings"]), trace=name, seed=seed, verdict=run.summary["verdict"]
    )


def workloads(seeds: int, directory: Path, only: str | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield the traces: name, seed of the search, settings. Generated ones are others with each seed."""
    for kind in TRACES:
        for seed in range(1, seeds + 1) if only in (None, kind) else ():
            file = write_generated(kind, seed, directory)
            yield kind, seed, {"trace": [str(file)], "columns": COLUMNS, "cache_size": ["5%"]}
    for name, file in REAL.items():
        if only in (None, name) and (DATA / file).is_file():
            for seed in range(1, seeds + 1):
                yield name, seed, {"trace": [str(DATA / file)], "cache_size": ["5%"]}


def table(lines: Iterable[GuardedLine]) -> str:
    """Return a row for each trace and safe policy: the misses of the safe one, and how many more the winners have.

    Each figure is that of the search where it is the greatest, a bound that of the search on its left.
    """
    rows = [
        "| trace | guard | safe | winner | guarded | bound | winner, range | guarded, range | bound | switches |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, str], list[GuardedLine]] = {}
    for line in lines:
        groups.setdefault((line.trace, line.safe), []).append(line)
    for (trace, safe), own in groups.items():
        alone = max(line.winner - line.alone for line in own)
        worst = max(own, key=lambda line: line.loss)
        in_range = max(own, key=lambda line: line.guarded_range)
        rows.append(
            f"| {trace} | {safe} | {worst.alone:,} | {alone:+,} | {worst.loss:+,} | {worst.bound:,.0f} | "
            f"{max(line.winner_range for line in own):,} | {in_range.guarded_range:,} | {in_range.range_bound:,.0f} | "
            f"{max(line.switches for line in own)} |"
        )
    return "\n".join(rows)


def summary(lines: Iterable[GuardedLine]) -> str:
    """Return what the guards saved and cost, over all searches."""
    found = list(lines)
    said = []
    for safe in SAFE:
        own = [line for line in found if line.safe == safe]
        losing = [line for line in own if line.winner > line.alone]
        winning = [line for line in own if line.winner <= line.alone]
        said.append(
            f"{safe}: of {len(own)} winners {len(losing)} lose to it alone, "
            f"{sum(line.loss > 0 for line in own)} guarded; "
            f"misses lost {sum(line.winner - line.alone for line in losing):,} alone, "
            f"{sum(max(0, line.loss) for line in own):,} guarded; "
            f"won {sum(line.alone - line.winner for line in winning):,} alone, "
            f"{sum(max(0, -line.loss) for line in own):,} guarded; most in a range "
            f"{max(line.winner_range for line in own):,} alone, {max(line.guarded_range for line in own):,} guarded, "
            f"at most {max(line.guarded_range / line.range_bound for line in own):.0%} of its bound; "
            f"where the winner is better the guard takes {_taken(winning):+,} misses of it"
        )
    return "\n".join(said)


def _taken(winning: Sequence[GuardedLine]) -> int:
    return sum(line.guarded - line.winner for line in winning)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="searches on each trace")
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--only", choices=[*TRACES, *REAL], help="this trace alone")
    parser.add_argument("-o", "--output", type=Path, default=Path("guarded.jsonl"), help="a line for each comparison")
    parser.add_argument("--table", type=Path, help="print the tables of this file, and search nothing")
    chosen = parser.parse_args()
    if chosen.table is None:
        with tempfile.TemporaryDirectory() as directory, chosen.output.open("a", encoding="utf-8") as output:
            for name, seed, settings in workloads(chosen.seeds, Path(directory), chosen.only):
                for line in searched(name, seed, settings, chosen.candidates, Path(directory) / "runs"):
                    print(json.dumps(asdict(line)), file=output, flush=True)
    with (chosen.table or chosen.output).open(encoding="utf-8") as file:
        lines = [GuardedLine(**json.loads(line)) for line in file]
    print(table(lines), summary(lines), sep="\n\n")


if __name__ == "__main__":
    main()
