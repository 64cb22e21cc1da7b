"""The commands on a task of two functions: a search and all that is made of its winner."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from console import Console
from locations import TASKS

from vulcan.store import RunRecord
from vulcan.store.runs import open_store

FERRY_TASK = str(TASKS / "ferry_task")
POLICY = Path(FERRY_TASK) / "policies" / "in_order.py"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Console, Any]:
    vulcan = Console(tmp_path_factory.mktemp("ferry"))
    options = ("--budget-candidates", "20", "--seed", "1", "--executor", "local", "--workers", "1")
    return vulcan, vulcan.document("search", "--task", FERRY_TASK, *options)


def test_every_candidate_has_both_functions(searched: tuple[Console, Any]) -> None:
    vulcan, summary = searched
    with closing(open_store(vulcan.directory / summary["run"])) as store:
        candidates = RunRecord.of(store.events()).candidates
    assert len(candidates) >= 23
    for judged in candidates.values():
        assert "def priority(now, car, ferry):" in judged.source and "def leave(now, ferry):" in judged.source
    verdicts = [judged.verdict for judged in candidates.values()]
    assert verdicts.count("scored") > 15 and "rejected" not in verdicts
    shown = vulcan.document("show", summary["run"], "7")
    assert (shown["verdict"], shown["source"]) == (candidates[7].verdict, candidates[7].source)


def test_the_winner_is_exported_with_both_functions(searched: tuple[Console, Any]) -> None:
    vulcan, summary = searched
    vulcan.good("export", summary["run"])
    module = vulcan.directory / "ferry_task.py"
    assert "def priority(now: float, car, ferry" in module.read_text() and "def leave(" in module.read_text()
    checked = vulcan.document("check", module, "--task", FERRY_TASK)
    assert checked["accepted"]


def test_check_says_what_each_function_takes(vulcan: Console) -> None:
    document = vulcan.document("check", POLICY, "--task", FERRY_TASK)
    assert document["plan"]["functions"] == [
        {"function": "priority", "features": ["car.arrived", "car.length"], "operations": 9},
        {"function": "leave", "features": ["ferry.queue", "ferry.waited"], "operations": 9},
    ]
    told = vulcan.good("check", POLICY, "--task", FERRY_TASK).stdout
    assert "at most 9 per call of priority" in told and "at most 9 per call of leave" in told


def test_verify_judges_each_property_of_its_own_function(vulcan: Console) -> None:
    result = vulcan("verify", POLICY, "--task", FERRY_TASK, "--json")
    assert result.returncode == 1
    verdicts = {p["name"]: (p["function"], p["verdict"]) for p in json.loads(result.stdout)["properties"]}
    assert verdicts == {
        "dearer first": (None, "proved"), "a yes or no": ("leave", "proved"), "full is full": ("leave", "refuted"),
    }  # fmt: skip


def test_a_task_is_shown_with_all_its_functions(vulcan: Console) -> None:
    document = vulcan.document("task", "show", FERRY_TASK)
    assert (document["function"], [other["function"] for other in document["others"]]) == ("priority", ["leave"])
    told = vulcan.good("task", "show", FERRY_TASK).stdout
    assert "- full of `priority`:" in told and "- each of `leave`:" in told
