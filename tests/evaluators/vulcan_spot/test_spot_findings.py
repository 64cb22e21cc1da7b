"""What the spot evaluators say of a policy is what a count in plain Python finds, and adds up to the dollars."""

from __future__ import annotations

from typing import Any

import numpy as np
import plain_spot
import pytest
import spot_cases
from plain_spot import NONE, ON_DEMAND, SPOT

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.simulator.account import Account
from vulcan_spot.account import CAUSES, account
from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.runs import JobRuns
from vulcan_spot.simulate import simulate
from vulcan_spot.windows import Windows
from vulcan_spot.workload import describe, hazards
from vulcan_traces.spot import SpotTrace

PRICES = Prices(missed=7.0)
CASES = 60
POLICIES = 12
RESTLESS = [
    f"def decide(job, spot, vm):\n    return {result}\n"
    for result in ("0 if vm.running_s > 2 * job.gap_s else spot.available", "1 + (vm.running_s > job.gap_s)")
]


def plain_spending(log: list[tuple[Any, ...]], run: Any, gap: int, job: SpotJob) -> tuple[list[float], list[int]]:
    """Dollars by cause, and seconds waited, from what a run saw at each tick and what ran in it, second by second."""
    price = {NONE: 0.0, SPOT: PRICES.spot / 3600, ON_DEMAND: PRICES.on_demand / 3600}
    causes = dict.fromkeys(CAUSES, 0.0)
    waited = {"with spot": 0, "without": 0, "moving": 0}
    left, work_left, previous, ended, why = 0, job.duration, NONE, "", ""
    for tick, (available, moved) in enumerate(log):
        ran = run.history[tick]
        held = NONE if previous == SPOT and not available else previous
        needed = -(-(work_left + job.overhead) // gap)
        forced = needed >= (job.deadline - tick * gap) // gap
        if previous != NONE and held == NONE:
            ended = "restart after a preemption"
        if held != NONE and ran == NONE:
            ended = "restart after a move" if moved else "restart after the policy stopped the VM"
        if ran not in (NONE, held):
            left = job.overhead
            first = not any(run.history[:tick])
            why = "start-up of the first VM" if first else ended if held == NONE else "restart by change of VM"
        if ran == NONE:
            waited["moving" if moved else "with spot" if available else "without"] += gap
        for _ in range(gap if ran != NONE else 0):
            if left:
                left -= 1
                causes[why] += price[ran]
            elif not work_left:
                causes["paid after the job was done"] += price[ran]
            else:
                work_left -= 1
                causes["the work itself, at the price of spot"] += price[SPOT]
                if ran == ON_DEMAND:
                    causes[
                        "on demand, forced by the deadline"
                        if forced
                        else "on demand, though spot was available"
                        if available
                        else "on demand, spot out, before the deadline forced it"
                    ] += price[ON_DEMAND] - price[SPOT]
        previous = ran
    causes["missed deadline"] = PRICES.missed * (run.finished > job.deadline)
    return list(causes.values()), list(waited.values())


def accounted(run: Any, who: Any, windows: Windows, job: SpotJob, net: Any) -> tuple[JobRuns, Any, Account]:
    from vulcan_spot.kernels.engine import USES

    seconds = np.zeros((len(windows.begins), USES), np.int64)
    runs = run(who, windows, job, PRICES, net, seconds)
    return runs, seconds[0], account("the policy", runs, seconds, windows, job, PRICES)


def agrees(found: tuple[JobRuns, Any, Account], plain: tuple[list[float], list[int]]) -> None:
    from vulcan_spot.kernels import engine as k

    runs, seconds, divided = found
    causes, waited = plain
    assert [part[0] for part in divided.parts.values()] == pytest.approx(causes, abs=1e-9)
    assert divided.total == pytest.approx(runs.cost, abs=1e-9)
    assert [seconds[use] for use in (k.WAITED_WITH_SPOT, k.WAITED, k.MOVING)] == waited


def with_log(decide: Any, prefer: Any = None) -> tuple[Any, Any, list[tuple[Any, ...]]]:
    log: list[tuple[Any, ...]] = []

    def logged(r: Any) -> int:
        log.append((r.has_spot, False))
        return int(decide(r))

    def moved(r: Any) -> int:
        log[-1] = (log[-1][0], True)
        return int(prefer(r))

    return logged, moved, log


def test_dollars_of_policies_and_baselines_are_divided_as_a_slow_count_does() -> None:
    task, reached = find_task("spot_single"), np.zeros(len(CAUSES), bool)
    policies = [check(text, task) for text in (*RESTLESS, *map(spot_cases.policy, range(POLICIES)))]
    cases = [(spot_cases.case(seed, ticks=20), spot_cases.net(seed)) for seed in range(CASES)]
    rested = spot_cases.Case(SpotJob(5 * 600, 30 * 600, 100), 600, (1,) * 30)
    late = spot_cases.Case(SpotJob(4 * 600, 6 * 600, 600), 600, (1, 1, 0))
    for seed, (case, net) in enumerate([(rested, "exact"), (rested, "exact"), (late, "published"), *cases]):
        policy, name = (
            policies[seed % len(policies)],
            ("spot_only", "greedy", "spot_only", "uniform_progress")[seed % 4],
        )
        for who, decides in ((policy, plain_spot.policy_decides(policy)), (name, plain_spot.BASELINES[name])):
            found = accounted(simulate, who, spot_cases.windows(case.available, case.gap), case.job, net)
            decide, _, log = with_log(decides)
            plain = plain_spot.run(decide, [case.available], case.gap, case.job, net)
            agrees(found, plain_spending(log, plain, case.gap, case.job))
            reached |= np.array([part[0] > 0 for part in found[2].parts.values()])
    assert [CAUSES[n] for n in np.flatnonzero(~reached)] == ["restart after a move", CAUSES[-1]]


def test_dollars_over_several_regions_are_divided_as_a_slow_count_does() -> None:
    task, moved = find_task("spot_multi"), 0.0
    policies = [check(spot_cases.regions_policy(seed), task) for seed in range(POLICIES)]
    for seed in range(CASES):
        case, regions = spot_cases.regions_case(seed, ticks=20)
        net = spot_cases.net(seed)
        policy, name = policies[seed % POLICIES], list(plain_spot.SEVERAL_BASELINES)[seed % 5]
        baseline = (plain_spot.SEVERAL_BASELINES[name], plain_spot.in_turn)
        for who, (decides, prefers) in ((policy, plain_spot.policy_runs(policy)), (name, baseline)):
            found = accounted(simulate, who, spot_cases.regions_windows(regions, case.gap), case.job, net)
            decide, prefer, log = with_log(decides, prefers)
            plain = plain_spot.run(decide, regions, case.gap, case.job, net, prefer)
            agrees(found, plain_spending(log, plain, case.gap, case.job))
            moved += found[2].parts["restart after a move"][0]
    assert moved > 0


def test_dollars_with_prices_by_region_add_up_and_the_difference_of_prices_is_a_cause_of_its_own() -> None:
    task = find_task("spot_multi")
    job, gap = SpotJob(4 * 3600, 8 * 3600, 600), 600
    traces = [
        [SpotTrace(str(n), gap, np.ones(60, np.uint8), prices=np.full(60, price))] for n, price in enumerate((1.5, 0.5))
    ]
    here = Windows.of_regions(traces, [(0, 0, 60)], priced=True)
    moves = "def decide(job, spot, vm, regions):\n    return 0 if job.elapsed_s == 7200 else 1\n\n\n"
    policy = check(moves + "def prefer(job, regions, region):\n    return 1\n", task)
    runs, _, found = accounted(simulate, policy, here, job, "exact")
    # two hours at 1.50, one tick to move, then 2 h of work and two starts at 0.50
    assert [found.total[0], runs.cost[0]] == pytest.approx(2 * [2 * 1.5 + (2 + 2 / 6) * 0.5])
    assert found.groups[1].classes.tolist() == [1]  # the region at the end
    nominal = (2 * 3600 + (2 + 2 / 6) * 3600) / 3600 * PRICES.spot
    assert found.parts[CAUSES[-1]] == pytest.approx(runs.cost - nominal)
    assert simulate("least_cost", here, job, PRICES, "exact").cost[0] == pytest.approx((4 + 1 / 6) * 0.5)
    assert "$1.50 in region 0, $0.50 in region 1" in describe(here, job, PRICES)[0].text


def test_hazards_are_what_a_slow_count_finds() -> None:
    draws = np.random.RandomState(7)
    runs = [np.repeat(draws.rand(90) < 0.5, draws.geometric(0.1, 90))[:400] for _ in range(4)]
    traces = [SpotTrace(str(n), 900, run.astype(np.uint8)) for n, run in enumerate(runs)]
    job = SpotJob(20 * 3600, 90 * 3600, 600)  # 360 ticks
    counts: dict[tuple[str, str], list[list[bool]]] = {}
    for n, run in enumerate(runs):
        for at in range(356):
            since = next((back for back in range(1, at + 1) if run[at - back] != run[at]), at + 1) / 4
            name = "there, and goes" if run[at] else "out, and is back"
            age = next((f"up to {edge} h" for edge in (1, 4, 12) if since <= edge), "over 12 h")
            changes = any(run[at + ahead] != run[at] for ahead in range(1, 5))
            counts.setdefault((name, age), [[], []])[n // 2].append(changes)
    [table] = hazards(Windows.of(traces, [(n, 0, 400) for n in range(4)]), job)
    found = {(name, age): shares for name, age, *shares in table.rows}
    assert len(found) > 5
    assert found == {
        key: [round(100 * float(np.mean(half)), 1) for half in halves] for key, halves in counts.items() if all(halves)
    }
    assert table.title == "Chance of a change within 1 h"
