"""What a task says always holds does so whenever its simulator calls a policy."""

from __future__ import annotations

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import find_instances

SCORED = {
    "cache_eviction": "obj.count / obj.size",
    "memory_tiering": "page.accesses",
    "prefix_cache": "node.last_access",
    "request_scheduling": "request.cached",
}


SHORT = {"memory_tiering": {"trace": ["gups:pages=900,hot_pages=80,intervals=20,loads=12000,updates_a_move=20000"]}}
"""Settings of tasks whose own workloads take long to make."""


def mechanisms_of(name: str) -> list[str | None]:
    """Those that a policy of the task can name, which it does only where there are several."""
    names = [each.name for each in find_task(name).signature.mechanisms]
    return [*names] if len(names) > 1 else [None]


@pytest.mark.parametrize(
    ("name", "mechanism"),
    [(name, mechanism) for name in sorted(SCORED) for mechanism in mechanisms_of(name)],
)
def test_it_holds_whenever_a_policy_is_asked(name: str, mechanism: str | None) -> None:
    """A policy that does the opposite wherever it does not hold measures the same as one that never looks."""
    task = find_task(name)
    settings = complete_settings(task, SHORT.get(name, {}))
    config = SearchConfig(task=name, settings=settings, objective=task.objectives[0].name)
    evaluator = load_evaluator(task)
    instance = find_instances(task, config, evaluator)[0]
    evaluator.prepare((instance,))

    def measured(condition: str) -> object:
        source = f"MECHANISM = {mechanism!r}\n" if mechanism else ""
        for declared in task.functions:
            if mechanism and mechanism not in [each.name for each in declared.mechanisms]:
                continue
            names = ", ".join(argument.name for argument in declared.arguments)
            value = SCORED[name] if declared is task.signature else "1"
            asked = condition if declared.entity else "x == x"
            source += f"def {declared.function}({names}):\n    x = {value}\n    return x if {asked} else -1 - x\n"
        return evaluator.evaluate(check(source, task), instance)

    plain = measured("x == x")
    assert measured(" and ".join(f"({condition})" for condition in task.assumptions)) == plain
    assert measured("x != x") != plain
