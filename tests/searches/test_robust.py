"""What a robust search scores candidates by: aggregates, blocks of time that differ, perturbed copies."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vulcan
from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.evidence import load_evaluation_set
from vulcan.searches.scorer import Aggregate
from vulcan_cache.evaluator import CacheEvaluator

SCORES = [0.5, 0.1, 0.9, 0.3, 0.7]
TRACE = "drift:requests=6000,objects=900,alpha=0.7,period=500,churn=0.3"


def test_aggregates() -> None:
    assert Aggregate.of(None)(SCORES) == fmean(SCORES)
    assert Aggregate.of("worst-quarter")(SCORES) == pytest.approx(0.2)
    assert Aggregate.of("worst-quarter")([0.4, 0.2]) == 0.2
    assert Aggregate.of("deviation")(SCORES) == pytest.approx(fmean(SCORES) - pstdev(SCORES))
    assert Aggregate.of("deviation:0.5")(SCORES) == pytest.approx(fmean(SCORES) - pstdev(SCORES) / 2)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(1, 30))
def test_no_candidate_is_stopped_that_could_still_reach_a_score(scores: list[float], seen: int) -> None:
    for option in ("worst-quarter", "deviation:1"):
        aggregate = Aggregate.of(option)
        assert aggregate.highest(scores[:seen], len(scores)) >= aggregate(scores) - 1e-12


@pytest.mark.parametrize("robust", ["worst", "deviation:", "deviation:-1", "deviation:inf"])
def test_an_unknown_aggregate_is_refused(robust: str) -> None:
    with pytest.raises(UserError, match="write mean, worst-quarter or deviation:K"):
        make_config("cache_eviction", {"robust": robust}, {})


def config(**options: object) -> SearchConfig:
    return make_config("cache_eviction", options, {"trace": [TRACE], "cache_size": ["10%"]})


def test_windows_of_training_are_chosen_to_differ() -> None:
    task = find_task("cache_eviction")
    evidence = load_evaluation_set(task, config(train_windows=3), load_evaluator(task))
    training = [i for i in evidence.instances if i.split == "train"]
    assert len(training) == 3
    starts = [i.parameters["measure_from"] for i in training]
    assert starts == sorted(starts)  # type: ignore[type-var]
    assert all(i.parameters["measure_to"] <= 3600 for i in training)  # type: ignore[operator]
    assert len(evidence.instances) == 5
    with pytest.raises(UserError, match=r"--train-windows 64: .* cannot be cut into 128 blocks"):
        load_evaluation_set(task, config(train_windows=64), load_evaluator(task))


def test_perturbed_copies_are_made_of_training_requests_alone() -> None:
    task, evaluator = find_task("cache_eviction"), CacheEvaluator()
    evidence = load_evaluation_set(task, config(against_shift=True), evaluator)
    first, *copies = [i for i in evidence.instances if i.split == "train"]
    stop = first.parameters["measure_to"]
    reversed_, moved, thinned, smaller = copies
    trace = evaluator._trace(first.parameters)
    asked = np.asarray(trace.keys)[np.asarray(trace.objects)[:stop]]
    for copy in (reversed_, moved):
        other = evaluator._trace(copy.parameters)
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


def test_perturbed_copies_are_refused_where_there_are_none() -> None:
    task = find_task("load_balancing")
    with pytest.raises(UserError, match="--against-shift: the evaluator of this task offers no perturbed instances"):
        load_evaluation_set(task, make_config(task.name, {"against_shift": True}, {}), load_evaluator(task))


@pytest.mark.slow
def test_a_robust_search_is_replayed_and_ranks_by_the_aggregate(tmp_path: Path) -> None:
    run = vulcan.search(
        "cache_eviction", trace=TRACE, cache_size="10%", budget_candidates=6, tune=0, simplify=0, executor="local",
        workers=1, progress="none", runs_dir=tmp_path, robust="worst-quarter", train_windows=4, against_shift=True,
    )  # fmt: skip
    train = run.scores[(run.scores.split == "train") & (run.scores.kind == "candidate")].score
    assert len(train) == 8
    assert run.summary["train"]["score"] == pytest.approx(fmean(sorted(train)[:2]))
    again = vulcan.search(replay=str(run.path), executor="local", workers=1, progress="none", runs_dir=tmp_path)
    assert list(again.candidates.score.dropna()) == list(run.candidates.score.dropna())
    assert again.summary["verdict"] == run.summary["verdict"]
