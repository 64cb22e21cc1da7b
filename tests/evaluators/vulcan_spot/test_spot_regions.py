"""Several regions: the kernel and the bound against the plain simulator, on random small cases."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import plain_spot
import pytest
import spot_cases
from effort import ALL, examples
from stateful_programs import stateful_programs

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_spot.simulate import OF_SEVERAL, simulate
from vulcan_spot.windows import Windows
from vulcan_traces.spot import SpotTrace

TASK = find_task("spot_multi")
CASES = 1200 if ALL else 100
PER_TEST = 100


def windows(regions, gap, prices=None):
    columns = [None if prices is None else np.array(p, np.float64) for p in prices or regions]
    traces = [
        (SpotTrace("case", gap, np.array(a, np.uint8), prices=None if prices is None else p),)
        for a, p in zip(regions, columns, strict=True)
    ]
    return Windows.of_regions(traces, [(0, 0, len(regions[0]))], priced=prices is not None)


def run_plainly(policy, regions, case, net="exact", prices=()):
    decide, prefer = plain_spot.policy_runs(policy)
    return plain_spot.run(decide, regions, case.gap, case.job, net, prefer, prices)


def agree(runs, plain):
    assert (runs.spot_ticks[0], runs.on_demand_ticks[0]) == (plain.history.count(1), plain.history.count(2))
    assert (runs.finished[0], runs.moves[0]) == (plain.finished, plain.moves)
    assert (runs.starts[0], runs.preemptions[0]) == (plain.starts, plain.preemptions)
    assert runs.cost[0] == pytest.approx(plain.cost, abs=1e-9)


@pytest.mark.parametrize("first", range(0, CASES, PER_TEST))
def test_policies_agree_with_their_reference_run_in_the_plain_simulator(first):
    for seed in range(first, first + PER_TEST):
        case, regions = spot_cases.regions_case(seed)
        policy = check(spot_cases.regions_policy(seed), TASK)
        net = spot_cases.net(seed)
        runs = simulate(policy, windows(regions, case.gap), case.job, net=net)
        plain = run_plainly(policy, regions, case, net)
        agree(runs, plain)
        assert runs.overruled[0] == plain.overruled


def test_with_prices_by_region_policies_agree_with_their_reference_and_pay_what_each_hour_costs_where_it_ran():
    ended = set()
    for seed in range(PER_TEST):
        case, regions = spot_cases.regions_case(seed)
        prices = spot_cases.prices_of(seed, regions)
        policy = check(spot_cases.regions_policy(seed, priced=True), TASK)
        net = spot_cases.net(seed)
        runs = simulate(policy, windows(regions, case.gap, prices), case.job, net=net)
        plain = run_plainly(policy, regions, case, net, prices)
        agree(runs, plain)
        assert runs.ended_in[0] == plain.region
        ended.add(plain.region)
    assert len(ended) > 2


def test_policies_with_state_agree_with_their_reference_run_in_the_plain_simulator():
    fields = 0
    for seed, policy in enumerate(stateful_programs(TASK, Random(2), examples(90))):
        case, regions = spot_cases.regions_case(seed)
        runs = simulate(policy, windows(regions, case.gap), case.job)
        agree(runs, run_plainly(policy, regions, case))
        fields += any(variable.is_field for variable in policy.program.variables)
    assert fields > 2


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_baselines_agree_with_the_plain_simulator(name):
    for seed in range(CASES):
        case, regions = spot_cases.regions_case(seed)
        net = spot_cases.net(seed)
        runs = simulate(name, windows(regions, case.gap), case.job, net=net)
        agree(runs, plain_spot.run(plain_spot.SEVERAL_BASELINES[name], regions, case.gap, case.job, net))


@pytest.mark.parametrize("name", ["on_demand", "greedy", "uniform_progress", "least_cost"])
def test_one_region_is_the_simulator_of_one_region(name):
    for seed in range(0, CASES, 4):
        case = spot_cases.case(seed)
        traces = [SpotTrace("case", case.gap, np.array(case.available, np.uint8))]
        alone = simulate(name, Windows.of(traces, [(0, 0, len(case.available))]), case.job)
        several = simulate(name, windows([case.available], case.gap), case.job)
        for field in dataclasses.fields(alone):
            if field.name != "overruled" and name != "least_cost":
                assert np.all(getattr(alone, field.name) == getattr(several, field.name)), field.name
        assert several.cost[0] == pytest.approx(alone.cost[0], abs=1e-9)
        assert np.all(several.moves == 0)


@pytest.mark.parametrize(("priced", "cases"), [(False, 40), (True, 20)], ids=["one price", "prices by region"])
def test_the_bound_is_the_best_of_all_sequences_of_decisions(priced, cases):
    compared = 0
    for seed in range(4000):
        case, regions = spot_cases.regions_case(seed, ticks=4)
        if case.job.deadline > 4 * case.gap or not 1 < len(regions) < 4:
            continue
        compared += 1
        net, prices = spot_cases.net(compared), spot_cases.prices_of(seed, regions) if priced else ()
        found = simulate("least_cost", windows(regions, case.gap, prices or None), case.job, net=net)
        least = plain_spot.least_cost(regions, case.gap, case.job, 4, net, prices)
        assert found.cost[0] == pytest.approx(least, abs=1e-9)
        if compared == cases:
            return
    raise AssertionError(f"only {compared} cases are small enough")


def test_no_policy_beats_the_bound_and_more_regions_never_raise_it():
    for seed in range(0, CASES, 4):
        case, regions = spot_cases.regions_case(seed)
        here = windows(regions, case.gap)
        bound = simulate("least_cost", here, case.job).cost[0]
        policy = check(spot_cases.regions_policy(seed), TASK)
        for who in (*OF_SEVERAL, policy):
            assert bound <= simulate(who, here, case.job).cost[0] + 1e-9
        if len(regions) > 2:
            assert bound <= simulate("least_cost", windows(regions[:-1], case.gap), case.job).cost[0] + 1e-9
