"""The default data of every task, cut as the task declares and as one set."""

from __future__ import annotations

import pytest
from locations import ROOT

from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import make_config
from vulcan.searches.evidence import find_instances


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("tasks/*/task.py")))
def test_each_instance_has_a_name_of_its_own(name: str) -> None:
    task = find_task(name)
    evaluator = load_evaluator(task)
    for split, parts in {"task": {"train", "validation", "test"}, "none": {"train"}}.items():
        found = find_instances(task, make_config(name, {"split": split}, {}), evaluator)
        assert len({(i.split, i.name) for i in found}) == len(found) > 0
        assert {i.split for i in found} == parts
