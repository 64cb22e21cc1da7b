"""Spot VMs: the arithmetic of the public evaluator over 360 runs, and how many runs per second the simulator makes.

The runs are those of overheads 0.02, 0.05 and 0.1 h, six zones, ten windows of each and deadlines of 52 and 70 h. Known
are the mean costs that the public evaluator gives for them. The ten windows are every 30th of a zone's 300 in the
alphabetical order of their names; the first ten in any order give other means.

Speed is runs per second of processor time on one core, for a policy compiled from its source (Uniform Progress),
for one with statistics, and for the same baseline as code of the simulator. A run is one job in one window, about 350
ticks.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.harness import DATA, BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, medians, run_suite
from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_spot.job import SpotJob
from vulcan_spot.simulate import BOUND, simulate
from vulcan_spot.windows import Windows
from vulcan_traces.spot import load_spot

ARCHIVE = DATA / "spot" / "adrs" / "cant_be_late_real_traces.tar.gz"
ZONES = (
    "us-west-2a_k80_8", "us-west-2b_k80_1", "us-west-2b_k80_8", "us-west-2a_v100_1", "us-west-2a_v100_8",
    "us-west-2b_v100_1",
)  # fmt: skip
OVERHEADS = (0.02, 0.05, 0.1)
DEADLINES = (52, 70)
EVERY = 30

PUBLIC = {
    "on_demand": (147.39, 147.39, 147.39),
    "greedy": (118.11, 131.27, 104.94),
    "spot_only": (118.01, 131.11, 104.92),
    "uniform_progress": (102.52, 114.54, 90.50),
}
"""Mean dollars of all runs, of those due after 52 h and of those due after 70 h, under the public evaluator."""

WANTED = 20_000
"""Runs a second on one core."""

TASK = find_task("spot_single")
WITH_STATISTICS = """
def decide(job, spot, vm):
    likely = spot.available.ewma(0.05) + spot.available.window_avg(36)
    if spot.available:
        return 1
    return 2 if job.slack_s < likely * job.work_left_s / 10 else 0
"""


def all_runs() -> list[tuple[int, SpotJob, Windows]]:
    """Ten runs each: the deadline in hours, the job and its windows."""
    found = []
    for overhead in OVERHEADS:
        for zone in ZONES:
            folder = f"real/ddl=search+task=48+overhead={overhead:.2f}/real/{zone}/traces/random_start"
            traces = load_spot(f"{ARCHIVE}:{folder}")[::EVERY]
            windows = Windows.of(traces, [(i, 0, trace.ticks) for i, trace in enumerate(traces)])
            found += [(deadline, SpotJob.of_hours(48, deadline, overhead), windows) for deadline in DEADLINES]
    return found


def means(runs: list[tuple[int, SpotJob, Windows]], who: str) -> tuple[float, ...]:
    """Of all, and of each deadline."""
    costs = {
        deadline: np.array([simulate(who, w, job, net="published").cost for d, job, w in runs if d == deadline])
        for deadline in DEADLINES
    }
    return (float(np.mean(list(costs.values()))), *(float(costs[deadline].mean()) for deadline in DEADLINES))


def measure(quick: bool) -> BenchmarkResult:
    if not ARCHIVE.is_file():
        raise NotMeasurable(f"no public windows at {ARCHIVE}; set VULCAN_DATA to where they lie")
    runs = all_runs()
    count = sum(len(windows.begins) for _, _, windows in runs)
    rows, goals = [], []
    for who, known in PUBLIC.items():
        found = means(runs, who)
        rows.append((who, *("  ".join(f"{value:.2f}" for value in values) for values in (found, known))))
        off = max(abs(round(a, 2) - b) for a, b in zip(found, known, strict=True))
        goals.append(Goal(f"{who}: off by, in dollars", off, 0.005, at_least=False))
    rows.append((BOUND, "  ".join(f"{value:.2f}" for value in means(runs, BOUND)), ""))

    policy, with_statistics = (check(s, TASK) for s in (TASK.seed_policies()["uniform_progress"], WITH_STATISTICS))

    def every(who: Policy | str) -> None:
        for _, job, windows in runs:
            simulate(who, windows, job, net="published")

    contestants: dict[str, Policy | str] = {"policy": policy, "policy with statistics": with_statistics}
    contestants["baseline"] = "uniform_progress"
    took = medians({name: partial(every, who) for name, who in contestants.items()}, 5 if quick else 30)
    goals.append(Goal("runs per second of a policy", count / took["policy"], WANTED, in_quick=False))
    columns = ("policy", "here", "public evaluator")
    speeds = tuple((name, f"{count / seconds:,.0f}") for name, seconds in took.items())
    tables = (
        BenchmarkTable(f"Mean dollars over {count} runs, and by deadline", columns, tuple(rows)),
        BenchmarkTable("Speed", ("policy", "runs per second"), speeds),
    )
    return BenchmarkResult(tables, tuple(goals))


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
