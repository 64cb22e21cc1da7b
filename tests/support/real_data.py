"""Real data of tests: in VULCAN_DATA, or else next to the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from locations import DATA


def real_data(*parts: str) -> Path:
    """That folder or file of the data; the test that asks is skipped where it is absent."""
    place = DATA.joinpath(*parts)
    if not place.exists():
        pytest.skip(f"no real data at {place}; set VULCAN_DATA")
    return place
