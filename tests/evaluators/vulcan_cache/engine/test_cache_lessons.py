"""What lessons say of the future is what a look at each request says, and never reaches beyond the training data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from console import Console
from hypothesis import given
from hypothesis import strategies as st
from search_parts import of_kind

from vulcan.evaluator import load_evaluator
from vulcan.findings import SmallTable
from vulcan.generator.fits import fitted_programs
from vulcan.registry import find_task
from vulcan.searches.config import make_config
from vulcan.searches.evidence import learn_lessons, load_evaluation_set, open_run
from vulcan.store import MemoryStore
from vulcan.store.events import BaselineMeasured, LessonsLearnt
from vulcan_cache.lessons import Returns, hazards, lessons_of
from vulcan_cache.spec import Requests

TASK = find_task("cache_eviction")
GIVEN = {"trace": ["zipf:objects=400,requests=6000,alpha=0.9,seed=3"], "cache_size": ["10%"]}


def requests_of(ids: list[int], until: int) -> Requests:
    """Requests of a longer trace, of which `until` were measured."""
    objects = np.array(ids, np.uint32)
    following = np.array([next((m for m in range(n + 1, len(ids)) if ids[m] == ids[n]), -1) for n in range(len(ids))])
    return Requests(objects[:until], objects[:until].astype(np.int64) + 1, following[:until], None, 0, 8)


@given(st.lists(st.integers(0, 7), min_size=6, max_size=60), st.integers(3, 6), st.integers(1, 20))
def test_a_return_counts_where_it_comes_in_time_and_within_the_training_data(
    ids: list[int], until: int, capacity: int
) -> None:
    requests = requests_of(ids, until)
    found = Returns.of(requests, capacity)
    for lesson in list(lessons_of(requests, capacity, by_bytes=False))[:4]:
        reach = float(lesson.name.split()[2]) * found.turnover
        for n, (gain, cost) in enumerate(zip(lesson.gains, lesson.costs, strict=True)):
            wait = next((m - n for m in range(n + 1, until) if ids[m] == ids[n]), None)
            assert gain == (wait is not None and wait <= reach)
            assert cost == pytest.approx(min(reach, until - n, wait or until - n))
    for one, other in zip(
        lessons_of(requests, capacity, by_bytes=False),
        lessons_of(requests_of(ids[:until], until), capacity, by_bytes=False),
        strict=True,
    ):
        assert np.array_equal(one.situations, other.situations)
        assert np.array_equal(one.gains, other.gains)


def test_a_search_learns_from_training_data_alone_and_records_what_it_has_fitted() -> None:
    config = make_config(TASK.name, {"budget_candidates": 2, "tune": 0}, GIVEN)
    evaluator = load_evaluator(TASK)
    evidence = load_evaluation_set(TASK, config, evaluator)
    store: Any = MemoryStore()
    open_run(TASK, config, store, evidence, lambda _: None)
    open_run(TASK, config, store, evidence, lambda _: None)
    [learnt] = of_kind(store, LessonsLearnt)
    training = [i for i in evidence.instances if i.split == "train" and not i.variation_of]
    assert learnt.programs == fitted_programs(TASK, evaluator.lessons(training[0], "miss_ratio"))
    assert learnt == learn_lessons(TASK, evaluator, training, "object")
    with pytest.raises(ValueError, match="no search may see"):
        learn_lessons(TASK, evaluator, evidence.instances, "object")


@pytest.mark.parametrize(("target", "left"), [("python", []), ("vllm-offload", ["lru"])])
def test_a_search_for_a_target_learns_and_is_compared_with_what_it_carries(target: str, left: list[str]) -> None:
    task = find_task("prefix_cache")
    config = make_config(task.name, {"tune": 0, "target": target}, {"trace": ["agent:requests=900,seed=1"]})
    store: Any = MemoryStore()
    open_run(task, config, store, load_evaluation_set(task, config, load_evaluator(task)), lambda _: None)
    [learnt] = of_kind(store, LessonsLearnt)
    assert bool(learnt.programs) == (not left)
    assert [b.policy for b in of_kind(store, BaselineMeasured) if (b.kind, b.split) == ("not carried", "train")] == left


def test_no_lessons_are_learnt_for_language_models() -> None:
    config = replace(make_config(TASK.name, {"tune": 0, "feedback": "none"}, GIVEN), model=("ask",))
    store: Any = MemoryStore()
    open_run(TASK, config, store, load_evaluation_set(TASK, config, load_evaluator(TASK)), lambda _: None)
    assert not of_kind(store, LessonsLearnt)


def test_chances_of_return_are_those_of_training_data_in_each_half() -> None:
    ids, until, capacity = np.random.default_rng(1).integers(0, 8, 500).tolist(), 400, 15
    requests = requests_of(ids, until)
    [table] = hazards(requests, capacity)
    assert [table] == hazards(requests_of(ids[:until], until), capacity)
    assert isinstance(table, SmallTable)
    assert {row[0] for row in table.rows} == {"requests so far", "gap", "size", "idle"}
    span, last = Returns.of(requests, capacity).turnover, 0.0
    for _, label, *chances in (row for row in table.rows if row[0] == "size"):
        edge = float(str(label).removeprefix("up to "))
        for half, chance in enumerate(chances):
            of_class = [
                n for n in range(200 * half, 200 * half + 200) if last < ids[n] + 1 <= edge and until - n > span
            ]
            returns = [any(ids[m] == ids[n] for m in range(n + 1, int(n + span) + 1)) for n in of_class]
            assert chance == pytest.approx(100 * np.mean(returns), abs=0.06)
        last = edge


def test_the_command_shows_the_training_data_of_a_trace_and_says_where_a_simulator_has_no_tables(
    tmp_path: Path,
) -> None:
    console = Console(tmp_path)
    given = ("hazards", "--task", TASK.name, "--trace", GIVEN["trace"][0], "--cache-size", "10%")
    [table] = json.loads(console(*given, "--json").stdout)["findings"]
    assert table["split"] == "train"
    assert table["title"].startswith("Chance of return")
    assert "idle" in console(*given).stdout
    refused = console("hazards", "--task", "load_balancing")
    said = "vulcan: the task's evaluator, LoadSimulator, offers no tables of hazards\n"
    assert (refused.returncode, refused.stderr) == (2, said)
