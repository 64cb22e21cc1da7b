"""A capability is recognised by the names of its methods alone: their signatures must agree too."""

import inspect
from itertools import chain

import pytest

from vulcan import evaluator, findings, robustness
from vulcan.evaluator import load_evaluator
from vulcan.registry import built_in_directory, find_task

CAPABILITIES = [
    value
    for value in chain.from_iterable(vars(module).values() for module in (evaluator, findings, robustness))
    if getattr(value, "_is_runtime_protocol", False)
]


@pytest.mark.parametrize("task", sorted(path.parent.name for path in built_in_directory().glob("*/task.py")))
def test_methods_have_the_signatures_of_the_protocols(task):
    offered = load_evaluator(find_task(task))
    for capability in CAPABILITIES:
        if not isinstance(offered, capability):
            continue
        for name, method in inspect.getmembers(capability, inspect.isfunction):
            if not name.startswith("_"):
                takes = list(inspect.signature(getattr(offered, name)).parameters)
                assert takes == list(inspect.signature(method).parameters)[1:], f"{capability.__name__}.{name}"
