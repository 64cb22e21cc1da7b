"""The public leaderboards of "Can't Be Late": scores and missed deadlines of policies, beside the least cost.

    python -m benchmarks.spot_leaderboard --leaderboard ADRS-Leaderboard

One region: 36 instances (six zones, deadlines of 52 and 70 h, overheads of 0.02, 0.05 and 0.1 h) in 30 windows each, as
the public evaluator takes them, which makes 1,080 runs; and in ten windows, 360 runs. Several regions: six scenarios,
34 runs, with one price of spot for all regions. Beside them what took no part in any search: two zones that the
leaderboard leaves out, nine zones of February 2023, and for several regions zones and VMs of October 2022, months
before the windows of the leaderboard. With a checkout of it, several regions are billed by the prices of its files too:
each hour at its own region's price, and as the public evaluator bills; also at times and in sets of zones that took no
part.
`benchmarks.spot_public` asks the public evaluator itself.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import spot_windows
from benchmarks.harness import BenchmarkTable
from benchmarks.spot import ARCHIVE, DEADLINES, OVERHEADS, ZONES
from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_spot.job import SECONDS, Prices, SpotJob
from vulcan_spot.runs import JobRuns
from vulcan_spot.simulate import BOUND, simulate
from vulcan_spot.simulator import public_score
from vulcan_spot.windows import Windows, load_regions, regular
from vulcan_traces.spot import load_spot

POLICIES = Path(__file__).parent / "policies"
Case = tuple[SpotJob, Windows]


OTHER_ZONES = ("us-west-2a_k80_1", "us-west-2b_v100_8")
KINDS = ("k80_1", "k80_8", "v100_1", "v100_8")
EARLIER = (
    *(tuple(f"us-west-2{zone}_{kind}" for zone in "ab") for kind in KINDS),
    tuple(f"us-west-2{zone}_{kind}" for kind in ("k80_8", "v100_1") for zone in "ab"),
    tuple(f"us-west-2{zone}_{kind}" for zone in "ab" for kind in KINDS),
)
"""Sets of regions of October 2022: both zones with each kind of VM, then four and all eight of these."""


def one_region(windows: int, zones: Sequence[str] = ZONES) -> list[Case]:
    """Return each zone with each deadline and overhead, in so many windows."""
    found = []
    for overhead in OVERHEADS:
        for zone in zones:
            folder = f"real/ddl=search+task=48+overhead={overhead:.2f}/real/{zone}/traces/random_start"
            traces = load_spot(f"{ARCHIVE}:{folder}")
            chosen = [traces[i] for i in regular(0, len(traces) - 1, windows)]
            cut = Windows.of(chosen, [(i, 0, trace.ticks) for i, trace in enumerate(chosen)])
            found += [(SpotJob.of_hours(48, deadline, overhead), cut) for deadline in DEADLINES]
    return found


def other_months() -> list[Case]:
    """Return each zone of February 2023 by itself, with each deadline and overhead, in 30 windows of 90 hours."""
    found = []
    for file in sorted((spot_windows.TRACES / spot_windows.PUBLIC).glob("*.json")):
        (trace,) = load_regions(str(file), None, 1)[0]
        needed = -(-90 * 3600 // trace.gap)
        cut = Windows.of([trace], [(0, begin, trace.ticks) for begin in regular(0, trace.ticks - needed, 30)])
        found += [(SpotJob.of_hours(48, deadline, over), cut) for over in OVERHEADS for deadline in DEADLINES]
    return found


def several_regions(leaderboard: Path | None = None) -> list[Case]:
    """Return the six scenarios, with the prices of each region where there is a checkout of the leaderboard."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        spot_windows.write(Path(name), leaderboard)
        for scenario, (count, _) in spot_windows.SCENARIOS.items():
            regions = load_regions(spot_windows.setting(Path(name), scenario), None, 1)
            places = [(i, 0, spot_windows.TICKS) for i in range(count)]
            windows = Windows.of_regions(regions, places, priced=leaderboard is not None)
            found.append((SpotJob.of_hours(48, 52, 0.2), windows))
    return found


def other_regions(leaderboard: Path) -> list[Case]:
    """Return sets of zones and times, with prices, that are none of the leaderboard's."""
    found = []
    for regions in spot_windows.other_regions(leaderboard):
        places = [(i, 0, spot_windows.TICKS) for i in range(len(spot_windows.OTHER_WINDOWS))]
        found.append((SpotJob.of_hours(48, 52, 0.2), Windows.of_regions(regions, places, priced=True)))
    return found


