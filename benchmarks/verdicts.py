"""How often a search's verdict is right, on traces that keep their character and on traces that change.

`python -m benchmarks.verdicts --seeds 7 -o verdicts.jsonl` makes traces, searches on each with the offline generator
and adds a line for each; `--table verdicts.jsonl` prints the table of docs/explanation/fair-numbers.md. A winner is
compared on test with the baseline that is the best on validation, which a user would otherwise have taken.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

REQUESTS = 60_000
SIZES = ("5%", "5%", "5%", "5%", "5%", "2%", "10%", "20%")
_IDS = range(2_000)
_WEIGHTS = [1 / (i + 1) for i in _IDS]


def _hot(rng: random.Random, count: int, offset: int = 0) -> list[int]:
    return [offset + i for i in rng.choices(_IDS, _WEIGHTS, k=count)]


def _moving(rng: random.Random, count: int) -> list[int]:
    """A working set that moves: an object is asked for some times, and then never again."""
    return [1_000_000 + k // 20 + rng.randrange(200) for k in range(count)]


def _change(share: float) -> Callable[[random.Random], list[int]]:
    first = round(share * REQUESTS)
    return lambda rng: _hot(rng, first) + _moving(rng, REQUESTS - first)


def _new_set(rng: random.Random) -> list[int]:
    first = round(0.6 * REQUESTS)
    return _hot(rng, first) + _hot(rng, REQUESTS - first, 500_000)


def _drift(rng: random.Random) -> list[int]:
    """From popularity that stays to a working set that moves, little by little."""
    hot, moving = _hot(rng, REQUESTS), _moving(rng, REQUESTS)
    return [m if rng.random() < n / REQUESTS else h for n, (h, m) in enumerate(zip(hot, moving, strict=True))]


def _scans(rng: random.Random) -> list[int]:
    """Popular objects, and scans of objects that are read once, throughout."""
    found: list[int] = []
    scanned = 2_000_000
    while len(found) < REQUESTS:
        found += _hot(rng, rng.randrange(300, 900))
        length = rng.randrange(100, 500)
        found += range(scanned, scanned + length)
        scanned += length
    return found[:REQUESTS]


TRACES: dict[str, Callable[[random.Random], list[int]]] = {
    "popularity": lambda rng: _hot(rng, REQUESTS),
    "scans": _scans,
    "change at 60 %": _change(0.6),
    "change at 80 %": _change(0.8),
    "drift": _drift,
    "new working set": _new_set,
}
SAFE = ("lru", "s3-fifo")
STATIONARY = ("popularity", "scans")


def searches(first: int, seeds: int, candidates: int, directory: Path) -> Iterator[dict[str, Any]]:
    """Yield a line for each search."""
    import vulcan

    for seed in range(first, first + seeds):
        for kind, make in TRACES.items():
            rng = random.Random(f"{kind} {seed}")
            file = directory / f"{kind.replace(' ', '').replace('%', '')}-{seed}.csv"
            sizes: dict[int, int] = {}
            rows = (
                f"{n},{i},{sizes.setdefault(i, int(rng.lognormvariate(8, 1)) + 1)}" for n, i in enumerate(make(rng))
            )
            file.write_text("\n".join(["time,id,size", *rows]) + "\n", encoding="utf-8")
            run = vulcan.search(
                "cache_eviction",
                trace=[str(file)],
                columns="time=1,id=2,size=3,header",
                cache_size=[SIZES[seed % len(SIZES)]],
                budget_candidates=candidates,
                seed=seed,
                runs_dir=directory / "runs",
                executor="local",
                progress="none",
            )
            yield {"trace": kind, "seed": seed, **_line(run.summary), "guarded": _guarded(run)}


def _line(summary: Any) -> dict[str, Any]:
    validation, test = summary["validation"], summary["test"]
    baseline = validation["best_baseline"]["policy"]
    return {
        "verdict": summary["verdict"],
        "validation": validation["score"] - validation["best_baseline"]["score"],
        "test": test["score"] - test["baselines"][baseline],
        "sentence": summary["recommendation"]["sentence"],
    }


def _guarded(run: Any) -> dict[str, Any]:
    """Return the misses on test, as shares of the requests: of the winner, of a safe policy and of both together."""
    from vulcan.anvil import check
    from vulcan.registry import find_task
    from vulcan.searches.config import complete_settings
    from vulcan_cache.evaluator import CacheEvaluator

    task, evaluator = find_task("cache_eviction"), CacheEvaluator()
    settings = complete_settings(task, run.config["settings"])
    (test,) = (i for i in evaluator.instances(settings, task.split) if i.split == "test")
    winner = check(run.best.source, task)
    found = {"winner": evaluator.evaluate(winner, test)["miss_ratio"]}
    for safe in SAFE:
        guarded = evaluator.run_guarded(winner, evaluator.guarded(test, safe))
        found[safe] = evaluator.evaluate_baseline(safe, test)["miss_ratio"]
        found[f"{safe}, guarded"] = guarded.counts.miss_ratio
        found[f"{safe}, bound"] = guarded.bound / guarded.counts.requests
    return found


def guard_table(lines: list[dict[str, Any]]) -> str:
    """Return the table of what winners miss more than a safe policy on test, alone and guarded."""
    rows = [
        "| trace | guard | searches | winner alone, median | worst | guarded, median | worst | bound, least |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in TRACES:
        own = [line["guarded"] for line in lines if line["trace"] == kind and "guarded" in line]
        for safe in SAFE if own else ():
            alone = [line["winner"] - line[safe] for line in own]
            guarded = [line[f"{safe}, guarded"] - line[safe] for line in own]
            figures = (median(alone), max(alone), median(guarded), max(guarded))
            bound = min(line[f"{safe}, bound"] for line in own)
            shown = " | ".join(f"{figure:+.4f}" for figure in figures)
            rows.append(f"| {kind} | {safe} | {len(own)} | {shown} | {bound:.4f} |")
            assert all(g <= line[f"{safe}, bound"] for g, line in zip(guarded, own, strict=True))
    return "\n".join(rows)


def table(lines: list[dict[str, Any]]) -> str:
    """Return the table of how often each verdict was right, and the mean gain of those who follow it."""
    rows = [
        "| traces | verdict | searches | winner better on test | median gain | worst | best |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    means = []
    for name, kinds in (("stationary", STATIONARY), ("changing", tuple(set(TRACES) - set(STATIONARY)))):
        of_kind = [line for line in lines if line["trace"] in kinds]
        for verdict in ("better", "undecided", "no better"):
            own = sorted(line["test"] for line in of_kind if line["verdict"] == verdict)
            if own:
                figures = " | ".join(f"{gain:+.3f}" for gain in (median(own), own[0], own[-1]))
                rows.append(f"| {name} | {verdict} | {len(own)} | {sum(gain > 0 for gain in own)} | {figures} |")
        if of_kind:
            always = fmean(line["test"] for line in of_kind)
            followed = fmean(line["test"] if line["verdict"] == "better" else 0.0 for line in of_kind)
            foresight = fmean(max(0.0, line["test"]) for line in of_kind)
            means.append(
                f"{name}: mean gain {always:+.3f} of always taking the winner, {followed:+.3f} of taking it where it "
                f"is better, {foresight:+.3f} with foresight"
            )
    return "\n".join([*rows, "", *means])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="the first seed, which selects the cache size too")
    parser.add_argument("--seeds", type=int, default=7)
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("-o", "--output", type=Path, default=Path("verdicts.jsonl"))
    parser.add_argument("--table", type=Path, help="print the table of this file, and search nothing")
    chosen = parser.parse_args()
    if chosen.table is None:
        with tempfile.TemporaryDirectory() as directory, chosen.output.open("a", encoding="utf-8") as output:
            for line in searches(chosen.first, chosen.seeds, chosen.candidates, Path(directory)):
                print(json.dumps(line), file=output, flush=True)
    with (chosen.table or chosen.output).open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    print(table(lines), guard_table(lines), sep="\n\n")


if __name__ == "__main__":
    main()
