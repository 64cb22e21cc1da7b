"""Libraries are built by the console script, as in tests/cli."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import vulcan_traces.kernels  # noqa: F401  (compiled kernels stay in the user's cache directory)

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))


@pytest.fixture(scope="session", autouse=True)
def kept_cache(tmp_path_factory: pytest.TempPathFactory):
    """Decoded traces and what baselines measured; compiled kernels are where NUMBA_CACHE_DIR says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VULCAN_CACHE_DIR", str(tmp_path_factory.mktemp("vulcan-cache")))
        yield
