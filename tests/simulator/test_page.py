"""docs/how-to/build-a-simulator.md: its blocks are the simulator that `vulcan task new` writes, and it runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from locations import ROOT

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.findings import SmallTable, Statement
from vulcan.registry import find_task
from vulcan.scaffold.new_task import write_task
from vulcan.searches.config import complete_settings

PAGE = ROOT / "docs" / "how-to" / "build-a-simulator.md"
MAX_LINES = 300


def test_the_page_builds_the_simulator_of_a_new_task(tmp_path: Path) -> None:
    write_task("cluster", "value", tmp_path / "cluster")
    written = (tmp_path / "cluster" / "cluster_task" / "evaluator.py").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert [line.strip() for block in blocks for line in block.splitlines() if line] == [
        line.strip() for line in written.splitlines() if line
    ]
    assert len(written.splitlines()) <= MAX_LINES


def test_it_explains_and_compares_policies(tmp_path: Path) -> None:
    write_task("cluster", "value", tmp_path / "cluster")
    task = find_task(str(tmp_path / "cluster"))
    evaluator: Any = load_evaluator(task)
    instances = evaluator.instances(complete_settings(task, {"minutes": 80}), task.split)
    evaluator.prepare(instances)
    first, second = (check(source, task) for source in task.seed_policies().values())
    for instance in instances:
        cost = evaluator.evaluate(first, instance)["cost"]
        statement, table = evaluator.findings(first, instance)
        assert isinstance(statement, Statement)
        (said,) = re.findall(r"costs ([\d.]+) dollars", statement.text)
        assert float(said) == pytest.approx(cost, rel=1e-3)
        assert isinstance(table, SmallTable)
        assert sum(row[1] * sum(row[2:5]) / 100 for row in table.rows) == pytest.approx(cost, rel=1e-3)
        saved, *_ = evaluator.compare(first, second, instance)
        assert sum(row[3] for row in saved.rows) == pytest.approx(
            evaluator.evaluate(second, instance)["cost"] - cost, abs=2e-3
        )
    assert evaluator.decisions(first) != evaluator.decisions(second)
