"""Libraries are built by the console script, as in tests/cli."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache_directory(cache_of_tests: Path) -> Path:
    """Decoded traces, and what baselines measured."""
    return cache_of_tests
