"""A real trace for tests of exported modules."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_data import real_data


@pytest.fixture(scope="session")
def cloud_physics() -> Path:
    """A block trace of 113,872 requests, with sizes."""
    return real_data("cache", "libcachesim", "cloudPhysicsIO.vscsi")
