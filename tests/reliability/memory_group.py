"""A control group of the kernel's that gives its processes so much memory and no more."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """What a process takes up from when it is put in counts, what it has already does not."""

    def __init__(self, place: Path, limit: str) -> None:
        self._place = place
        self._limit = limit

    def allow(self, limit: int) -> None:
        """Bytes."""
        (self._place / self._limit).write_text(str(limit))

    def take(self, pid: int) -> None:
        (self._place / "cgroup.procs").write_text(str(pid))

    @property
    def kills(self) -> int:
        """How many of its processes the kernel has killed for want of memory."""
        for name in ("memory.events", "memory.oom_control"):
            if (self._place / name).is_file():
                found = re.search(r"^oom_kill (\d+)$", (self._place / name).read_text(), re.MULTILINE)
                return int(found[1]) if found else 0
        return 0


@contextmanager
def memory_group() -> Iterator[MemoryGroup]:
    """An empty group; the test is skipped where nobody may make one."""
    version_1 = (ROOT / "memory").is_dir()
    place = (ROOT / "memory" if version_1 else ROOT) / f"vulcan-test-{secrets.token_hex(4)}"
    limit = "memory.limit_in_bytes" if version_1 else "memory.max"
    try:
        place.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not (place / limit).is_file():
            pytest.skip("the control groups here do not limit memory")
        yield MemoryGroup(place, limit)
    finally:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            for pid in (place / "cgroup.procs").read_text().split():
                os.kill(int(pid), 9)
            try:
                place.rmdir()
            except OSError:  # the last ones are still on their way out
                time.sleep(0.05)
            else:
                break
