"""Traces of tests are decoded into a cache directory of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vulcan_traces.kernels  # noqa: F401  (compiled kernels stay in the user's cache directory)

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def decoded_traces(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VULCAN_CACHE_DIR", str(tmp_path_factory.mktemp("vulcan-cache")))
        yield


@pytest.fixture(scope="session")
def real_traces() -> Path:
    """The folder of real cache traces."""
    folder = DATA / "cache"
    if not folder.is_dir():
        pytest.skip(f"no real traces at {folder}; set VULCAN_DATA")
    return folder
