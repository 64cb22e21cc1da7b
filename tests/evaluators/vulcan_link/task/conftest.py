"""The task."""

import pytest

from vulcan.registry import find_task
from vulcan.task import Task


@pytest.fixture(scope="session")
def task() -> Task:
    return find_task("congestion_control")
