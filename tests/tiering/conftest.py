"""Page counts of tests are kept in a cache directory of their own; compiled kernels stay in the user's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import vulcan_traces.memory.recorder  # noqa: F401  (says where compiled kernels are before the directory changes)

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def counts_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("vulcan-cache")
        patch.setenv("VULCAN_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session")
def page_counts() -> Path:
    """The folder of recorded page counts."""
    folder = DATA / "mem" / "pagecounts"
    if not folder.is_dir():
        pytest.skip(f"no page counts at {folder}; set VULCAN_DATA")
    return folder
