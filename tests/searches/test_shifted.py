"""Searches on variations and perturbed copies of the training instances too."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.evidence import load_evaluation_set
from vulcan_cache.simulator import CacheSimulator

TRACE = "drift:requests=6000,objects=900,alpha=0.7,period=500,churn=0.3"


def config(**options: object) -> SearchConfig:
    return make_config("cache_eviction", options, {"trace": [TRACE], "cache_size": ["10%"]})


def test_perturbed_copies_are_made_of_training_requests_alone() -> None:
    task, evaluator = find_task("cache_eviction"), CacheSimulator()
    evidence = load_evaluation_set(task, config(train_on="shifted"), evaluator)
    first, *copies = [i for i in evidence.instances if i.split == "train"]
    stop = first.parameters["measure_to"]
    reversed_, moved, thinned, smaller = copies
    trace = evaluator.trace_of(evaluator.spec_of(first))
    asked = np.asarray(trace.keys)[np.asarray(trace.objects)[:stop]]
    for copy in (reversed_, moved):
        other = evaluator.trace_of(evaluator.spec_of(copy))
        keys = np.asarray(other.keys)[np.asarray(other.objects)]
        assert len(keys) == stop == copy.parameters["measure_to"]
        assert set(keys.tolist()) <= set(asked.tolist())
        if copy is reversed_:
            assert sorted(keys.tolist()) == sorted(asked.tolist())
            assert (keys[:100] == asked[3 * stop // 4 :][:100]).all()  # type: ignore[operator]
        else:
            assert (keys[: stop // 2] == asked[: stop // 2]).all()  # type: ignore[operator]
            assert (keys[stop // 2 :] != asked[stop // 2 :]).mean() > 0.9  # type: ignore[operator]
    assert thinned.parameters["one_in"] == 2
    assert smaller.parameters["capacity"] == first.parameters["capacity"] // 2  # type: ignore[operator]
    ratios = [evaluator.evaluate_baseline("lru", i)["miss_ratio"] for i in (first, *copies)]
    assert len(set(ratios)) == 5
    assert all(math.isfinite(r) and 0 < r < 1 for r in ratios)


def test_a_search_trains_on_what_is_near_the_asked_instance() -> None:
    task, evaluator = find_task("cache_eviction"), CacheSimulator()
    evidence = load_evaluation_set(task, config(), evaluator)
    asked, *near = [i for i in evidence.instances if i.split == "train"]
    spec, specs = evaluator.spec_of(asked), [evaluator.spec_of(i) for i in near]
    assert {i.variation_of for i in near} == {asked.name}
    assert [s.measure_from for s in specs] == [spec.measure_to // 2, 0, 0]
    assert [s.capacity for s in specs] == [spec.capacity, spec.capacity // 2, 2 * spec.capacity]
    assert {s.measure_to for s in specs} == {spec.measure_to}
    assert not any(i.variation_of for i in evidence.instances if i.split != "train")
    alone = load_evaluation_set(task, config(train_on="asked"), evaluator)
    assert [i for i in alone.instances if i.split == "train"] == [asked]
    several = make_config("cache_eviction", {}, {"trace": [TRACE], "cache_size": ["5%", "10%"]})
    found = load_evaluation_set(task, several, evaluator)
    assert not any(i.variation_of for i in found.instances)


def test_perturbed_copies_are_refused_where_there_are_none() -> None:
    task = find_task("load_balancing")
    with pytest.raises(UserError, match="--train-on shifted: the evaluator of this task offers no perturbed instances"):
        load_evaluation_set(task, make_config(task.name, {"train_on": "shifted"}, {}), load_evaluator(task))
