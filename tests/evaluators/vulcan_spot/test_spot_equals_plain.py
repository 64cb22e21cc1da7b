"""The kernel and the bound against the plain simulator, on random small cases."""

from __future__ import annotations

from random import Random

import numpy as np
import plain_spot
import pytest
import spot_cases
from effort import ALL, examples
from stateful_programs import stateful_programs

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.simulate import simulate
from vulcan_spot.windows import Windows
from vulcan_traces.spot import SpotTrace

TASK = find_task("spot_single")
CASES = 1200 if ALL else 100
PER_TEST = 100


def windows(*availability, gap):
    traces = [SpotTrace("case", gap, np.array(a, np.uint8)) for a in availability]
    return Windows.of(traces, [(i, 0, len(a)) for i, a in enumerate(availability)])


def agree(runs, i, plain):
    counts = {kind: plain.history.count(kind) for kind in (1, 2)}
    assert (runs.spot_ticks[i], runs.on_demand_ticks[i]) == (counts[1], counts[2])
    assert runs.finished[i] == plain.finished
    assert (runs.starts[i], runs.preemptions[i], runs.overruled[i]) == (
        plain.starts, plain.preemptions, plain.overruled,
    )  # fmt: skip
    assert runs.cost[i] == pytest.approx(plain.cost, abs=1e-9)


@pytest.mark.parametrize("first", range(0, CASES, PER_TEST))
def test_policies_agree_with_their_reference_run_in_the_plain_simulator(first):
    for seed in range(first, first + PER_TEST):
        case = spot_cases.case(seed)
        policy = check(spot_cases.policy(seed), TASK)
        net = spot_cases.net(seed)
        runs = simulate(policy, windows(case.available, gap=case.gap), case.job, net=net)
        agree(runs, 0, plain_spot.run(plain_spot.policy_decides(policy), [case.available], case.gap, case.job, net))


def test_policies_with_state_agree_with_their_reference_run_in_the_plain_simulator():
    for seed, policy in enumerate(stateful_programs(TASK, Random(1), examples(90))):
        case = spot_cases.case(seed)
        net = spot_cases.net(seed)
        runs = simulate(policy, windows(case.available, case.available, gap=case.gap), case.job, net=net)
        plain = plain_spot.run(plain_spot.policy_decides(policy), [case.available], case.gap, case.job, net)
        for i in (0, 1):  # each window has state of its own
            agree(runs, i, plain)


@pytest.mark.parametrize("name", list(plain_spot.BASELINES))
def test_baselines_agree_with_the_plain_simulator(name):
    for seed in range(CASES):
        case = spot_cases.case(seed)
        net = spot_cases.net(seed)
        runs = simulate(name, windows(case.available, gap=case.gap), case.job, net=net)
        agree(runs, 0, plain_spot.run(plain_spot.BASELINES[name], [case.available], case.gap, case.job, net))


def test_the_bound_is_the_best_of_all_sequences_of_decisions():
    compared = 0
    for seed in range(4000):
        case = spot_cases.case(seed, ticks=7)
        if case.job.deadline > 7 * case.gap:
            continue
        compared += 1
        net = spot_cases.net(compared)
        found = simulate("least_cost", windows(case.available, gap=case.gap), case.job, net=net)
        least = plain_spot.least_cost([case.available], case.gap, case.job, 7, net)
        assert found.cost[0] == pytest.approx(least, abs=1e-9)
        if compared == (60 if ALL else 20):
            return
    raise AssertionError(f"only {compared} cases are small enough")


def test_no_policy_beats_the_bound():
    for seed in range(0, CASES, 3):
        case = spot_cases.case(seed)
        here = windows(case.available, gap=case.gap)
        net = spot_cases.net(seed)
        bound = simulate("least_cost", here, case.job, net=net)
        assert np.all(bound.starts <= bound.spot_ticks + bound.on_demand_ticks)
        for who in ("greedy", "uniform_progress", "on_demand", check(spot_cases.policy(seed), TASK)):
            assert bound.cost[0] <= simulate(who, here, case.job, net=net).cost[0] + 1e-9


def test_under_the_exact_safety_net_no_policy_misses_a_deadline():
    for seed in range(CASES):
        case = spot_cases.case(seed)
        here = windows(case.available, gap=case.gap)
        for who in (*plain_spot.BASELINES, "least_cost", check(spot_cases.policy(seed), TASK)):
            assert simulate(who, here, case.job).finished[0] <= case.job.deadline


def test_a_price_for_being_late_is_paid_and_part_of_the_bound():
    job = SpotJob(4 * 600, 6 * 600, 600)
    here = windows([1, 1, 0], gap=600)
    late = simulate("spot_only", here, job, net="published")
    assert late.finished[0] > job.deadline
    dear = Prices(missed=100.0)
    assert simulate("spot_only", here, job, dear, "published").cost[0] == late.cost[0] + 100
    assert simulate("least_cost", here, job, dear, "published").finished[0] <= job.deadline


def test_windows_are_runs_of_their_own():
    """In one call or in several, in this order or in another."""
    cases = [c for c in map(spot_cases.case, range(200)) if c.gap == 600]
    job = cases[0].job
    policy = check(spot_cases.policy(7), TASK)
    together = simulate(policy, windows(*(c.available for c in cases), gap=600), job)
    for i, c in enumerate(cases):
        assert simulate(policy, windows(c.available, gap=600), job).cost[0] == together.cost[i]
    back = simulate(policy, windows(*(c.available for c in reversed(cases)), gap=600), job)
    assert list(back.cost[::-1]) == list(together.cost)
