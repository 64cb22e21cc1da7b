"""The evaluator of several regions."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from benchmarks.spot_leaderboard import least_bill, public_bill
from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.searches.prompts import Prompts
from vulcan.searches.strategies import Draft
from vulcan.task import Split
from vulcan_spot.job import Prices, SpotJob
from vulcan_spot.simulate import simulate
from vulcan_spot.simulator import RegionsSimulator
from vulcan_spot.windows import Windows, load_regions, places_of
from vulcan_traces.spot import EMBEDDED_REGIONS

TASK = find_task("spot_multi")
BY_TIME = Split(0.6, 0.2, 0.2)
PAIR = "markov:hours=1000,seed=4,name=here::markov:hours=1000,seed=5,up=6,name=there"


def few(**given):
    return complete_settings(TASK, {"trace": [PAIR], "deadline": [52.0], "windows": 10, **given})


def seed(name):
    return check(TASK.seed_policies()[name], TASK)


def test_without_a_trace_generated_regions_belong_to_one_split_each(evaluator):
    found = evaluator.instances(complete_settings(TASK, {}), BY_TIME)
    assert [i.split for i in found] == [part for part, sets in EMBEDDED_REGIONS.items() for _ in range(2 * len(sets))]
    assert [i.parameters["regions"] for i in found if i.split == "test"][::2] == [2, 2, 3, 5, 3, 9]


def test_its_numbers_are_the_simulators(evaluator):
    instances = evaluator.instances(few(), BY_TIME)
    evaluator.prepare(instances)
    assert [(i.name, i.split, len(i.parameters["windows"])) for i in instances] == [
        ("here+there@52h+0.2h", "train", 6),
        ("here+there@52h+0.2h", "validation", 2),
        ("here+there@52h+0.2h", "test", 2),
    ]
    regions = load_regions(PAIR, None, 1)
    windows = Windows.of_regions(regions, places_of(regions[0], 52 * 3600, 6, 0, 0.6, PAIR))
    for who in ("greedy_round_robin", "uniform_progress_round_robin"):
        runs = simulate(who, windows, SpotJob.of_hours(48, 52, 0.2))
        policy, baseline = evaluator.evaluate(seed(who), instances[0]), evaluator.evaluate_baseline(who, instances[0])
        assert policy["mean_cost"] == baseline["mean_cost"] == runs.cost.mean()
        assert policy["moves"] == baseline["moves"] == runs.moves.mean() > 1
    found = {name: evaluator.evaluate_baseline(name, instances[0]) for name in evaluator.baselines()}
    assert min(found, key=lambda name: found[name]["mean_cost"]) == "least_cost"
    references = {"greedy_round_robin": found["greedy_round_robin"]}
    savings = TASK.objective("savings").score(found["greedy"], references)
    assert savings == found["greedy_round_robin"]["mean_cost"] - found["greedy"]["mean_cost"]


def test_where_it_moves_to_is_part_of_a_digest(evaluator):
    evaluator.prepare(evaluator.instances(few(trace=[f"{PAIR}::markov:hours=1000,seed=6"]), BY_TIME))
    text = "def decide(job, spot, vm, regions):\n    return spot.available\n\n\n"
    text += "def prefer(job, regions, region):\n    return "
    oldest, same, first = (check(text + number + "\n", TASK) for number in ("region.age_s", "2 * region.age_s", "1"))
    assert evaluator.decisions(oldest) == evaluator.decisions(same) != evaluator.decisions(first)


def test_a_directory_is_a_set_of_regions_and_windows_of_regions_go_together(evaluator, tmp_path):
    for region, share in (("a", 0), ("b", 1)):
        for window in range(3):
            place = tmp_path / region / f"{window}.json"
            os.makedirs(place.parent, exist_ok=True)
            place.write_text(json.dumps({"metadata": {"gap_seconds": 600}, "data": [share] * (10 + window)}))
    regions = load_regions(str(tmp_path / "a"), None, 1)
    assert [len(traces) for traces in regions] == [1, 1, 1]
    regions = load_regions(f"{tmp_path}/a :: {tmp_path}/b", None, 1)
    assert [[trace.ticks for trace in traces] for traces in regions] == [[10, 11, 12], [10, 11, 12]]
    windows = Windows.of_regions(regions, [(1, 0, 11), (2, 2, 12)])
    assert isinstance(evaluator, RegionsSimulator)
    assert evaluator.label(f"{tmp_path}/a :: {tmp_path}/b", regions) == "a+b"
    assert evaluator.label(f"{tmp_path}/a :: {tmp_path}/b", regions, 1) == f"{tmp_path.name}/a+{tmp_path.name}/b"
    assert windows.available.shape == (2, 33)
    assert [list(row) for row in windows.available[:, :2]] == [[0, 0], [1, 1]]
    assert (list(windows.begins), list(windows.ends)) == ([10, 23], [21, 33])


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        (f"{PAIR}::markov:gap=300", "need the same"),
        ("markov:up=0::markov:", "between"),
        ("/nowhere::/nothing", "no such file"),
    ],
)
def test_regions_that_do_not_go_together(evaluator, spec, what):
    with pytest.raises(UserError, match=what):
        evaluator.instances(few(trace=[spec]), BY_TIME)


def priced(**given):
    return few(trace=[PAIR.replace("seed=4", "seed=4,price=1.5").replace("seed=5", "seed=5,price=0.9")], **given)


def test_with_prices_by_region_each_hour_costs_what_it_does_there_and_the_public_bill_has_one_price(evaluator):
    one, several = (
        evaluator.instances(priced(prices=prices, safety_net="published"), BY_TIME)[0] for prices in ("one", "regions")
    )
    assert several.parameters.keys() - one.parameters.keys() == {"prices"}
    evaluator.prepare([one, several])
    policy = seed("likely_region")
    before, after = evaluator.evaluate(policy, one), evaluator.evaluate(policy, several)
    assert before["spot_h"] == after["spot_h"]
    assert before["mean_cost"] != after["mean_cost"]
    assert after.keys() == before.keys()
    windows, job = evaluator.at(several)[1], SpotJob.of_hours(48, 52, 0.2)
    runs = simulate(policy, windows, job, net="published")
    ended_at = np.where(runs.ended_in == 0, 1.5, 0.9)
    bill = (runs.spot_ticks * ended_at + runs.on_demand_ticks * 3.06) * windows.gap / 3600
    assert public_bill(runs, windows, Prices()) == pytest.approx(bill)
    assert {0, 1} == set(runs.ended_in)
    least = evaluator.evaluate_baseline("least_cost", several)
    assert bill.mean() > least_bill(windows, job, Prices()).mean()
    assert after["public_score"] < least["public_score"]
    assert after["mean_cost"] > least["mean_cost"] > 0.9 * 48


def test_prices_by_region_need_traces_with_prices_no_dearer_than_on_demand(evaluator):
    with pytest.raises(UserError, match="here has no prices; use traces that have them, or --prices one"):
        evaluator.instances(few(prices="regions"), BY_TIME)
    with pytest.raises(UserError, match=r"1\.5 dollars an hour in here, more than on-demand with 1"):
        evaluator.instances(priced(prices="regions", on_demand_price=1.0), BY_TIME)
    generated = evaluator.instances(complete_settings(TASK, {"prices": "regions"}), BY_TIME)
    assert all("price=" in str(instance.parameters["trace"]) for instance in generated)


def test_prices_are_offered_to_policies_only_where_they_differ():
    shown = {
        prices: Prompts(TASK.offered(few(prices=prices)), TASK.objectives[0], few(prices=prices))
        for prices in ("one", "regions")
    }
    texts = {prices: prompts.propose(Draft(1, "fresh", ())) for prices, prompts in shown.items()}
    assert "prices are the same everywhere. Each instance" in texts["one"]
    assert "region.price_ratio" not in texts["one"]
    for name in ("region.price_ratio", "regions.lowest_price_ratio", "a price\nof its own in each region"):
        assert name in texts["regions"]
