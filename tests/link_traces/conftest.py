"""Where link traces come from in tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data"))


@pytest.fixture(scope="session")
def links() -> Path:
    """The folder of real link traces."""
    folder = DATA / "cc"
    if not folder.is_dir():
        pytest.skip(f"no real link traces at {folder}; set VULCAN_DATA")
    return folder


@pytest.fixture
def write(tmp_path: Path):
    """write(name, content) makes a file and returns its path."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make
