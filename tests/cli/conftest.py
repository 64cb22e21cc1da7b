"""The console script as a user runs it: another process, a directory of its own, no settings of the host's."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import Console


@pytest.fixture
def vulcan(tmp_path: Path) -> Console:
    return Console(tmp_path)
