"""The public leaderboards of "Can't Be Late": scores and missed deadlines of policies, beside the least cost.

    python -m benchmarks.spot_leaderboard

One region: 36 instances (six zones, deadlines of 52 and 70 h, overheads of 0.02, 0.05 and 0.1 h) in 30 windows each, as
the public evaluator takes them, which makes 1,080 runs; and in ten windows, 360 runs. Several regions: six scenarios,
34 runs, with one price of spot for all regions. `benchmarks.spot_public` asks the public evaluator itself.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import spot_windows
from benchmarks.spot import ARCHIVE, DEADLINES, OVERHEADS, ZONES
from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_spot import SpotJob, Windows, simulate
from vulcan_spot.evaluator import load_regions, public_score
from vulcan_spot.job import Prices
from vulcan_spot.runs import JobRuns
from vulcan_spot.simulate import simulate_regions
from vulcan_spot.windows import regular
from vulcan_traces.spot import load_spot

POLICIES = Path(__file__).parent / "policies"
Case = tuple[SpotJob, Windows]


def one_region(windows: int) -> list[Case]:
    """Return the 36 instances, with so many windows of each zone."""
    found = []
    for overhead in OVERHEADS:
        for zone in ZONES:
            folder = f"real/ddl=search+task=48+overhead={overhead:.2f}/real/{zone}/traces/random_start"
            traces = load_spot(f"{ARCHIVE}:{folder}")
            chosen = [traces[i] for i in regular(0, len(traces) - 1, windows)]
            cut = Windows.of(chosen, [(i, 0, trace.ticks) for i, trace in enumerate(chosen)])
            found += [(SpotJob.of_hours(48, deadline, overhead), cut) for deadline in DEADLINES]
    return found


def several_regions() -> list[Case]:
    """Return the six scenarios."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        spot_windows.write(Path(name))
        for scenario, (count, _) in spot_windows.SCENARIOS.items():
            regions = load_regions(spot_windows.setting(Path(name), scenario), None, 1)
            places = [(i, 0, spot_windows.TICKS) for i in range(count)]
            found.append((SpotJob.of_hours(48, 52, 0.2), Windows.of_regions(regions, places)))
    return found


def measure(runs_of: Callable[[SpotJob, Windows], JobRuns], cases: Iterable[Case]) -> tuple[float, int]:
    """Return the leaderboard's score, and how many runs miss their deadline."""
    scores, missed = [], 0
    for job, windows in cases:
        runs = runs_of(job, windows)
        scores.append(public_score(float(runs.cost.mean()), job, Prices()))
        missed += int((runs.finished > job.deadline).sum())
    return float(np.mean(scores)), missed


def policies_of(task: str) -> dict[str, Policy | str]:
    """Return the task's policies, those of this directory for it, and the least cost."""
    declared = find_task(task)
    found: dict[str, Policy | str] = {name: check(text, declared) for name, text in declared.seed_policies().items()}
    own = ("spot_levi", "spot_reserve") if task == "spot_single" else ("spot_looks",)
    for name in own:
        found[name] = check((POLICIES / f"{name}.py").read_text(encoding="utf-8"), declared)
    return {**found, "least_cost": "least_cost"}


def table(task: str, sets: dict[str, list[Case]]) -> list[str]:
    """Return the lines of a Markdown table: score and misses of every policy under the published safety net."""
    run = simulate if task == "spot_single" else simulate_regions
    rows = []
    for name, who in policies_of(task).items():
        net = "exact" if who == "least_cost" else "published"
        rows.append(
            (name, [measure(lambda job, w, who=who, net=net: run(who, w, job, net=net), c) for c in sets.values()])
        )
    rows.sort(key=lambda row: -row[1][0][0])
    head = [f"{name}, score | missed" for name in sets]
    lines = [f"| policy | {' | '.join(head)} |", "|---" * (1 + 2 * len(sets)) + "|"]
    return [*lines, *(f"| {n} | {' | '.join(f'{s:.2f} | {m}' for s, m in cells)} |" for n, cells in rows)]


def main(arguments: Sequence[str] | None = None) -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(
        arguments
    )
    if ARCHIVE.is_file():
        print("\n".join(table("spot_single", {"1,080 runs": one_region(30), "360 runs": one_region(10)})), "\n")
    if spot_windows.TRACES.is_dir():
        print("\n".join(table("spot_multi", {"34 runs": several_regions()})))


if __name__ == "__main__":
    main()
