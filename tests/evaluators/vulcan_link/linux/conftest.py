"""One test at a time uses the kernel: its algorithms are shared, and two links slow each other down."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Wait for tests of other workers of this session, whose directories are next to this one's."""
    with (tmp_path_factory.getbasetemp().parent / "kernel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
