"""Tests of exports that other packages run write their policies with the generators of the cache tasks' own tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / folder) for folder in ("export", "cache_admission", "cache_queues")]


@pytest.fixture(scope="session", autouse=True)
def own_cache_directory(cache_of_tests: Path) -> Path:
    return cache_of_tests
