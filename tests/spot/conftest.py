"""Where the public spot traces lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


@pytest.fixture(scope="session")
def spot_traces() -> Path:
    """The folder of public spot traces."""
    folder = DATA / "spot"
    if not folder.is_dir():
        pytest.skip(f"no spot traces at {folder}; set VULCAN_DATA")
    return folder
