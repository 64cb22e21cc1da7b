"""Paths: the checkout, its tests, test data, and real data (VULCAN_DATA)."""

import atexit
import os
import shutil
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
def recorded_run(task: str = "cache-eviction") -> Path:
    """The run directory of a recorded search, unpacked once in a process."""
    place = tempfile.TemporaryDirectory()
    atexit.register(place.cleanup)
    run = Path(place.name) / "recorded"
    with tarfile.open(RECORDED / f"{task}.tar.xz") as archive:
        archive.extractall(run)
    return run


FEW = ("fifo", "gdsf_admitting", "lru", "s3_fifo")


@cache
def few_starts(task: str = "cache_eviction", kept: tuple[str, ...] = FEW) -> str:
    """A copy of a built-in pack with few of its policies: most of a short search is the measurement of all of them."""
    place = tempfile.TemporaryDirectory()
    atexit.register(place.cleanup)
    pack = Path(place.name) / task
    source = ROOT / "tasks" / task
    left_out = {path.name for path in (source / "policies").iterdir()} - {f"{name}.py" for name in kept}
    shutil.copytree(source, pack, ignore=shutil.ignore_patterns("__pycache__", "library", *left_out))
    return str(pack)
