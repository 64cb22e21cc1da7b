"""What is scored on a file that is then damaged."""

from __future__ import annotations

from pathlib import Path

from locations import TASKS

from vulcan.evaluator import Instance
from vulcan.scoring import Setup

TASK = str(TASKS / "mapped_task")


def setup_of(column: Path) -> tuple[Setup, Instance]:
    """A set-up with one instance, that of a column of numbers."""
    instance = Instance("column", "train", {"path": str(column)})
    return Setup(TASK, (instance,)), instance
