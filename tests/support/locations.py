"""Paths: the checkout, its tests, test data, and real data (VULCAN_DATA)."""

import atexit
import os
import tarfile
import tempfile
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SUPPORT = TESTS / "support"
TASKS = SUPPORT / "tasks"
RECORDED = TESTS / "data" / "recorded"
"""Archives of recorded searches, each named by its task."""
DATA = Path(os.environ.get("VULCAN_DATA", ROOT / ".." / "shared" / "data"))


@cache
def recorded_run() -> Path:
    """The run directory of the recorded search for a cache, unpacked once in a process."""
    place = tempfile.TemporaryDirectory()
    atexit.register(place.cleanup)
    run = Path(place.name) / "recorded"
    with tarfile.open(RECORDED / "cache-eviction.tar.xz") as archive:
        archive.extractall(run)
    return run
