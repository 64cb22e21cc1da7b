"""Real data of tests: in VULCAN_DATA, or else next to the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from locations import DATA


def real_data(*parts: str) -> Path:
    """That folder of the data; the test that asks is skipped where it is absent."""
    folder = DATA.joinpath(*parts)
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set VULCAN_DATA")
    return folder
