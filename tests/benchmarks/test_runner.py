"""`python -m benchmarks`: what it runs, what it says of goals, and how it ends."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from locations import ROOT

from benchmarks import __main__ as runner
from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal


def found(*goals: Goal, quick: bool = True) -> dict[str, Any]:
    return BenchmarkResult((BenchmarkTable("T", ("a",), (("1",),)),), goals).to_json(quick)


def test_every_suite_is_a_module_of_the_folder() -> None:
    missing = [suite.name for suite in runner.SUITES if importlib.util.find_spec(f"benchmarks.{suite.name}") is None]
    assert missing == []


def test_each_missed_goal_is_one_line_and_ends_a_check_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    suites = {
        "one": found(Goal("speed", 1.0, 2.0), Goal("other", 3.0, 2.0)),
        "two": found(Goal("size", 9.0, 2.0, False)),
    }
    assert runner._verdict(suites, check=True) == 1
    summary, *lines = capsys.readouterr().out.strip().splitlines()
    assert summary.startswith("3 goals, 1 met, 2 missed")
    assert [line.partition(": ")[0] for line in lines] == ["one", "two"]
    assert all("MISSED" in line for line in lines)
    assert runner._verdict(suites, check=False) == 0


def test_what_is_documented_or_within_the_margin_is_shown_and_passes(capsys: pytest.CaptureFixture[str]) -> None:
    goals = Goal("a", 1.0, 2.0, documented="why"), Goal("b", 1.9, 2.0, margin=0.1), Goal("c", 1.0, 2.0, in_quick=False)
    assert runner._verdict({"one": found(*goals)}, check=True) == 0
    out = capsys.readouterr().out
    assert "0 missed, 3 short of what is wanted and not asserted" in out
    assert "missed (documented) a" in out and "missed (within" in out and "missed (not asserted" in out


def test_a_suite_that_breaks_fails_the_run_without_a_check_too(capsys: pytest.CaptureFixture[str]) -> None:
    broken = runner.run(runner.Suite("no_such_suite", ""), quick=True)
    assert "exit code 1" in broken["error"] and "no_such_suite" in broken["error"]
    assert runner._verdict({"no_such_suite": broken}, check=False) == 1
    assert "1 suites failed" in capsys.readouterr().out


def test_a_suite_that_cannot_run_here_is_left_out_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text(f"__path__ = [*__path__, {str(ROOT / 'benchmarks')!r}]\n")
    (tmp_path / "benchmarks" / "elsewhere.py").write_text(
        "from benchmarks.harness import NotMeasurable, run_suite\n"
        "def measure(quick):\n    raise NotMeasurable('no data: set VULCAN_DATA')\n"
        "run_suite('', measure)\n"
    )
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    left = runner.run(runner.Suite("elsewhere", ""), quick=True)
    assert left == {"left_out": ["no data: set VULCAN_DATA"], "goals": []}
    assert runner._lines(left) == ["left out: no data: set VULCAN_DATA"]
    assert runner._verdict({"elsewhere": left}, check=True) == 0
    capsys.readouterr()


def test_an_unknown_suite_is_one_line_with_the_nearest() -> None:
    command = [sys.executable, "-m", "benchmarks", "--only", "turnarond"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "no suite 'turnarond'" in ended.stderr and "turnaround" in ended.stderr
    assert "Traceback" not in ended.stderr
