"""The console script as a user runs it: another process, a directory of its own, no settings of the host's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "models"))  # the chat server

from console import Console


@pytest.fixture
def vulcan(tmp_path: Path) -> Console:
    return Console(tmp_path)
