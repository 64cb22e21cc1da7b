"""Searches on variations of the training instances too."""

from __future__ import annotations

from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.evidence import load_evaluation_set
from vulcan_cache.simulator import CacheSimulator

TRACE = "drift:requests=6000,objects=900,alpha=0.7,period=500,churn=0.3"


def config(**options: object) -> SearchConfig:
    return make_config("cache_eviction", options, {"trace": [TRACE], "cache_size": ["10%"]})


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
