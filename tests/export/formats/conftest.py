"""Tests of exports that other packages run write their policies with the generators of the cache tasks' own tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache_directory(cache_of_tests: Path) -> Path:
    return cache_of_tests
