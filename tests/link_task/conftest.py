"""The task and its evaluator."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vulcan.registry import find_task
from vulcan.task import Task

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


@pytest.fixture(scope="session")
def links() -> Path:
    """The folder of real link traces."""
    folder = DATA / "cc"
    if not folder.is_dir():
        pytest.skip(f"no real link traces at {folder}; set VULCAN_DATA")
    return folder


@pytest.fixture(scope="session")
def task() -> Task:
    return find_task("congestion_control")
