"""`vulcan bench` measures any task, with what its evaluator offers, and says what it leaves out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from locations import TASKS

from vulcan.bench_pipeline import STAGES, measure_task
from vulcan.benchmark import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable
from vulcan.errors import UserError
from vulcan.evaluator import OffersBenchmark, load_evaluator
from vulcan.registry import find_task
from vulcan.task import Task
from vulcan_cache.evaluator import CacheEvaluator

MOOD_TASK = str(TASKS / "mood_task")
VULCAN = str(Path(sys.executable).parent / "vulcan")


def vulcan(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([VULCAN, "bench", *arguments], capture_output=True, text=True, check=False, timeout=240)


def test_each_stage_of_each_candidate_is_measured() -> None:
    findings = measure_task(MOOD_TASK, quick=True)
    seconds = findings.document["turnaround"]["seconds"]
    assert tuple(seconds) == STAGES
    assert len({len(values) for values in seconds.values()}) == 1
    assert len(seconds["check"]) >= 6 and min(seconds["check"]) > 0
    total = findings.document["turnaround"]["total"]
    assert total > sum(sum(seconds[stage]) / len(seconds[stage]) for stage in STAGES)


def test_what_an_evaluator_offers_is_measured_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    def benchmark(self: object, task: Task, quick: bool) -> BenchmarkResult:
        return BenchmarkResult((BenchmarkTable("Own", ("a",), (("1",),)),), (Goal("own", 1.0, 2.0),), {"own": quick})

    evaluator = type(load_evaluator(find_task(MOOD_TASK)))
    assert not isinstance(load_evaluator(find_task(MOOD_TASK)), OffersBenchmark)
    monkeypatch.setattr(evaluator, "benchmark", benchmark, raising=False)
    findings = measure_task(MOOD_TASK, quick=True)
    assert findings.tables[-1].title == "Own" and findings.goals[-1].name == "own"
    assert findings.document["own"] is True and "turnaround" in findings.document


def test_the_cache_offers_its_engine() -> None:
    assert isinstance(CacheEvaluator(), OffersBenchmark)


def test_free_python_is_left_out() -> None:
    with pytest.raises(NotMeasurable, match="cache_program: its policies are free Python"):
        measure_task("cache_program", quick=True)


def test_an_unknown_task_is_an_error_of_the_user() -> None:
    with pytest.raises(UserError, match="no task is called 'cache_evictoin'"):
        measure_task("cache_evictoin", quick=True)


def test_the_command_prints_one_document() -> None:
    ended = vulcan(MOOD_TASK, "cache_program", "--json")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document["quick"] is True and document["machine"]["cpu"]
    assert list(document["tasks"]) == [MOOD_TASK]
    assert document["tasks"][MOOD_TASK]["tables"][0]["columns"] == ["stage", "ms, median", "mean"]
    assert document["left_out"] == ["cache_program: its policies are free Python, and there is nothing to compile"]


def test_a_task_that_there_is_not_is_one_line() -> None:
    ended = vulcan("nothing_such")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("vulcan: no task is called 'nothing_such'")
    assert "Traceback" not in ended.stderr
