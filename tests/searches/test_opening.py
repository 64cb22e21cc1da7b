"""What a run is measured on, what it is compared with, and all that can be wrong with that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from search_parts import EVIDENCE, INSTANCES, MOOD_TASK, TASK, config, evidence, opened, racing

from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import baseline_events, find_objective, make_scorer, open_run
from vulcan.searches.session import ExecutionConfig, check_config
from vulcan.store import MemoryStore, RunRecord
from vulcan.store.events import BaselineMeasured, InstancesPrepared, ReferenceMeasured, RunStarted

EVALUATOR = load_evaluator(TASK)
OFFLINE = ("offline/evolve",)
MIN = sum(min(load, room) for load in range(5) for room in range(5))
ALL = sum(room for _ in range(5) for room in range(5))


def error(call: Any, *arguments: Any) -> str:
    with pytest.raises(UserError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_baselines_are_measured_on_every_split_with_the_references_of_the_objective() -> None:
    told: list[str] = []
    events = list(baseline_events(TASK.objective("gain"), EVALUATOR, INSTANCES, told.append))
    assert list(dict.fromkeys(line.split(":")[0] for line in told)) == [
        "measuring the baseline none", "measuring the baseline half", "measuring the oracle all"
    ]  # fmt: skip
    splits = ("train", "validation", "test")
    assert [(e.policy, e.kind, e.split) for e in events] == [
        (policy, kind, split)
        for policy, kind in (("none", "baseline"), ("half", "baseline"), ("all", "oracle"))
        for split in splits
    ]
    expected = {"none": -1.0, "half": 0.0, "all": ALL / (MIN / 2) - 1}
    assert {e.policy: e.score for e in events if e.split == "test"} == pytest.approx(expected, abs=1e-15)
    train = next(e for e in events if (e.policy, e.split) == ("all", "train"))
    assert train.metrics == (
        ("light", {"sum": float(ALL), "weight": 1.0}), ("heavy", {"sum": 2.0 * ALL, "weight": 2.0}),
    )  # fmt: skip


def test_an_objective_that_compares_with_nobody_is_a_mistake_of_the_task() -> None:
    says = error(lambda: list(baseline_events(TASK.objective("lost"), EVALUATOR, INSTANCES, lambda _: None)))
    assert says == "objective 'lost' compares with 'nobody', which is no baseline"


def test_a_run_is_opened_once_wherever_it_was_stopped() -> None:
    whole = MemoryStore()
    open_run(TASK, config(), whole, EVIDENCE, lambda _: None)
    added = list(whole.events())
    assert [type(e) for e in added] == [RunStarted, InstancesPrepared] + [BaselineMeasured] * 9
    open_run(TASK, config(), whole, EVIDENCE, lambda _: None)
    assert list(whole.events()) == added
    for kept in (1, 2):
        broken_off = MemoryStore()
        broken_off.append(*added[:kept])
        open_run(TASK, config(), broken_off, EVIDENCE, lambda _: None)
        assert list(broken_off.events()) == added


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rounds": 0}, "rounds is 0: at least 1 is needed"),
        ({"repairs": -1}, "repairs is -1: at least 0 is needed"),
        ({"budget_candidates": 0}, "budget-candidates is 0"),
        ({"limit": float("nan")}, "limit is nan: it must be above 0 and at most 3600"),
        ({"limit": 1e9}, "limit is 1000000000.0"),
        ({"budget_dollars": 0.0}, "budget-dollars is 0.0: it must be above 0 and finite"),
        ({"budget_minutes": float("inf")}, "budget-minutes is inf: it must be above 0 and finite"),
        ({"tune": 7}, "tune is 7: at least 8 is needed, or 0"),
        ({"model": ()}, "name at least one model"),
        (
            {"strategy": "evolv"},
            "no strategy 'evolv'; did you mean 'evolve'? (known: evolve, policysmith, best-of-n, engineer)",
        ),
        ({"split": "tsk"}, "no split 'tsk'; did you mean 'task'? (known: task, none)"),
    ],
)
def test_numbers_that_make_no_search_are_refused(changes: dict[str, Any], says: str) -> None:
    assert says in error(lambda: config(**changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"objective": "gian"}, "no objective 'gian'; did you mean 'gain'?"),
        ({"model": ("offline/else",)}, "no offline generator 'offline/else'"),
        ({"model": (" ",)}, "the model has no name"),
        ({"model": ("m",), "api_base": "localhost"}, "is not the address of a server"),
        ({"model": ("m",), "api_base": "http://localhost/v1", "temperature": -1.0}, "temperature is -1.0: at least 0"),
        ({"temperature": float("inf")}, "temperature is inf: at least 0"),
        ({"model": ("offline/evolve", "offline/evolve")}, "each once"),
        ({"model": ("ask", "offline/evolve")}, "the model 'ask' answers alone: leave out the other models"),
        ({"settings": {"instance": ["light", "light"]}}, "two instances are called 'light'"),
    ],
)
def test_what_cannot_be_searched_is_told_before_anything_is_written(changes: dict[str, Any], says: str) -> None:
    assert says in error(lambda: check_config(TASK, config(**{"model": OFFLINE, **changes})))


def test_a_run_knows_its_rungs_and_what_the_objective_compares_with_there() -> None:
    store, found = MemoryStore(), evidence(racing())
    open_run(TASK, racing(), store, found, lambda _: None)
    assert [(e.policy, e.rung) for e in store.events() if isinstance(e, ReferenceMeasured)] == [
        ("half", "R=0.2"), ("half", "R=0.4"),
    ]  # fmt: skip
    record = RunRecord.of(store.events())
    assert (record.instances, record.rungs) == (found.instances, found.rungs)
    scorer = make_scorer(find_objective(TASK, "gain"), record)
    # of the loads and rooms with (load + 2 * room) % 5 == 0, half takes 3.5, and twice that on heavy
    measured = (("light R=0.2", {"sum": 7.0}), ("heavy R=0.2", {"sum": 7.0}))
    assert scorer.on_each(found.rungs[0].instances, measured) == (1.0, 0.0)


def test_settings_are_completed_from_the_task() -> None:
    assert complete_settings(TASK, {"weight": 3.5, "hurry": True}) == {
        "weight": 3.5, "instance": [], "style": "plain", "hurry": True, "crowd": 0, "cheap": None,
    }  # fmt: skip
    assert complete_settings(TASK, {"instance": "light"})["instance"] == ["light"]
    assert "did you mean 'weight'?" in error(complete_settings, TASK, {"wieght": 1.0})


def test_a_stored_option_that_is_not_known_is_refused() -> None:
    plain = config().to_json()
    assert SearchConfig.from_json(plain) == config()
    says = error(SearchConfig.from_json, plain | {"sampels": 3})
    assert says == "the search option 'sampels' is not known; did you mean 'samples'?"


def test_an_executor_is_known_by_its_name() -> None:
    assert "did you mean 'local'?" in error(ExecutionConfig, "locall")
    assert "workers is -1" in error(ExecutionConfig, "local", -1)
    assert ExecutionConfig("local", 3).count == 3
    assert ExecutionConfig("local").count >= 1


def test_the_evaluator_of_a_task_is_found_or_the_task_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert error(load_evaluator, replace(TASK, evaluator="nowhere:Evaluator")).startswith("task 'mood_task'")
    (tmp_path / "half_written.py").write_text("def (\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "SyntaxError" in error(load_evaluator, replace(TASK, evaluator="half_written:Evaluator"))
    assert MOOD_TASK.endswith("mood_task")


def test_a_policy_of_the_task_that_the_language_rejects_is_the_tasks_mistake(children: Executor) -> None:
    store = MemoryStore()
    bad = "import os\n\ndef decide(load, room):\n    return load\n"
    study = opened(store, config(), children)
    with patch.object(type(TASK), "seed_policies", lambda *_, **__: {"mine": bad}):
        says = error(study.begin)
    assert says.startswith("task 'mood_task': its policy 'mine' is rejected: line 1, column 1: [import] `import os`")