def earlier_regions() -> list[Case]:
    """Return the sets of `EARLIER`, with 30 windows of each."""
    found = []
    for zones in EARLIER:
        files = (str(spot_windows.TRACES / spot_windows.EARLIER / f"{zone}.json") for zone in zones)
        regions = load_regions("::".join(files), None, 1)
        ticks = min(traces[0].ticks for traces in regions)
        needed = -(-60 * 3600 // regions[0][0].gap)
        places = [(0, begin, ticks) for begin in regular(0, ticks - needed, 30)]
        found.append((SpotJob.of_hours(48, 52, 0.2), Windows.of_regions(regions, places)))
    return found


def measure(who: Policy | str, cases: Iterable[Case]) -> tuple[float, int]:
    """Return the leaderboard's score, and how many runs miss their deadline, under its own safety net."""
    scores, missed = [], 0
    for job, windows in cases:
        runs = simulate(who, windows, job, net="exact" if who == BOUND else "published")
        scores.append(public_score(float(runs.cost.mean()), job, Prices()))
        missed += int((runs.finished > job.deadline).sum())
    return float(np.mean(scores)), missed


def bills(who: Policy | str, cases: Iterable[Case]) -> tuple[float, float, int]:
    """Return the scores by each hour's own price and by the public evaluator's bill, and how many runs are late."""
    own, public, missed = [], [], 0
    for job, windows in cases:
        runs = simulate(who, windows, job, net="published")
        bill = least_bill(windows, job, Prices()) if who == BOUND else public_bill(runs, windows, Prices())
        own.append(public_score(float(runs.cost.mean()), job, Prices()))
        public.append(public_score(float(bill.mean()), job, Prices()))
        missed += int((runs.finished > job.deadline).sum())
    return float(np.mean(own)), float(np.mean(public)), missed


def public_bill(runs: JobRuns, windows: Windows, prices: Prices) -> NDArray[np.float64]:
    """Dollars of each run as the public evaluator for several regions bills: all its hours on spot at one price.

    That is the price, at the window's begin, of the region where the job is when it is done.
    """
    assert windows.prices is not None
    assert runs.ended_in is not None
    spot = windows.prices[runs.ended_in, windows.begins]
    return np.asarray((runs.spot_ticks * spot + runs.on_demand_ticks * prices.on_demand) * windows.gap / SECONDS)


def least_bill(windows: Windows, job: SpotJob, prices: Prices) -> NDArray[np.float64]:
    """Dollars of each run that no policy can get below as `public_bill` counts: all of it at the lowest price."""
    least = []
    for begin, end in zip(windows.begins, windows.ends, strict=True):
        one = replace(windows, begins=np.array([begin]), ends=np.array([end]))
        assert one.prices is not None
        lowest = np.full_like(one.prices, one.prices[:, one.begins[0]].min())
        runs = simulate(BOUND, replace(one, prices=lowest), job, prices, "published")
        least.append(runs.cost[0] - prices.missed * (runs.finished[0] > job.deadline))
    return np.array(least)


def table_of_bills(sets: dict[str, list[Case]]) -> BenchmarkTable:
    """Return the table of `bills`, best under the public bill of the first set first."""
    found = [(name, [bills(who, cases) for cases in sets.values()]) for name, who in policies_of("spot_multi").items()]
    found.sort(key=lambda row: -row[1][0][1])
    rows = [
        (name, *(cell for own, bill, late in each for cell in (f"{own:.2f}", f"{bill:.2f}", str(late))))
        for name, each in found
    ]
    heads = [f"{name}: {what}" for name in sets for what in ("own prices", "public bill", "missed")]
    return BenchmarkTable("spot_multi, billed by the region", ("policy", *heads), tuple(rows))


def policies_of(task: str) -> dict[str, Policy | str]:
    """Return the task's policies, those of this directory for it, and the least cost."""
    declared = find_task(task)
    seeds = declared.seed_policies()
    found: dict[str, Policy | str] = {name: check(text, declared) for name, text in seeds.items()}
    own = ("spot_levi", "spot_reserve", "spot_surplus") if task == "spot_single" else ("spot_looks", "spot_prices")
    for name in own:
        found[name] = check((POLICIES / f"{name}.py").read_text(encoding="utf-8"), declared)
    return {**found, "least_cost": "least_cost"}


def table(task: str, sets: dict[str, list[Case]]) -> BenchmarkTable:
    """Return the scores and misses of every policy under the published safety net.

    The least cost is that of the first set.
    """
    first, *others = sets.values()
    policies = policies_of(task)
    scored = {name: measure(who, first) for name, who in policies.items()}
    rows = []
    for name in sorted(scored, key=lambda name: -scored[name][0]):
        found = [scored[name], *(None if name == BOUND else measure(policies[name], cases) for cases in others)]
        rows.append((name, *(cell for c in found for cell in ((f"{c[0]:.2f}", str(c[1])) if c else ("", "")))))
    heads = [f"{name}, {what}" for name in sets for what in ("score", "missed")]
    return BenchmarkTable(task, ("policy", *heads), tuple(rows))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaderboard", type=Path, help="a checkout of github.com/UCB-ADRS/ADRS-Leaderboard")
    leaderboard = parser.parse_args(arguments).leaderboard
    found = []
    if ARCHIVE.is_file():
        sets = {
            "1,080 runs": one_region(30),
            "360 runs": one_region(10),
            "other zones": one_region(30, OTHER_ZONES),
            "February 2023": other_months() if spot_windows.TRACES.is_dir() else [],
        }
        found.append(table("spot_single", sets))
    if spot_windows.TRACES.is_dir():
        found.append(table("spot_multi", {"34 runs": several_regions(), "October 2022": earlier_regions()}))
        if leaderboard is not None:
            sets = {"34 runs": several_regions(leaderboard), "other zones and times": other_regions(leaderboard)}
            found.append(table_of_bills(sets))
    for each in found:
        print("\n".join([*each.lines(), ""]))


if __name__ == "__main__":
    main()
