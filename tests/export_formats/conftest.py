"""Tests of exports that other packages run write their policies with the generators of the cache tasks' own tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import vulcan_traces.kernels  # noqa: F401  (compiled kernels stay in the user's cache directory)

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / folder) for folder in ("export", "cache_admission", "cache_queues")]


@pytest.fixture(scope="session", autouse=True)
def trace_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VULCAN_CACHE_DIR", str(tmp_path_factory.mktemp("vulcan-cache")))
        yield
