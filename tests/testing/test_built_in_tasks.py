"""Every built-in task keeps every promise."""

from __future__ import annotations

from typing import Any

import pytest
from effort import slow

from vulcan.registry import built_in_directory
from vulcan.testing import Subject, examine

SETTINGS: dict[str, dict[str, Any]] = {
    "active_queue_management": {"duration_s": 4.0},
    "cache_eviction": {
        "trace": [
            "zipf:requests=1500,objects=300,alpha=0.9,seed=3",
            "zipf:requests=1500,objects=300,alpha=1.1,seed=4",
        ]
    },
    "congestion_control": {"duration_s": 2.0},
    "load_balancing": {"requests": 2000, "load": [0.9]},
    "memory_tiering": {
        "trace": [
            "gups:pages=1200,hot_pages=100,intervals=20,loads=12000,updates_a_move=30000,seed=4",
            "gups:pages=900,hot_pages=80,intervals=20,loads=12000,updates_a_move=20000,seed=5",
        ]
    },
    "prefix_cache": {"trace": ["chat:requests=600,seed=1", "agent:requests=600,seed=1"]},
    "request_routing": {"trace": ["agent:requests=600,seed=1", "documents:requests=600,seed=1"]},
    "request_scheduling": {"trace": ["chat:requests=40,seed=1", "documents:requests=40,seed=1"], "memory": "250k"},
    "spot_multi": {"windows": 6},
    "spot_single": {"windows": 6, "overhead": [0.2]},
}
"""What makes the examination short; of a task that is not named here, nothing."""

TASKS = sorted(place.parent.name for place in built_in_directory().glob("*/task.py"))
RELATED = {"cache_program", "active_queue_management", "request_routing", "spot_multi"}
"""Tasks whose evaluator is that of another one that is examined at each commit, or shares its simulator."""


@pytest.mark.parametrize("task", [slow(task) if task in RELATED else task for task in TASKS])
def test_the_task_keeps_every_promise(task: str) -> None:
    findings = list(examine(Subject(task, SETTINGS.get(task, {}))))
    broken = [
        f"{finding.check}: {finding.problem}; {finding.remedy}" for finding in findings if finding.result != "passed"
    ]
    assert broken == []
