"""Page counts of tests are kept in a cache directory of their own."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache_directory(cache_of_tests: Path) -> Path:
    return cache_of_tests
