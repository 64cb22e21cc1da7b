"""What a run is measured on, what it is compared with, and all that can be wrong with that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from search_parts import INSTANCES, MOOD_TASK, TASK, config

from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.search.config import SearchConfig, complete_settings
from vulcan.search.opening import baseline_events, find_instances, find_objective, make_scorer, open_run
from vulcan.search.session import Machines, check_config
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import BaselineMeasured, Prepared, Started

EVALUATOR = load_evaluator(TASK)
LEAST = sum(min(load, room) for load in range(5) for room in range(5))
ALL = sum(room for _ in range(5) for room in range(5))


def error(call: Any, *arguments: Any) -> str:
    with pytest.raises(UserError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_instances_come_in_the_evaluators_order() -> None:
    assert [(i.name, i.split) for i in INSTANCES] == [
        ("light", "train"), ("heavy", "train"), ("light", "validation"), ("heavy", "validation"), ("heavy", "test"),
    ]  # fmt: skip


def test_without_a_split_all_is_train() -> None:
    found = find_instances(TASK, config(split="none"), EVALUATOR)
    assert [(i.name, i.split) for i in found] == [("light", "train"), ("heavy", "train")]


def test_two_instances_of_one_name_are_a_mistake() -> None:
    says = error(find_instances, TASK, config(settings={"instance": ["light", "heavy", "light"]}), EVALUATOR)
    assert says.startswith("two instances are called 'light'")


def test_baselines_are_measured_on_every_split_with_the_references_of_the_objective() -> None:
    told: list[str] = []
    events = list(baseline_events(TASK.objective("gain"), EVALUATOR, INSTANCES, told.append))
    assert told == ["none", "half", "all"]
    splits = ("train", "validation", "test")
    assert [(e.policy, e.kind, e.split) for e in events] == [
        (policy, kind, split)
        for policy, kind in (("none", "baseline"), ("half", "baseline"), ("all", "bound"))
        for split in splits
    ]
    expected = {"none": -1.0, "half": 0.0, "all": ALL / (LEAST / 2) - 1}
    assert {e.policy: e.score for e in events if e.split == "test"} == pytest.approx(expected, abs=1e-15)
    train = next(e for e in events if (e.policy, e.split) == ("all", "train"))
    assert train.metrics == (
        ("light", {"sum": float(ALL), "weight": 1.0}), ("heavy", {"sum": 2.0 * ALL, "weight": 2.0}),
    )  # fmt: skip


def test_an_objective_that_compares_with_nobody_is_a_mistake_of_the_task() -> None:
    says = error(lambda: list(baseline_events(TASK.objective("lost"), EVALUATOR, INSTANCES, lambda _: None)))
    assert says == "objective 'lost' compares with 'nobody', which is no baseline"


def test_an_objective_without_a_finite_score_is_a_mistake_of_the_task() -> None:
    says = error(lambda: list(baseline_events(TASK.objective("broken"), EVALUATOR, INSTANCES, lambda _: None)))
    assert says.startswith("objective 'broken' is ")


def test_a_run_is_opened_once_wherever_it_was_stopped() -> None:
    whole = MemoryStore()
    added = open_run(TASK, config(), whole, INSTANCES, lambda _: None)
    assert list(whole.events()) == list(added)
    assert [type(e) for e in added] == [Started, Prepared] + [BaselineMeasured] * 9
    assert open_run(TASK, config(), whole, INSTANCES, lambda _: None) == ()
    for kept in (1, 2):
        broken_off = MemoryStore()
        broken_off.append(*added[:kept])
        open_run(TASK, config(), broken_off, INSTANCES, lambda _: None)
        assert list(broken_off.events()) == list(added)


def test_a_run_knows_its_configuration_instances_and_references() -> None:
    store = MemoryStore()
    open_run(TASK, config(seed=7, limit=3.0), store, INSTANCES, lambda _: None)
    record = RunRecord.of(store.events())
    assert SearchConfig.from_json(record.config) == config(seed=7, limit=3.0)
    assert record.instances == INSTANCES
    scorer = make_scorer(find_objective(TASK, "gain"), record)
    assert scorer.on_instance("test", "heavy", {"sum": float(LEAST)}) == 0.0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rounds": 0}, "rounds is 0: at least 1 is needed"),
        ({"samples": -1}, "samples is -1"),
        ({"parents": 0}, "parents is 0"),
        ({"finalists": 0}, "finalists is 0"),
        ({"repairs": -1}, "repairs is -1: 0 or more is needed"),
        ({"budget_candidates": 0}, "budget-candidates is 0"),
        ({"limit": 0.0}, "limit is 0.0: more than 0"),
        ({"limit": float("nan")}, "limit is nan"),
        ({"limit": 1e9}, "limit is 1000000000.0"),
    ],
)
def test_numbers_that_make_no_search_are_refused(changes: dict[str, Any], says: str) -> None:
    assert says in error(lambda: config(**changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"objective": "gian"}, "no objective 'gian'; did you mean 'gain'?"),
        ({"strategy": "policysmth"}, "did you mean 'policysmith'?"),
        ({"split": "half"}, "split is 'half': write task (as the task declares it) or none"),
        ({"model": "offline/else"}, "no offline generator 'offline/else'"),
        ({"model": " "}, "the model has no name"),
        ({"model": "m", "api_base": "localhost"}, "is not the address of a server"),
        ({"model": "m", "api_base": "http://localhost/v1", "temperature": -1.0}, "temperature -1"),
        ({"settings": {"instance": ["light", "light"]}}, "two instances are called 'light'"),
    ],
)
def test_what_cannot_be_searched_is_told_before_anything_is_written(changes: dict[str, Any], says: str) -> None:
    assert says in error(check_config, TASK, config(**changes))


def test_a_good_configuration_gives_the_instances() -> None:
    assert check_config(TASK, config()) == INSTANCES


def test_settings_are_completed_from_the_task() -> None:
    assert complete_settings(TASK, {"weight": 3.5, "hurry": True}) == {
        "weight": 3.5, "instance": [], "style": "plain", "hurry": True,
    }  # fmt: skip
    assert complete_settings(TASK, {"instance": "light"})["instance"] == ["light"]
    assert "did you mean 'weight'?" in error(complete_settings, TASK, {"wieght": 1.0})


def test_a_stored_option_that_is_not_known_is_refused() -> None:
    plain = config().to_json()
    assert SearchConfig.from_json(plain) == config()
    says = error(SearchConfig.from_json, plain | {"sampels": 3})
    assert says == "the search option 'sampels' is not known; did you mean 'samples'?"


def test_an_executor_is_known_by_its_name() -> None:
    assert "did you mean 'local'?" in error(Machines, "locall")
    assert "workers is -1" in error(Machines, "local", -1)
    assert Machines("local", 3).count == 3
    assert Machines("local").count >= 1


def test_the_evaluator_of_a_task_is_found_or_the_task_is_named() -> None:
    assert error(load_evaluator, replace(TASK, evaluator="nowhere:Evaluator")).startswith("task 'mood_task'")
    assert MOOD_TASK.endswith("mood_task")
