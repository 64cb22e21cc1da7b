"""Tests of exported modules write their programs with the generator that the policy language is tested with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import vulcan_traces.kernels  # noqa: F401  (compiled kernels stay in the user's cache directory)

sys.path.append(str(Path(__file__).resolve().parents[1] / "anvil"))

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def trace_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VULCAN_CACHE_DIR", str(tmp_path_factory.mktemp("vulcan-cache")))
        yield


@pytest.fixture(scope="session")
def cloud_physics() -> Path:
    """A block trace of 113,872 requests, with sizes."""
    path = DATA / "cache" / "libcachesim" / "cloudPhysicsIO.vscsi"
    if not path.is_file():
        pytest.skip(f"no real trace at {path}; set VULCAN_DATA")
    return path
