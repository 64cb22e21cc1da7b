"""Tests of exported modules write their programs with the generator that the policy language is tested with."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_data import real_data


@pytest.fixture(scope="session", autouse=True)
def own_cache_directory(cache_of_tests: Path) -> Path:
    return cache_of_tests


@pytest.fixture(scope="session")
def cloud_physics() -> Path:
    """A block trace of 113,872 requests, with sizes."""
    return real_data("cache", "libcachesim", "cloudPhysicsIO.vscsi")
