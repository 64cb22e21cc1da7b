"""The kernel and the bound against the plain simulator, on random small cases in one region and in several."""

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
from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.simulate import OF_SEVERAL, simulate
from vulcan_spot.windows import Windows
from vulcan_traces.spot import SpotTrace

CASES = 1200 if ALL else 50
PER_TEST = 50


class One:
    """The task of one region: its cases and policies, and the same in the plain simulator."""

    task = find_task("spot_single")
    baselines = plain_spot.BASELINES
    policy = staticmethod(spot_cases.policy)
    tick_by_tick = 7

    @staticmethod
    def case(seed, ticks=30):
        case = spot_cases.case(seed, ticks)
        return case, (case.available,)

    @staticmethod
    def windows(regions, gap, copies=1):
        return spot_cases.windows(regions[0], gap, copies)

    @staticmethod
    def plainly(policy):
        return (plain_spot.policy_decides(policy),)


class Several(One):
    task = find_task("spot_multi")
    baselines = plain_spot.SEVERAL_BASELINES
    policy = staticmethod(spot_cases.regions_policy)
    case = staticmethod(spot_cases.regions_case)
    plainly = staticmethod(plain_spot.policy_runs)
    windows = staticmethod(spot_cases.regions_windows)
    tick_by_tick = 4


in_both = pytest.mark.parametrize("world", [One, Several])


def run_plainly(decides, regions, case, net, prices=()):
    decide, prefer = (*decides, plain_spot.in_turn)[:2]
    return plain_spot.run(decide, regions, case.gap, case.job, net, prefer, prices)


def agree(runs, plain, i=0):
    assert (runs.spot_ticks[i], runs.on_demand_ticks[i]) == (plain.history.count(1), plain.history.count(2))
    assert (runs.finished[i], runs.moves[i]) == (plain.finished, plain.moves)
    assert (runs.starts[i], runs.preemptions[i]) == (plain.starts, plain.preemptions)
    assert runs.cost[i] == pytest.approx(plain.cost, abs=1e-9)


@in_both
@pytest.mark.parametrize("first", range(0, CASES, PER_TEST))
def test_policies_agree_with_their_reference_run_in_the_plain_simulator(world, first):
    for seed in range(first, first + PER_TEST):
        case, regions = world.case(seed)
        policy, net = check(world.policy(seed), world.task), spot_cases.net(seed)
        runs = simulate(policy, world.windows(regions, case.gap), case.job, net=net)
        plain = run_plainly(world.plainly(policy), regions, case, net)
        agree(runs, plain)
        assert runs.overruled[0] == plain.overruled


def test_with_prices_by_region_policies_agree_with_their_reference_and_pay_what_each_hour_costs_where_it_ran():
    ended = set()
    for seed in range(PER_TEST):
        case, regions = Several.case(seed)
        prices, net = spot_cases.prices_of(seed, regions), spot_cases.net(seed)
        policy = check(spot_cases.regions_policy(seed, priced=True), Several.task)
        runs = simulate(policy, Several.windows(regions, case.gap, prices=prices), case.job, net=net)
        plain = run_plainly(Several.plainly(policy), regions, case, net, prices)
        agree(runs, plain)
        assert runs.ended_in[0] == plain.region
        ended.add(plain.region)
    assert len(ended) > 2


@in_both
def test_policies_with_state_agree_with_their_reference_run_in_the_plain_simulator(world):
    fields = 0
    for seed, policy in enumerate(stateful_programs(world.task, Random(2), examples(90))):
        case, regions = world.case(seed)
        net = spot_cases.net(seed)
        runs = simulate(policy, world.windows(regions, case.gap, copies=2), case.job, net=net)
        plain = run_plainly(world.plainly(policy), regions, case, net)
        for i in (0, 1):  # each window has state of its own
            agree(runs, plain, i)
        fields += any(variable.is_field for variable in policy.program.variables)
    assert (fields > 2) == (world is Several)


@pytest.mark.parametrize(("world", "name"), [(world, name) for world in (One, Several) for name in world.baselines])
def test_baselines_agree_with_the_plain_simulator(world, name):
    for seed in range(CASES):
        case, regions = world.case(seed)
        net = spot_cases.net(seed)
        runs = simulate(name, world.windows(regions, case.gap), case.job, net=net)
        plain = run_plainly((world.baselines[name],), regions, case, net)
        agree(runs, plain)
        assert world is Several or runs.overruled[0] == plain.overruled


