"""The lock owner of a run: the process that searches in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vulcan.store.runs import LOCK

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The process on this host that holds the lock of a run."""

    pid: int


def lock_owner(run: Path) -> LockOwner | None:
    """Return the process on this host that holds a run's lock; None if there is none, or it cannot be verified.

    The pid in the lock file is not trusted alone, as its process may be gone and the pid reused: it counts only if the
    kernel reports that this process has the file open and locked.
    """
    lock = run / LOCK
    try:
        recorded = lock.read_text(encoding="ascii", errors="replace").strip()
        found = lock.stat()
    except OSError:
        return None
    if not recorded.isdigit():
        return None
    pid = int(recorded)
    return LockOwner(pid) if _holds(pid, (found.st_dev, found.st_ino)) else None


def _holds(pid: int, file: tuple[int, int]) -> bool:
    """Check whether a process has the file open and locked."""
    directory = _PROCESSES / str(pid) / "fd"
    try:
        numbers = list(directory.iterdir())
    except OSError:  # no such process, not ours, or a system without /proc
        return False
    for number in numbers:
        try:
            opened = number.stat()
        except OSError:  # closed in the meantime
            continue
        if (opened.st_dev, opened.st_ino) == file:
            return _locked(_PROCESSES / str(pid) / "fdinfo" / number.name)
    return False


def _locked(described: Path) -> bool:
    """Check whether the kernel's description of an open file (fdinfo) lists a lock held through it."""
    try:
        return any(line.startswith("lock:") and "FLOCK" in line for line in described.read_text().splitlines())
    except OSError:
        return False