@pytest.mark.parametrize("name", ["on_demand", "greedy", "uniform_progress", "least_cost"])
def test_one_region_is_the_simulator_of_one_region(name):
    for seed in range(0, CASES, 4):
        case, regions = One.case(seed)
        alone, several = (simulate(name, world.windows(regions, case.gap), case.job) for world in (One, Several))
        for field in dataclasses.fields(alone):
            if field.name != "overruled" and name != "least_cost":
                assert np.all(getattr(alone, field.name) == getattr(several, field.name)), field.name
        assert several.cost[0] == pytest.approx(alone.cost[0], abs=1e-9)
        assert np.all(several.moves == 0)


@pytest.mark.parametrize(
    ("world", "priced", "cases"),
    [(One, False, 60 if ALL else 20), (Several, False, 40), (Several, True, 20)],
    ids=["one region", "one price", "prices by region"],
)
def test_the_bound_is_the_best_of_all_sequences_of_decisions(world, priced, cases):
    compared, ticks = 0, world.tick_by_tick
    for seed in range(4000):
        case, regions = world.case(seed, ticks=ticks)
        if case.job.deadline > ticks * case.gap or (world is Several and not 1 < len(regions) < 4):
            continue
        compared += 1
        net, prices = spot_cases.net(compared), spot_cases.prices_of(seed, regions) if priced else ()
        here = world.windows(regions, case.gap, **({"prices": prices} if priced else {}))
        found = simulate("least_cost", here, case.job, net=net)
        least = plain_spot.least_cost(regions, case.gap, case.job, ticks, net, prices)
        assert found.cost[0] == pytest.approx(least, abs=1e-9)
        if compared == cases:
            return
    raise AssertionError(f"only {compared} cases are small enough")


@in_both
def test_no_policy_beats_the_bound_and_more_regions_never_raise_it(world):
    for seed in range(0, CASES, 3):
        case, regions = world.case(seed)
        here = world.windows(regions, case.gap)
        for net in ("exact",) if world is Several else ("exact", "published"):
            bound = simulate("least_cost", here, case.job, net=net)
            assert np.all(bound.starts <= bound.spot_ticks + bound.on_demand_ticks)
            for who in ("on_demand", "greedy", "uniform_progress", check(world.policy(seed), world.task)):
                assert bound.cost[0] <= simulate(who, here, case.job, net=net).cost[0] + 1e-9
        if world is Several:
            assert all(bound.cost[0] <= simulate(who, here, case.job).cost[0] + 1e-9 for who in OF_SEVERAL)
            fewer = world.windows(regions[:-1] or regions, case.gap)
            assert bound.cost[0] <= simulate("least_cost", fewer, case.job).cost[0] + 1e-9


def test_under_the_exact_safety_net_no_policy_misses_a_deadline():
    for seed in range(CASES):
        case, regions = One.case(seed)
        here = One.windows(regions, case.gap)
        for who in (*One.baselines, "least_cost", check(One.policy(seed), One.task)):
            assert simulate(who, here, case.job).finished[0] <= case.job.deadline


def test_a_price_for_being_late_is_paid_and_part_of_the_bound():
    job = SpotJob(4 * 600, 6 * 600, 600)
    here = One.windows([[1, 1, 0]], 600)
    late = simulate("spot_only", here, job, net="published")
    assert late.finished[0] > job.deadline
    dear = Prices(missed=100.0)
    assert simulate("spot_only", here, job, dear, "published").cost[0] == late.cost[0] + 100
    assert simulate("least_cost", here, job, dear, "published").finished[0] <= job.deadline


def test_windows_are_runs_of_their_own():
    """In one call or in several, in this order or in another."""
    cases = [c for c in map(spot_cases.case, range(200)) if c.gap == 600]
    job, policy = cases[0].job, check(One.policy(7), One.task)
    traces = [SpotTrace("case", 600, np.array(c.available, np.uint8)) for c in cases]
    places = [(i, 0, len(c.available)) for i, c in enumerate(cases)]
    together, back = (simulate(policy, Windows.of(traces, way), job) for way in (places, places[::-1]))
    for i, c in enumerate(cases):
        assert simulate(policy, One.windows([c.available], 600), job).cost[0] == together.cost[i]
    assert list(back.cost[::-1]) == list(together.cost)
